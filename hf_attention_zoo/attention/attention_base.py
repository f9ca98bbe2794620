"""What every attention mechanism shares: masking, normalising and taking the weighted sum, once.

A mechanism says only how a query is scored against the keys. Shapes, used in all files of this folder:
B sources, N queries per source (target positions, or the hypotheses of a beam), S source positions,
Q query size, A key size, M size of the attended vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from hf_attention_zoo.recurrent.weight_tape import WeightTape


@dataclass(frozen=True)
class AttendedSource:
    """A source made ready for attention; it does not change from step to step.

    Attributes:
        values: (B, S, M) the vectors that are averaged.
        keys: (B, S, A) what queries are scored against, projected once.
        mask: (B, S) bool, true at real positions.
    """

    values: Tensor
    keys: Tensor
    mask: Tensor


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis among the positions where `mask` is true; exactly 0 elsewhere.

    A row without any true position gives zeros, never NaN. The sum is taken in float32 or better.

    Args:
        scores: (..., S).
        mask: (..., S) bool, broadcastable to `scores`.
    """
    wide = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
    wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    weights = torch.softmax(wide, dim=-1) * mask
    return weights.to(scores.dtype)


class Attention(nn.Module):
    """alignment = softmax over real positions of score(query, keys); context = sum of alignment times values.

    Where queries come one after the other, a loop calls `open_loop` once and `align` each step, and takes the
    weighted sums of what it needs with `mix`. Where all queries are known, calling the module does all of it. Either
    way a mechanism that asks for the target position of a query gets it behind the other arguments.
    """

    def project_keys(self, values: Tensor) -> Tensor:
        """(B, S, M) -> (B, S, A). Called once per source, outside every loop."""
        return values

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, N, Q), (B, S, A) -> (B, N, S). Each mechanism defines its own."""
        raise TypeError(f"{type(self).__name__} defines no score; subclass Attention and write score(query, keys)")

    def prepare(self, values: Tensor, mask: Tensor) -> AttendedSource:
        """Project the keys of a source: (B, S, M) vectors and a (B, S) mask that is non-zero at real positions."""
        return AttendedSource(values, self.project_keys(values), mask.bool())

    def open_loop(self, source: AttendedSource, tape: WeightTape | None) -> Any:
        """What the steps of one loop over this source share; mechanisms with a faster step define more."""
        return source

    def score_step(self, query: Tensor, opened: Any) -> Tensor:
        """One step's scores: (B, N, Q) and what `open_loop` gave -> (B, N, S)."""
        return self.score(query, opened.keys)

    def align(self, query: Tensor, opened: Any) -> Tensor:
        """One step's alignment: (B, N, Q) and what `open_loop` gave -> (B, N, S)."""
        return masked_softmax(self.score_step(query, opened), opened.mask[:, None])

    def forward(self, query: Tensor, source: AttendedSource) -> tuple[Tensor, Tensor]:
        """(B, N, Q) -> context (B, N, M) and alignment (B, N, S)."""
        scores = self.score(query, source.keys)  # (B, N, S)
        alignment = masked_softmax(scores, source.mask[:, None])  # (B, N, S)
        context = torch.bmm(alignment, source.values)  # (B, N, M)
        return context, alignment


class VectorsGradient:
    """sum_t left_t^T right_t of vectors (B, S, M) that steps read, as one batched product over all steps.

    Of a step's mixture a h it is the sum of alignments and gradients, of its products q h^T that of gradients and
    queries.
    """

    def __init__(self) -> None:
        self.lefts: list[Tensor] = []
        self.rights: list[Tensor] = []

    def add(self, *parts: Tensor) -> None:
        left, right = parts  # (B, N, S), (B, N, M)
        self.lefts.append(left)
        self.rights.append(right)

    def total(self) -> Tensor:
        return torch.bmm(torch.cat(self.lefts, 1).mT, torch.cat(self.rights, 1))


class _Mix(torch.autograd.Function):
    """total + alignment vectors; the gradient of the vectors goes on the tape."""

    @staticmethod
    def forward(ctx: Any, total: Tensor | None, alignment: Tensor, vectors: Tensor, tape: WeightTape) -> Tensor:
        ctx.save_for_backward(alignment, vectors)
        ctx.tape = tape
        return _mixture(total, alignment, vectors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        alignment, vectors = ctx.saved_tensors
        if ctx.needs_input_grad[2]:
            ctx.tape.record(vectors, alignment, grad)
        return grad if ctx.needs_input_grad[0] else None, torch.bmm(grad, vectors.mT), None, None


def _mixture(total: Tensor | None, alignment: Tensor, vectors: Tensor) -> Tensor:
    return torch.bmm(alignment, vectors) if total is None else torch.baddbmm(total, alignment, vectors)


def open_mixture(vectors: Tensor, tape: WeightTape | None) -> Tensor:
    """Make vectors (B, S, M) ready for the steps of a loop that mixes them."""
    return vectors if tape is None else tape.open(vectors, VectorsGradient)


def mix(total: Tensor | None, alignment: Tensor, vectors: Tensor, tape: WeightTape | None) -> Tensor:
    """One step's total + sum_j alignment_j vectors_j: (B, N, M) or None, (B, N, S), opened (B, S, M) -> (B, N, M)."""
    total, alignment = None if total is None else total.to(vectors.dtype), alignment.to(vectors.dtype)
    if tape is None:
        return _mixture(total, alignment, vectors)
    return _Mix.apply(total, alignment, vectors, tape)
