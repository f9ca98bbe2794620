"""Gradients that hold only the rows that a batch has read: their norm, clipping, and which optimisers know them."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def has_sparse_gradients(model: nn.Module) -> bool:
    """Whether a table of the model (`sparse_gradients` of its config) gets a gradient of rows."""
    return any(isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.sparse for part in model.modules())


def clip_by_norm(
    parameters: Iterable[nn.Parameter],
    max_norm: float = float("inf"),
    counted: Iterable[nn.Parameter] | None = None,
) -> Tensor:
    """Scale all gradients, of rows and whole ones, so that their common norm is at most `max_norm`; returns the norm.

    A row that was read several times counts once, with its sum, as in the whole gradient.

    Args:
        counted: those of the parameters whose gradients make up the norm; all if left out.
    """
    gradients = _numbers(parameters)
    norm = nn.utils.get_total_norm(gradients if counted is None else _numbers(counted))
    if max_norm != float("inf"):
        scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for numbers in gradients:
            numbers.mul_(scale)
    return norm


def _numbers(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """The numbers of each gradient, those of rows with one row for each that was read."""
    found: list[Tensor] = []
    for parameter in parameters:
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
        if parameter.grad is not None:
            found.append(parameter.grad._values() if parameter.grad.is_sparse else parameter.grad)
    return found


def check_sparse_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Raises ValueError if a table's gradient holds rows alone and the optimiser needs it whole."""
    if not has_sparse_gradients(model):
        return
    known = isinstance(optimizer, torch.optim.SGD | torch.optim.Adagrad | torch.optim.SparseAdam)
    shrinks = any(group.get("weight_decay") for group in optimizer.param_groups)
    if not known or shrinks:
        what = "weight_decay" if known else type(optimizer).__name__
        raise ValueError(
            f"sparse_gradients holds only the rows that a batch has read, and {what} changes every row; take "
            "--optim sgd or --optim adagrad with --weight_decay 0, or set sparse_gradients to False "
            "(--config.sparse_gradients False)"
        )
