"""Cross entropy over a vocabulary with one tensor of the size of the logits less per use.

torch's own keeps the log-probabilities of all tokens for backward and fills two more tensors of their size on the way
back. Here the probabilities are computed again in backward, some rows at a time; values and gradients are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

IGNORED = -100
_CHUNK_ELEMENTS = {"cpu": 1 << 18}  # what fits the second-level cache
_CHUNK_ELEMENTS_ELSEWHERE = 1 << 26


def labels_outside(labels: Tensor, width: int) -> Tensor:
    """The labels that are no column of logits with `width` columns, those of -100 left out: any shape -> (n)."""
    return labels[((labels < 0) | (labels >= width)) & (labels != IGNORED)]


def summed_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Sum of -log p(label) in float32 or better: (N, V), (N) -> (). Labels of -100 count nothing.

    Args:
        smoothing: s of a target that is 1 - s + s / V at the label and s / V at the other classes.
    """
    if logits.requires_grad and torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return _SummedCrossEntropy.apply(logits, labels, smoothing)
    return summed_cross_entropy_reference(logits, labels, smoothing)


def summed_cross_entropy_reference(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """The same by torch's own."""
    return functional.cross_entropy(
        widened(logits), labels, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing
    )


def widened(logits: Tensor) -> Tensor:
    """In float32 or better."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _row_chunks(logits: Tensor) -> Iterator[slice]:
    rows, width = logits.shape
    height = max(1, _CHUNK_ELEMENTS.get(logits.device.type, _CHUNK_ELEMENTS_ELSEWHERE) // width)
    return (slice(first, first + height) for first in range(0, rows, height))


class _SummedCrossEntropy(torch.autograd.Function):
    """d loss / d logits = softmax(logits) - target, zero for ignored rows."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        counted = labels != IGNORED
        index = labels.where(counted, 0)[:, None]
        likelihoods = []
        for rows in _row_chunks(logits):
            likely = functional.log_softmax(widened(logits[rows]), -1)
            picked = likely.gather(1, index[rows])
            if smoothing:
                picked = torch.lerp(picked, likely.mean(1, keepdim=True), smoothing)
            likelihoods.append(picked)
        ctx.save_for_backward(logits, index, counted)
        ctx.smoothing = smoothing
        if not likelihoods:
            return widened(logits).sum()
        return torch.cat(likelihoods)[:, 0].mul(counted).sum().neg()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        logits, index, counted = ctx.saved_tensors
        smoothing, width = ctx.smoothing, logits.shape[1]
        scale = (grad * counted)[:, None]  # (N, 1)
        grad_logits = torch.empty_like(logits)
        narrow = widened(logits[:0]).dtype != logits.dtype
        for rows in _row_chunks(logits):
            part = torch.softmax(widened(logits[rows]), -1, out=None if narrow else grad_logits[rows])
            if smoothing:
                part.sub_(smoothing / width)
            part.scatter_add_(1, index[rows], part.new_full((1, 1), smoothing - 1.0).expand_as(index[rows]))
            part.mul_(scale[rows])
            if narrow:
                grad_logits[rows] = part
        return grad_logits, None, None


def log_likelihood(logits: Tensor, labels: Tensor) -> Tensor:
    """log p of each row of labels (B, T), -100 where there is nothing to predict, under logits (B, T, V): (B).

    Sums over a row's labels in float32 or better; 0 for a row without labels.
    """
    wide = logits if logits.dtype == torch.float64 else logits.float()
    losses = functional.cross_entropy(wide.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="none")
    return -losses.view(labels.shape).sum(1)
