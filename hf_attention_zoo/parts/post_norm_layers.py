"""What Transformers with norms behind their sub-layers share, and the layer of BERT and GPT that is made of it.

    u  = LayerNorm(x + Dropout(MultiHead(x)))
    x' = LayerNorm(u + Dropout(W_2 g(W_1 u + b_1) + b_2))

as Vaswani et al. (2017, Section 3.1) have it, with biases in every projection. Pads are not computed where a packing
is given. Shapes: B rows, T positions, R real tokens, D model size, h heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.cache_utils import Cache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils.generic import is_flash_attention_requested

from hf_attention_zoo.attention.multi_head import MultiHeadAttention, scaled_dot_product
from hf_attention_zoo.attention.packed_rows import attend_rows
from hf_attention_zoo.attention.packing import Packing

# Kernels that score the rows of a packed batch one length after the other.
ROW_KERNELS = ("eager", "sdpa")
# Devices where they do so; elsewhere many small calls cost more than pads.
ROW_DEVICES = ("cpu",)


def packing_for(config: Any, real: Tensor | None, with_weights: bool, with_states: bool) -> Packing | None:
    """How to leave out the pads of a (B, T) mask; None where that does not help, or pads are given out.

    Weights and hidden states are those of all positions, other kernels have ways of their own, and a graph that is
    exported or compiled must not depend on where the pads stand.
    """
    if with_weights or with_states or config._attn_implementation not in ROW_KERNELS:
        return None
    return Packing.of(real, by_length=True)


def by_rows(packing: Packing | None, states: Tensor) -> TypeGuard[Packing]:
    """Whether attention scores packed rows one length after the other, which needs no mask."""
    return packing is not None and states.device.type in ROW_DEVICES


def in_full_precision(
    attend: Callable[..., Any], query: Tensor, keys: Tensor, values: Tensor, **given: Any
) -> tuple[Tensor, Any]:
    """A kernel's (result, weights), in float32 where a CPU learns in half precision; the result has the query's type.

    The way back of torch's kernel is far slower there than in float32: more than all products gain at small widths.
    """
    dtype = query.dtype
    if query.device.type != "cpu" or dtype not in (torch.bfloat16, torch.float16) or not torch.is_grad_enabled():
        return attend(query, keys, values, **given)
    with torch.autocast("cpu", enabled=False):
        mixed, weights = attend(query.float(), keys.float(), values.float(), **given)
    return mixed.to(dtype), weights


class InterfaceAttention(MultiHeadAttention):
    """Multi-head attention through transformers' attention interface.

    Args:
        config: names the kernel (`_attn_implementation`).
        layer_idx: of the layer, for caches.
        sizes: as of `MultiHeadAttention`.
    """

    def __init__(self, config: Any, layer_idx: int, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.config, self.layer_idx = config, layer_idx

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, with_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        given: dict[str, Any] = {"scaling": self.scaling, "dropout": self.dropout if self.training else 0.0}
        if with_weights:  # other kernels keep their weights to themselves
            return scaled_dot_product(self, query, keys, values, mask, **given)
        kernel = self.config._attn_implementation
        if is_flash_attention_requested(self.config) and isinstance(mask, Tensor) and mask.ndim == 4:
            kernel = "sdpa"  # flash kernels take no mask of queries and keys
        attend = partial(ALL_ATTENTION_FUNCTIONS.get_interface(kernel, scaled_dot_product), self)
        if kernel == "sdpa" and (mask is None or mask.dtype == torch.bool):
            return in_full_precision(attend, query, keys, values, attention_mask=mask, **given)
        return attend(query, keys, values, mask, **given)


class SelfAttention(InterfaceAttention):
    """Self-attention with biases in every projection, its heads as wide as they fit into D."""

    def __init__(
        self, config: Any, layer_idx: int, size: int, heads: int, dropout: float, is_causal: bool = False
    ) -> None:
        super().__init__(config, layer_idx, size, heads, size // heads, size // heads, True, dropout, is_causal)

    def attend_block(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Rows of one length without pads: (b, h, T, d) each -> (b, T, h, d)."""
        dropout = self.dropout if self.training else 0.0
        if self.config._attn_implementation == "sdpa":

            def attend(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, None]:
                mixed = functional.scaled_dot_product_attention(
                    query, keys, values, dropout_p=dropout, is_causal=self.is_causal, scale=self.scaling
                )
                return mixed, None

            return in_full_precision(attend, query, keys, values)[0].transpose(1, 2)
        length, mask = query.shape[2], None
        if self.is_causal:
            mask = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
        return scaled_dot_product(self, query, keys, values, mask, self.scaling, dropout)[0]

    def mix(
        self,
        states: Tensor,
        mask: Tensor | None = None,
        with_weights: bool = False,
        packing: Packing | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """(B, T, D) or packed (R, D) -> the same shape and, on request, weights (B, h, T, S).

        Packed rows are scored as `by_rows` says, or else as rows of full length. S is T and what the cache holds.
        """
        if by_rows(packing, states):
            queries, keys, values = (
                projection(states).unflatten(-1, (self.heads, self.key_size))
                for projection in (self.q_proj, self.k_proj, self.v_proj)
            )
            return self.o_proj(attend_rows(queries, keys, values, packing, self.attend_block).flatten(1)), None
        keys, values = self.project_memory(states, packing)
        if cache is not None:
            keys, values = cache.update(keys, values, self.layer_idx)
        return self(states, keys, values, mask, with_weights, packing)


class FeedForward(nn.Module):
    """FFN(x) = W_2 g(W_1 x + b_1) + b_2   (Vaswani et al. 2017, Eq. 2), with dropout behind g if there is any."""

    def __init__(self, size: int, inner: int, act: Callable[[Tensor], Tensor], dropout: float = 0.0) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(size, inner), nn.Linear(inner, size)
        self.act, self.dropout = act, nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        return self.linear_2(self.dropout(self.act(self.linear_1(states))))


class Residual(nn.Module):
    """LayerNorm(x + Dropout(f(x)))   (Vaswani et al. 2017, Sections 3.1 and 5.4)."""

    def __init__(self, size: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(size, eps), nn.Dropout(dropout)

    def forward(self, states: Tensor, change: Tensor) -> Tensor:
        return self.norm(states + self.dropout(change))


class PostNormLayer(GradientCheckpointingLayer):
    """Self-attention, then the feed-forward layer."""

    def __init__(self, attention: SelfAttention, feed_forward: FeedForward, eps: float, dropout: float) -> None:
        super().__init__()
        size = feed_forward.linear_2.out_features
        self.self_attention, self.feed_forward = attention, feed_forward
        self.self_attention_residual = Residual(size, eps, dropout)
        self.feed_forward_residual = Residual(size, eps, dropout)

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None = None,
        with_weights: bool = False,
        packing: Packing | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """(B, T, D) -> (B, T, D) and, on request, weights (B, h, T, S). Packed states, (R, D), stay packed."""
        mixed, weights = self.self_attention.mix(states, mask, with_weights, packing, cache)
        states = self.self_attention_residual(states, mixed)
        return self.feed_forward_residual(states, self.feed_forward(states)), weights


def run_layers(
    layers: Iterable[nn.Module], states: Tensor, *given: Any, packing: Packing | None, **more: Any
) -> tuple[Tensor, tuple[Tensor, ...], tuple[tuple[Any, ...], ...]]:
    """One layer after the other, each of which gives states and weights.

    Args:
        states: (B, T, D), or (R, D) where they are packed.
        given, packing, more: what every layer takes besides.

    Returns:
        Last states (B, T, D); the states before the first layer and behind every one; the layers' weights, of each
        kind of attention in turn, None where the layers were not asked for them.
    """
    seen: list[Tensor] = [states]
    weights: list[list[Any]] = []
    for layer in layers:
        states, *made = layer(states, *given, packing=packing, **more)
        seen.append(states)
        weights.append(made)
    last = states if packing is None else packing.unpack(states)
    return last, tuple(seen), tuple(zip(*weights, strict=True))
