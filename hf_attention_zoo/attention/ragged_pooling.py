"""Rows of vectors become one vector each: by attention to a learned context vector, by their mean or by their maximum.

The vectors of all rows stand one after the other and there are no pads. Every row has at least one vector. Shapes: R
rows, N vectors in all, M their size, A attention size.

    u_t = tanh(W h_t + b)                       Yang et al. 2016, Eq. 5 (words), Eq. 8 (sentences)
    alpha_t = exp(u_t^T u) / sum exp(u_t^T u)   Eq. 6, Eq. 9;  u: the context vector, learned
    s = sum_t alpha_t h_t                       Eq. 7, Eq. 10
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.attention.attention_base import masked_softmax
from hf_attention_zoo.loops.additive_scores import HALF_PRECISION


def tanh_product(inside: Tensor, vector: Tensor) -> Tensor:
    """tanh(x) u: (N, A), (A) -> (N). As 2 sigmoid(2 x) u - sum u, which is faster, where the precision allows it."""
    if inside.dtype in HALF_PRECISION:
        return torch.tanh(inside) @ vector
    return 2 * (torch.sigmoid(2 * inside) @ vector) - vector.sum()


def ragged_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """Softmax within each row, with the row's own maximum: scores (N) and lengths (R) -> (N)."""
    if not len(lengths):
        return scores
    steps = torch.arange(int(lengths.max()), device=scores.device)
    real = steps < lengths[:, None]  # (R, T)
    grid = scores.new_zeros(real.shape).masked_scatter(real, scores)
    return masked_softmax(grid, real)[real]


def ragged_sum(values: Tensor, weights: Tensor, starts: Tensor) -> Tensor:
    """sum_t weight_t value_t of each row: (N, M), (N) and where the rows begin (R) -> (R, M)."""
    return _bags(values, starts, "sum", weights.to(values.dtype))


def _bags(values: Tensor, starts: Tensor, mode: str, weights: Tensor | None = None) -> Tensor:
    """The library's sum, mean or maximum over bags of rows of a table; here each row of it is in one bag, once."""
    every = torch.arange(len(values), device=values.device)
    return functional.embedding_bag(every, values, starts, mode=mode, per_sample_weights=weights)


class ContextVectorAttention(nn.Module):
    """Attention with a learned query that is the same for every row (Eq. 5-7 and 8-10)."""

    def __init__(self, value_size: int, attention_size: int) -> None:
        super().__init__()
        self.projection = nn.Linear(value_size, attention_size)  # W, b
        self.context_vector = nn.Parameter(torch.zeros(attention_size))  # u_w or u_s

    def forward(self, values: Tensor, lengths: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """h (N, M), lengths (R) and starts (R) -> s (R, M) and alpha (N)."""
        projected = self.projection(values)
        scores = tanh_product(projected, self.context_vector.to(projected.dtype))  # (N)
        weights = ragged_softmax(scores, lengths)
        return ragged_sum(values, weights, starts), weights


class RaggedMean(nn.Module):
    """The mean of each row (HN-AVE of Yang et al.): attention whose context vector says nothing."""

    def forward(self, values: Tensor, lengths: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """h (N, M), lengths (R) and starts (R) -> mean (R, M) and the equal weights (N)."""
        weights = (1.0 / lengths.to(values.dtype)).repeat_interleave(lengths)
        return ragged_sum(values, weights, starts), weights


class RaggedMax(nn.Module):
    """The maximum of each row, element by element (HN-MAX of Yang et al.); no vector has a weight."""

    def forward(self, values: Tensor, lengths: Tensor, starts: Tensor) -> tuple[Tensor, None]:
        """h (N, M), lengths (R) and starts (R) -> maximum (R, M) and None."""
        return _bags(values, starts, "max"), None
