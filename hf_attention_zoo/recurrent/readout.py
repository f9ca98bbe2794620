"""Deep output of recurrent decoders: a maxout layer over everything the decoder knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor, nn


def maxout(values: Tensor) -> Tensor:
    """Largest of each pair of neighbours, t_k = max(v_{2k-1}, v_{2k}): (..., 2l) -> (..., l)."""
    return values.unflatten(-1, (-1, 2)).amax(-1)


class MaxoutReadout(nn.Module):
    """t = maxout(U_o s + V_o e(y) + C_o c + b)   (Bahdanau et al. 2015, A.2.2; Cho et al. 2014, appendix).

    Args:
        input_sizes: the size of each input, one matrix each.
        units: l, maxout units of two pieces.
        bias: one bias for the sum.
    """

    def __init__(self, input_sizes: Sequence[int], units: int, bias: bool = True) -> None:
        super().__init__()
        self.projections = nn.ModuleList(
            nn.Linear(size, 2 * units, bias=bias and index == 0) for index, size in enumerate(input_sizes)
        )

    def project(self, index: int, tensor: Tensor) -> Tensor:
        """One input's part of the sum, (..., size) -> (..., 2l)."""
        return self.projections[index](tensor)

    def forward(self, *inputs: Tensor, projected: Tensor | None = None) -> Tensor:
        """Tensors (..., size_k) -> (..., l).

        Args:
            inputs: the inputs in order, up to those that stand in `projected`.
            projected: (..., 2l), the sum of the last inputs' parts.
        """
        known = [] if projected is None else [projected]
        parts = [projection(tensor) for projection, tensor in zip(self.projections, inputs, strict=projected is None)]
        return maxout(reduce(torch.add, [*known, *parts]))
