"""Products of a search, in another library's layout.

A search multiplies a row for each hypothesis, four to some hundreds of them, by the same matrices again and again.
torch's library of matrix products orders a matrix anew in every product; oneDNN, which comes with torch, multiplies by
a weight that is laid out once. It is faster for two rows and for a thousand, and for one if the weight is large.

A layout is kept for the next search, together with the weight's product with a fixed vector; if that product is
another one now, the weight has changed and is laid out again. As long as their weights live, layouts of `MOST_KEPT`
bytes are kept between searches, those that came first; what is beyond is laid out for each search, unless it has one
row. A search holds the layouts of its model, which are as large as the weights.

Shapes: N rows, H inputs, V outputs (of an output layer, words).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from threading import RLock
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.weak import WeakIdKeyDictionary

from hf_attention_zoo.loops.may_run import twin_may_run

# Numbers of a weight, below which the call costs more than the layout gains: for one row, and for more.
LEAST_FOR_ONE, LEAST_NUMBERS = 1_000_000, 60_000
MOST_KEPT = 256 * 2**20  # bytes of all layouts together, between searches
LAID_OUT_FOR = 16  # rows; one layout for all searches, whichever comes first, since layouts differ in the last digits

Product = Callable[[Tensor], Tensor]


class Layout(NamedTuple):
    """A weight laid out.

    Attributes:
        seen: what the weight's parts were then.
        weight: in oneDNN's form.
        size: bytes.
    """

    seen: Tensor
    weight: Tensor
    size: int


_keeping = RLock()  # threads search with one model, or each with its own
_kept: Any = WeakIdKeyDictionary()  # the first part of a weight -> its layout


def packed_output(layer: nn.Module, rows: int) -> Product | None:
    """A linear layer on (N, H) -> (N, V), or None where the layer itself is to be called.

    Args:
        layer: the output layer.
        rows: N.
    """
    if torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return None
    if type(layer) is not nn.Linear or not twin_may_run(layer) or not may_pack([layer.weight], rows):
        return None
    return packed([layer.weight], layer.bias)


def product(weights: Sequence[Tensor], biases: Sequence[Tensor | None], rows: int) -> Product:
    """x -> x W^T + b on (N, H) -> (N, V), laid out where that pays; W and b hold still while it is used.

    Args:
        weights: parts of W, (V_i, H) each.
        biases: parts of b, (V_i,) each; all or none of them.
        rows: N.
    """
    parts = [part for part in biases if part is not None]
    bias = whole(parts) if parts else None
    if may_pack(weights, rows):
        return packed(weights, bias)
    return partial(functional.linear, weight=whole(weights), bias=bias)


def whole(parts: Sequence[Tensor]) -> Tensor:
    """Parts one below the other; one part is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def may_pack(weights: Sequence[Tensor], rows: int) -> bool:
    """Whether there is such a layout, and the weight has numbers enough that it pays for N rows."""
    if not (torch.backends.mkldnn.enabled and has_layouts()):
        return False
    if not all(each.device.type == "cpu" and each.dtype == torch.float32 for each in weights):
        return False
    numbers = sum(each.numel() for each in weights)
    if rows > 1:
        return numbers >= LEAST_NUMBERS
    return numbers >= LEAST_FOR_ONE and (weights[0] in _kept or numbers * weights[0].itemsize <= room())


def room() -> int:
    """Bytes that more layouts may take."""
    with _keeping:
        return MOST_KEPT - sum(each.size for each in list(_kept.values()))


@lru_cache(maxsize=1)
def has_layouts() -> bool:
    """Whether this torch comes with oneDNN and with the two operators that lay out and multiply."""
    names = ("_reorder_linear_weight", "_linear_pointwise")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)


def packed(weights: Sequence[Tensor], bias: Tensor | None) -> Product:
    """The product with a weight as it is now, in its parts, whose layout is made or known."""
    operations: Any = torch.ops.mkldnn
    laid_out = layout(weights)
    return lambda states: operations._linear_pointwise(states, laid_out, bias, "none", [], "")


def layout(weights: Sequence[Tensor]) -> Tensor:
    """W (V, H) in oneDNN's form, from its parts, for any number of rows."""
    seen = torch.cat([part.detach() @ probe(part.shape[1]) for part in weights])
    kept = _kept.get(weights[0])
    if kept is not None and torch.equal(kept.seen, seen):
        return kept.weight
    weight: Tensor = whole(weights).detach()
    operations: Any = torch.ops.mkldnn
    made = Layout(seen, operations._reorder_linear_weight(weight, LAID_OUT_FOR), weight.nbytes)
    with _keeping:
        _kept.pop(weights[0], None)
        if made.size <= room():
            _kept[weights[0]] = made
    return made.weight


@lru_cache(maxsize=8)
def probe(size: int) -> Tensor:
    """A fixed vector (H,) of numbers between 1 and 2 of either sign: small in no place, and in no two places alike."""
    made = torch.Generator("cpu").manual_seed(size)
    with torch.inference_mode(False), torch.no_grad():
        signs = torch.randint(0, 2, (size,), generator=made, device="cpu") * 2 - 1
        return (1 + torch.rand(size, generator=made, dtype=torch.float32, device="cpu")) * signs
