"""Additive attention: score(s, h) = v^T tanh(W_a s + U_a h)   (Bahdanau et al. 2015, appendix A.1.2)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention, masked_softmax
from hf_attention_zoo.loops.additive_scores import AdditiveLoop, recomputed_scores
from hf_attention_zoo.loops.may_run import has_twin, twin_may_run
from hf_attention_zoo.loops.weight_tape import WeightTape


def additive_scores(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """v^T tanh(q + k): (B, N, A), (B, S, A), (A) -> (B, N, S). Holds a (B, N, S, A) tensor for backward."""
    return torch.tanh(query[:, :, None] + keys[:, None]) @ vector.to(keys.dtype)


@has_twin
class AdditiveAttention(Attention):
    """score(s, h) = v^T tanh(W_a s + U_a h + b), b with `bias` alone: the paper leaves biases out.

    Args:
        query_size: Q, the size of the decoder state s.
        value_size: M, the size of an annotation h.
        attention_size: A, the hidden units of the alignment model (n' in the paper).
        bias: add one bias inside the hyperbolic tangent.
    """

    def __init__(self, query_size: int, value_size: int, attention_size: int, bias: bool = True) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, attention_size, bias=False)  # W_a
        self.key_projection: nn.Linear | nn.Identity = nn.Linear(value_size, attention_size, bias=bias)  # U_a
        self.score_vector = nn.Parameter(torch.zeros(attention_size))  # v_a

    def project_keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)  # U_a h_j, once per source

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        scores = recomputed_scores if twin_may_run(self) else additive_scores
        return scores(self.query_projection(query), keys, self.score_vector)  # v_a^T tanh(W_a s + U_a h_j)

    def in_loop(self, source: AttendedSource, tape: WeightTape | None) -> Callable[..., tuple[Tensor, Tensor]]:
        if not twin_may_run(self, self.query_projection):
            return self
        of_source = (source.keys, source.values, source.mask)
        return AdditiveLoop(self.query_projection.weight, self.score_vector, *of_source, masked_softmax, tape)
