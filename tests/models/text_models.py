"""Batches and comparisons for the models that read one sequence of tokens a row."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

LENGTHS = (10, 4, 7)


def batch(
    lengths: tuple[int, ...] = LENGTHS, *, side: str = "right", extra: int = 0, vocabulary: int = 48, first: int = 5
) -> dict[str, Tensor]:
    """Random ids and the mask of rows of these lengths; a row is the same wherever its pads stand."""
    width = max(lengths) + extra
    ids, mask = torch.zeros(len(lengths), width, dtype=torch.long), torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        words = torch.randint(first, vocabulary, (length,), generator=torch.Generator().manual_seed(row))
        where = slice(0, length) if side == "right" else slice(width - length, width)
        ids[row, where], mask[row, where] = words, 1
    return {"input_ids": ids, "attention_mask": mask}


def segments(given: dict[str, Tensor]) -> Tensor:
    """1 from the third token of a row on, 0 at pads."""
    mask = given["attention_mask"]
    return ((mask.cumsum(1) > 2) & mask.bool()).long()


def row_alone(given: dict[str, Tensor], row: int) -> dict[str, Tensor]:
    """One row without its pads."""
    keep = given["attention_mask"][row].bool()
    return {name: tensor[row : row + 1, keep] for name, tensor in given.items() if tensor.ndim == 2}


def check_equal(made: Tensor, wanted: Tensor, mask: Tensor | None = None, tolerance: float = 1e-10) -> None:
    """Equal, at real positions only where a (B, T) mask is given and the tensors have its shape in front."""
    if mask is not None and made.shape[:2] == mask.shape:
        made, wanted = made[mask.bool()], wanted[mask.bool()]
    torch.testing.assert_close(made, wanted, rtol=0, atol=tolerance)


def gradients(model: Any) -> dict[str, Tensor]:
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
