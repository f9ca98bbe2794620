"""Weighted sums and products with the vectors that all steps of a loop share; their gradients go on the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hf_attention_zoo.loops.weight_tape import WeightTape


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
    """alignment vectors; the gradient of the vectors goes on the tape."""

    @staticmethod
    def forward(ctx: Any, alignment: Tensor, vectors: Tensor, tape: WeightTape) -> Tensor:
        ctx.save_for_backward(alignment, vectors)
        ctx.tape = tape
        return torch.bmm(alignment, vectors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        alignment, vectors = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.tape.record(vectors, alignment, grad)
        return torch.bmm(grad, vectors.mT), None, None


def open_mixture(vectors: Tensor, tape: WeightTape | None) -> Tensor:
    """Make vectors (B, S, M) ready for the steps of a loop that mixes them."""
    return vectors if tape is None else tape.open(vectors, VectorsGradient)


def mix(alignment: Tensor, vectors: Tensor, tape: WeightTape | None) -> Tensor:
    """One step's sum_j alignment_j vectors_j: (B, N, S), opened (B, S, M) -> (B, N, M)."""
    alignment = alignment.to(vectors.dtype)
    return torch.bmm(alignment, vectors) if tape is None else _Mix.apply(alignment, vectors, tape)


class _StepProducts(torch.autograd.Function):
    """query keys^T of one step; the gradient of the keys goes on the tape."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, tape: WeightTape) -> Tensor:
        ctx.save_for_backward(query, keys)
        ctx.tape = tape
        return torch.bmm(query, keys.mT)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        query, keys = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.tape.record(keys, grad, query)
        return torch.bmm(grad, keys), None, None


class ProductLoop:
    """The twin of `DotProductAttention.forward` in a loop over one source.

    Args:
        keys, values, mask: (B, S, A), (B, S, M) and (B, S), of the source.
        softmax: the formula's, of scores and a mask.
        tape: of the loop.
    """

    def __init__(
        self, keys: Tensor, values: Tensor, mask: Tensor, softmax: Callable[[Tensor, Tensor], Tensor], tape: WeightTape
    ) -> None:
        self.keys, self.values = tape.open(keys, VectorsGradient), open_mixture(values, tape)
        self.mask, self.softmax, self.tape = mask[:, None], softmax, tape

    def __call__(
        self, query: Tensor, source: Any = None, mask: Tensor | None = None, factor: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As the module that it stands for; the source is the loop's."""
        scores = _StepProducts.apply(query.to(self.keys.dtype), self.keys, self.tape)
        alignment = self.softmax(scores, self.mask if mask is None else mask)
        alignment = alignment if factor is None else alignment * factor.to(alignment.dtype)
        return mix(alignment, self.values, self.tape), alignment
