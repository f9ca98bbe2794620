"""Local attention: a window of source positions round a centre p_t   (Luong et al. 2015, Section 3.2).

    local-m   p_t = min(t, S - 1)                              monotonic
    local-p   p_t = S sigmoid(v_p^T tanh(W_p h_t))             predicted
    window    floor(p_t) - D ... floor(p_t) + D, cut off at the ends of the sentence
    local-p   alignment(s) = softmax over the window * exp(-(s - p_t)^2 / (2 sigma^2)),  sigma = D / 2

Positions s and t count from 0, in the order of the sentence; S is the sentence's own length, whatever the padding.
The product with the Gaussian is not normalised again. Shapes as in `attention_base`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention, SourceAttention
from hf_attention_zoo.attention.location import source_positions
from hf_attention_zoo.loops.weight_tape import WeightTape


@dataclass(frozen=True)
class PositionedSource(AttendedSource):
    """A source whose tokens know where they stand: their ranks (B, S) in their sentences of (B) real tokens."""

    positions: Tensor
    lengths: Tensor


class MonotonicLocalAttention(SourceAttention):
    """local-m: any content-based `mechanism` through a window of 2 `half_width` + 1 positions that moves with t."""

    def __init__(self, mechanism: Attention, half_width: int) -> None:
        super().__init__()
        self.mechanism, self.half_width = mechanism, half_width

    def project_keys(self, values: Tensor) -> Tensor:
        return self.mechanism.project_keys(values)

    def prepare(self, values: Tensor, mask: Tensor) -> PositionedSource:
        real = mask.bool()
        return PositionedSource(values, self.project_keys(values), real, source_positions(real), real.sum(1))

    def centre(self, query: Tensor, times: Tensor, lengths: Tensor) -> Tensor:
        """p_t: queries (B, N, Q) at target positions (B or 1, N), sentences of lengths (B) -> (B, N)."""
        return torch.minimum(times, lengths[:, None] - 1).float()

    def fading(self, distances: Tensor) -> Tensor | None:
        """What the weights are multiplied with, given s - p_t: (B, N, S) -> (B, N, S); nothing in local-m."""
        return None

    def forward(
        self,
        query: Tensor,
        source: PositionedSource,
        times: Tensor | None = None,
        attend: Callable[..., tuple[Tensor, Tensor]] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """(B, N, Q) and the target position of each query, (B or 1, N) -> context (B, N, M), alignment (B, N, S)."""
        if times is None:
            raise ValueError("local attention needs the target position of each query; give times (1, N)")
        centre = self.centre(query, times, source.lengths)[..., None]  # p_t, (B, N, 1)
        positions = source.positions[:, None]  # s, (B, 1, S)
        window = source.mask[:, None] & ((positions - centre.detach().floor()).abs() <= self.half_width)
        attend = self.mechanism if attend is None else attend
        return attend(query, source, window, self.fading(positions - centre))

    def in_loop(self, source: AttendedSource, tape: WeightTape | None) -> Callable[..., tuple[Tensor, Tensor]]:
        attend = self.mechanism.in_loop(source, tape)
        return self if attend is self.mechanism else partial(self, attend=attend)  # no module is an argument of one


class PredictiveLocalAttention(MonotonicLocalAttention):
    """local-p: the window is where the decoder's state (Q) says, through `position_size` units, and its edges fade.

    The position gets its gradient through the Gaussian alone, times `gradient_scale` (the released code had 1/2 until
    October 2015); the floor has none.
    """

    def __init__(
        self, mechanism: Attention, half_width: int, query_size: int, position_size: int, gradient_scale: float = 1.0
    ) -> None:
        super().__init__(mechanism, half_width)
        self.gradient_scale = gradient_scale
        self.position_projection = nn.Linear(query_size, position_size, bias=False)  # W_p
        self.position_vector = nn.Linear(position_size, 1, bias=False)  # v_p

    def centre(self, query: Tensor, times: Tensor, lengths: Tensor) -> Tensor:
        share = torch.sigmoid(self.position_vector(torch.tanh(self.position_projection(query))))[..., 0]  # (B, N)
        # Half precision is too coarse between positions.
        share = share if share.dtype == torch.float64 else share.float()
        centre = share * lengths[:, None]  # S sigmoid(v_p^T tanh(W_p h_t))
        return centre if self.gradient_scale == 1 else torch.lerp(centre.detach(), centre, self.gradient_scale)

    def fading(self, distances: Tensor) -> Tensor:
        return torch.exp(-distances.square() / (2 * (self.half_width / 2) ** 2))  # sigma = D / 2
