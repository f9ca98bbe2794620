"""Additive attention: score(s, h) = v^T tanh(W_a s + U_a h)   (Bahdanau et al. 2015, appendix A.1.2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from hf_attention_zoo.attention.attention_base import Attention


def additive_scores_reference(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """The formula as it stands: (B, N, A), (B, S, A), (A) -> (B, N, S). Holds a (B, N, S, A) tensor for backward."""
    return torch.tanh(query[:, :, None] + keys[:, None]) @ vector


class _RecomputedAdditiveScores(torch.autograd.Function):
    """The same scores; the hyperbolic tangents are computed again in backward instead of being kept.

    With d/dx tanh = 1 - tanh^2 and g = d loss / d score, for one source and one query:
    grad query = v * sum_s g_s (1 - t_s^2),   grad keys_s = v * g_s (1 - t_s^2),   grad v = sum_s g_s t_s.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, vector)
        return (query[:, :, None] + keys[:, None]).tanh_() @ vector

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, vector = ctx.saved_tensors
        tanh = (query[:, :, None] + keys[:, None]).tanh_()  # (B, N, S, A)
        grad_vector = grad.reshape(1, -1) @ tanh.reshape(-1, tanh.shape[-1])  # (1, A)
        slope = tanh.square_().neg_().add_(1.0).mul_(grad[..., None])  # g (1 - t^2)
        return slope.sum(2) * vector, slope.sum(1) * vector, grad_vector[0]


class AdditiveAttention(Attention):
    """score(s, h) = v^T tanh(W_a s + U_a h + b).

    Args:
        query_size: Q, the size of the decoder state s.
        value_size: M, the size of an annotation h.
        attention_size: A, the hidden units of the alignment model (n' in the paper).
        bias: add one bias inside the hyperbolic tangent.
    """

    def __init__(self, query_size: int, value_size: int, attention_size: int, bias: bool = True) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, attention_size, bias=False)  # W_a
        self.key_projection = nn.Linear(value_size, attention_size, bias=bias)  # U_a
        self.score_vector = nn.Parameter(torch.zeros(attention_size))  # v_a

    def project_keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.score_projected(self.query_projection(query), keys)

    def score_projected(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores of a query that W_a was already applied to: (B, N, A), (B, S, A) -> (B, N, S)."""
        vector = self.score_vector.to(keys.dtype)
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            return _RecomputedAdditiveScores.apply(query, keys, vector)
        return additive_scores_reference(query, keys, vector)
