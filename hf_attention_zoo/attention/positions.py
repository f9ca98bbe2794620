"""Where a token stands: the sinusoids of Vaswani et al. (2017, Section 3.5) in the layouts in use, or learned.

Shapes: P positions, D model size.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.may_run import is_recorded

SINUSOIDS = ("sinusoidal", "tensor2tensor", "marian")
LONGEST_WAVE = 10_000.0
TABLE_ROWS = 512


def sinusoids(
    length: int, size: int, layout: str = "sinusoidal", first: int | Tensor = 0, device: Any = None
) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i + 1) = cos(p / 10000^(2i/D)) at p = first, ..., first + P - 1.

    Args:
        length, size: P and an even D.
        layout: "sinusoidal" is the paper's formula. "tensor2tensor", the authors' code, has all sines before all
            cosines and one frequency step less (i / (D/2 - 1) in place of 2i / D), so that it is no reordering of
            the formula. "marian" has the paper's frequencies in the code's order.
        first: the first position, a number or a tensor of one.

    Returns:
        (P, D) in float64 (float32 where the device has no more).
    """
    dtype = torch.float32 if torch.device(device or "cpu").type == "mps" else torch.float64
    half = size // 2
    step = 2 / size if layout != "tensor2tensor" else 1 / max(half - 1, 1)
    frequencies = torch.exp(torch.arange(half, dtype=dtype, device=device) * (-math.log(LONGEST_WAVE) * step))
    positions = torch.arange(length, device=device) + first
    angles = positions.to(dtype)[:, None] * frequencies  # (P, D / 2)
    if layout == "sinusoidal":
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
    return torch.cat((angles.sin(), angles.cos()), 1)


@lru_cache(maxsize=8)
def sinusoid_table(rows: int, size: int, layout: str, dtype: torch.dtype) -> Tensor:
    """The vectors of the first positions on the CPU, made once and shared, so that nobody writes into them."""
    with torch.inference_mode(False), torch.no_grad():
        return sinusoids(rows, size, layout).to(dtype)


class Positions(nn.Module):
    """The vector of each position: computed where it is a formula, looked up where it is learned.

    Args:
        kind: "learned" or one of `SINUSOIDS`.
        size: D.
        max_length: rows of the learned table; None with the formulas, which have no limit.
        offset: added to every position (fairseq counts from its pad id + 1).
    """

    def __init__(self, kind: str, size: int, max_length: int | None, offset: int = 0) -> None:
        super().__init__()
        self.kind, self.size, self.max_length, self.offset = kind, size, max_length, offset
        if kind == "learned":
            if max_length is None:
                raise ValueError("a learned table needs its number of rows; give max_length")
            self.table = nn.Embedding(max_length + offset, size)

    def forward(self, length: int, first: int | Tensor = 0, *, device: Any, dtype: torch.dtype) -> Tensor:
        """Vectors of the positions first, ..., first + length - 1: (length, D).

        Raises:
            ValueError: a learned table ends before.
        """
        if self.kind != "learned":
            start = first + self.offset
            if isinstance(start, int) and torch.device(device).type == "cpu" and not is_recorded():
                rows = TABLE_ROWS * -(-(start + length) // TABLE_ROWS)  # few tables, whatever the length
                return sinusoid_table(rows, self.size, self.kind, dtype)[start : start + length]
            return sinusoids(length, self.size, self.kind, start, device).to(dtype)
        most = self.max_length
        if most is not None and not torch.compiler.is_compiling() and int(first) + length > most:
            raise ValueError(
                f"{int(first) + length} positions were asked for, but the learned table has {most} "
                f"(max_position_embeddings); cut the text, with truncation=True and max_length={most} where the "
                "tokenizer is called, or use a model with position_encoding='sinusoidal', which has no limit"
            )
        return self.table(torch.arange(length, device=device) + (first + self.offset)).to(dtype)
