"""Additive attention: score(s, h) = v^T tanh(W_a s + U_a h)   (Bahdanau et al. 2015, appendix A.1.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention, masked_softmax
from hf_attention_zoo.loops.additive_scores import (
    KeyGradient,
    Scratch,
    _RecomputedScores,
    bend,
    inside,
    scores_backward,
    scores_in_parts,
    scores_of,
)
from hf_attention_zoo.loops.chunked_scores import chunked_scores, queries_at_a_time
from hf_attention_zoo.loops.weight_tape import WeightTape, in_autocast_dtype


def additive_scores_reference(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """The formula as it stands: (B, N, A), (B, S, A), (A) -> (B, N, S). Holds a (B, N, S, A) tensor for backward."""
    return torch.tanh(query[:, :, None] + keys[:, None]) @ vector


# The faster form. tanh(x) = 2 y - 1 with y = sigmoid(2 x), and the logistic function takes a quarter of the time of
# tanh on a CPU. Near zero y is rounded like one half, which half precision cannot afford: there y is tanh itself.


class _Step(torch.autograd.Function):
    """One step of a loop: v^T tanh(W_a s + U_a h), or with a mask its softmax.

    Gradients of W_a and of the keys go on the tape.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        weight: Tensor,
        keys: Tensor,
        vector: Tensor,
        mask: Tensor | None,
        tape: WeightTape,
        scratch: Scratch,
    ) -> Tensor:
        projected = functional.linear(query, weight)
        scores = scores_of(bend(projected, keys, scratch), vector)
        alignment = None if mask is None else masked_softmax(scores, mask)
        ctx.save_for_backward(query, weight, projected, keys, vector, alignment)
        ctx.tape, ctx.scratch = tape, scratch
        return scores if alignment is None else alignment

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, weight, projected, keys, vector, alignment = ctx.saved_tensors
        if alignment is not None:  # d loss / d score, (B, N, S)
            share = grad * alignment
            grad = torch.addcmul(share, alignment, share.sum(-1, keepdim=True), value=-1)
        back = scores_backward(grad, projected, keys, vector, ctx.scratch)
        if ctx.needs_input_grad[1]:
            ctx.tape.record(weight, query.flatten(0, 1), back.query.flatten(0, 1))
        if ctx.needs_input_grad[2]:
            ctx.tape.record(keys, grad, back.slope, back.factor)
        return back.query @ weight, None, None, back.vector, None, None, None


class OpenAdditive(NamedTuple):
    """What the steps of one loop share; query weight and keys are as `inside` gives them."""

    query_weight: Tensor  # (A, Q)
    keys: Tensor  # (B, S, A)
    vector: Tensor  # (A)
    mask: Tensor  # (B, 1, S), true at real positions
    tape: WeightTape | None
    scratch: Scratch


class AdditiveAttention(Attention):
    """score(s, h) = v^T tanh(W_a s + U_a h + b), some queries at a time.

    However many queries there are, only a chunk of the (queries, source, size) tensor exists at once, in backward too;
    gradients of gradients are not offered.

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
        projected = self.query_projection(query)  # W_a s, (B, N, A)
        if projected.shape[1] <= queries_at_a_time(keys) or torch.compiler.is_compiling():
            return self.score_projected(projected, keys)
        return chunked_scores(projected, keys, self.score_vector)

    def score_projected(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores of a query that W_a was already applied to: (B, N, A), (B, S, A) -> (B, N, S)."""
        vector = self.score_vector.to(keys.dtype)
        query, keys = inside(query), inside(keys)
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            return _RecomputedScores.apply(query, keys, vector)
        return scores_in_parts(query, keys, vector)

    def open_loop(self, source: AttendedSource, tape: WeightTape | None) -> OpenAdditive:
        keys = inside(source.keys)
        weight = inside(in_autocast_dtype(self.query_projection.weight))
        if tape is not None:
            keys, weight = tape.open(keys, KeyGradient), tape.open(weight)
        return OpenAdditive(weight, keys, self.score_vector.to(keys.dtype), source.mask[:, None], tape, Scratch())

    def score_step(self, query: Tensor, opened: OpenAdditive) -> Tensor:
        weight, keys, vector, _, tape, scratch = opened
        query = query.to(weight.dtype)
        if tape is None:
            return scores_in_parts(functional.linear(query, weight), keys, vector)
        return _Step.apply(query, weight, keys, vector, None, tape, scratch)

    def align(self, query: Tensor, opened: OpenAdditive) -> Tensor:
        weight, keys, vector, mask, tape, scratch = opened
        if tape is None:
            return masked_softmax(self.score_step(query, opened), mask)
        return _Step.apply(query.to(weight.dtype), weight, keys, vector, mask, tape, scratch)
