"""The order in which an encoder reads a padded source: reversed by true length, the end symbol last or left out.

Sutskever et al. (2014) reverse the words and keep the end symbol last: x_T, ..., x_1, </s>. Luong's released code
reverses too and reads no end symbol. Pads are never read, wherever they stand. Shapes: B sources, S padded positions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.recurrent.bidirectional import reading_order


class ReadingPlan(NamedTuple):
    """How a batch is read.

    Attributes:
        order: (B, S) index for `take`: the source position read at each step; what is not read comes last.
        lengths: (B) number of positions read.
        read: (B, S) bool, true at the source positions that are read.
    """

    order: Tensor
    lengths: Tensor
    read: Tensor


def ends_with_symbol(
    input_ids: Tensor | None, mask: Tensor, end_token_id: int | list[int] | tuple[int, ...] | None
) -> Tensor:
    """Whether each row's last real token is the end symbol, (B) bool.

    Args:
        input_ids: (B, S), or None for a source of embeddings: its last vector is taken to be the end symbol's.
        mask: (B, S), non-zero at real tokens.
        end_token_id: the symbol, several, or None where there is none.
    """
    rows = torch.arange(mask.shape[0], device=mask.device)
    if end_token_id is None:
        return torch.zeros_like(rows, dtype=torch.bool)
    if input_ids is None:
        return torch.ones_like(rows, dtype=torch.bool)
    ends = [end_token_id] if isinstance(end_token_id, int) else list(end_token_id)
    steps = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask.bool(), steps, 0).argmax(1)  # (B)
    # compared one by one: ONNX has no operator for what `torch.isin` becomes
    return (input_ids[rows, last, None] == torch.tensor(ends, device=input_ids.device)).any(1)


def plan_reading(mask: Tensor, has_end: Tensor, *, reverse: bool, read_end: bool) -> ReadingPlan:
    """Plan the reading of a batch.

    Args:
        mask: (B, S), non-zero at real tokens; pads may stand left, right or between.
        has_end: (B) bool, from `ends_with_symbol`.
        reverse: read the words last to first.
        read_end: read the end symbol, after all words. If not, it is left out, unless it is all that there is.
    """
    real = mask.bool()
    counts = real.sum(1)  # (B)
    forwards, _ = reading_order(mask)
    steps = torch.arange(mask.shape[1], device=mask.device)[None]  # (1, S)
    words = (counts - has_end.to(counts.dtype))[:, None]  # (B, 1)
    order = forwards
    if reverse:
        order = forwards.gather(1, torch.where(steps < words, words - 1 - steps, steps))
    if read_end:
        return ReadingPlan(order, counts, real)
    lengths = torch.where(words[:, 0] > 0, words[:, 0], counts)
    read = torch.zeros_like(real).scatter_(1, order, steps < lengths[:, None])
    return ReadingPlan(order, lengths, read)


def check_something_is_read(plan: ReadingPlan) -> None:
    """Every row has a token, or ValueError: for models to which nothing of the source is known but its last state."""
    if not is_recorded() and not bool(plan.lengths.all()):
        empty = (plan.lengths == 0).nonzero()[:, 0].tolist()
        raise ValueError(
            f"source rows {empty} have no token: attention_mask is 0 everywhere in them; an empty sentence still has "
            "its end symbol, so give at least that"
        )
