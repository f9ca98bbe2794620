"""Scaled dot-product attention in several heads (Vaswani et al. 2017, Sections 3.2.1 and 3.2.2).

Shapes: B memories (sources), K rows of queries per memory (1 except in generation, where the beams of a sentence share
its source), N = B K, T queries, S memory positions, D model size, h heads, d_k and d_v sizes of a head's keys and
values.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.attention.packing import Packing


def scaled_dot_product(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V   (Eq. 1), with the weights.

    A query that no position is allowed to answer gets weights of zero and a result of zero, never NaN. The softmax is
    taken in float32 or better.

    Args:
        module: its `training` says whether dropout acts.
        query, key, value: (B, h, T, d_k), (B, h, S, d_k), (B, h, S, d_v).
        attention_mask: broadcastable to (B, h, T, S); true at allowed positions, or numbers that are added to the
            scores, the least number of their type (or -inf) at forbidden ones.
        scaling: factor of the scores; 1 / sqrt(d_k) if not given.
        dropout: probability with which a weight is dropped. The returned weights are those before dropout.

    Returns:
        (B, T, h, d_v) and (B, h, T, S).
    """
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query * scale, key.mT)  # (B, h, T, S)
    if scores.dtype not in (torch.float32, torch.float64):
        scores = scores.float()
    if attention_mask is None:
        weights = torch.softmax(scores, -1)
    else:
        if attention_mask.dtype == torch.bool:
            forbidden = ~attention_mask
            scores = scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)
        else:
            forbidden = attention_mask <= torch.finfo(attention_mask.dtype).min
            scores = scores + attention_mask
        weights = torch.softmax(scores, -1).masked_fill(forbidden, 0.0)
    weights = weights.to(query.dtype)
    kept = functional.dropout(weights, dropout, module.training)
    return torch.matmul(kept, value).transpose(1, 2), weights


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O,  head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    The h projections of each kind are one matrix. Keys and values are projected by `project_memory`, apart from the
    queries, so that they can be kept from step to step.

    Args:
        size, heads, key_size, value_size: D, h, d_k, d_v.
        bias: whether the four projections have biases (the paper's formulas have none).
        dropout: on the attention weights.
        is_causal: position t is answered by positions up to t only; kernels that build this mask themselves read it.
    """

    def __init__(
        self,
        size: int,
        heads: int,
        key_size: int,
        value_size: int,
        bias: bool = False,
        dropout: float = 0.0,
        is_causal: bool = False,
    ) -> None:
        super().__init__()
        self.heads, self.key_size, self.value_size = heads, key_size, value_size
        self.dropout, self.is_causal, self.scaling = dropout, is_causal, key_size**-0.5
        self.q_proj = nn.Linear(size, heads * key_size, bias)  # W^Q
        self.k_proj = nn.Linear(size, heads * key_size, bias)  # W^K
        self.v_proj = nn.Linear(size, heads * value_size, bias)  # W^V
        self.o_proj = nn.Linear(heads * value_size, size, bias)  # W^O

    def project_memory(self, memory: Tensor, packing: Packing | None = None) -> tuple[Tensor, Tensor]:
        """(B, S, D), or (R, D) packed -> keys (B, h, S, d_k) and values (B, h, S, d_v)."""
        keys, values = self.k_proj(memory), self.v_proj(memory)
        if packing is not None:
            keys, values = packing.unpack(keys), packing.unpack(values)
        return self._split(keys, self.key_size), self._split(values, self.value_size)

    def _split(self, vectors: Tensor, size: int) -> Tensor:
        """(N, T, h size) -> (N, h, T, size)."""
        return vectors.unflatten(-1, (self.heads, size)).transpose(1, 2)

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, with_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Eq. 1; subclasses may take another kernel where the weights are not wanted."""
        return scaled_dot_product(self, query, keys, values, mask, self.scaling, self.dropout)

    def forward(
        self,
        states: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        with_weights: bool = False,
        packing: Packing | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Queries from (N, T, D) states to the projected memory: (N, T, D) and, on request, weights (N, h, T, S).

        The K rows that share a memory are K T queries to it; a mask has one row per memory, too. States that are
        packed, (R, D), give a packed result.
        """
        projected = self.q_proj(states)
        if packing is not None:
            projected = packing.unpack(projected)
        rows, length = projected.shape[:2]
        memories = keys.shape[0]
        query = self._split(projected, self.key_size)  # (N, h, T, d_k)
        if rows != memories:
            query = query.unflatten(0, (memories, -1)).transpose(1, 2).flatten(2, 3)  # (B, h, K T, d_k)
        mixed, weights = self.attend(query, keys, values, mask, with_weights)  # (B, K T, h, d_v)
        mixed = mixed.reshape(rows, length, self.heads * self.value_size)
        mixed = self.o_proj(mixed if packing is None else packing.pack(mixed))
        if not with_weights or weights is None:
            return mixed, None
        if rows != memories:
            weights = weights.unflatten(2, (-1, length)).transpose(1, 2).flatten(0, 1)
        return mixed, weights
