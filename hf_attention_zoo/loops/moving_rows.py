"""Rows that move and are never added up, forwards or backwards."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _PickRows(torch.autograd.Function):
    """Rows of a matrix in another order, each once; the backward picks them back."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(order, inverse)
        return rows.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        order, inverse = ctx.saved_tensors
        return _PickRows.apply(grad, inverse, order), None, None


def pick_rows(rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
    """rows[order] for a permutation and its inverse, both (N): (N, D) -> (N, D)."""
    return _PickRows.apply(rows, order, inverse)


class _Pick(torch.autograd.Function):
    """Rows of a matrix, each but the last at most once: (M, D) -> (R, D). The last gets no gradient of use."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.height = rows.shape[0]
        return rows.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return _Place.apply(grad, index, ctx.height), None


class _Place(torch.autograd.Function):
    """The rows (R, D) at their places in a matrix of zeros (M, D); in the last place stands any one of several."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, index: Tensor, height: int) -> Tensor:
        ctx.save_for_backward(index)
        return rows.new_zeros(height, rows.shape[1]).index_copy_(0, index, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        return _Pick.apply(grad, index), None, None


def _gather(vectors: Tensor, index: Tensor) -> Tensor:
    return vectors.flatten(0, 1).index_select(0, index)


def _scatter(vectors: Tensor, index: Tensor, rows: int, length: int) -> Tensor:
    flat = vectors.new_zeros(rows * length, *vectors.shape[1:])
    return flat.index_copy_(0, index, vectors).unflatten(0, (rows, length))


class _Pack(torch.autograd.Function):
    """Every token is read once, so that the way back is a copy, too, and no sum."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape = vectors.shape[:2]
        return _gather(vectors, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return _scatter(grad, index, *ctx.shape), None


class _Unpack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, index: Tensor, rows: int, length: int) -> Tensor:
        ctx.save_for_backward(index)
        return _scatter(vectors, index, rows, length)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (index,) = ctx.saved_tensors
        return _gather(grad, index), None, None, None
