"""Weighted sums and products with the vectors that all steps of a loop share; their gradients go on the tape."""

from __future__ import annotations

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
