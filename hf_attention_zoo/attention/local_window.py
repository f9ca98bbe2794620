"""Local attention: a window of source positions round a centre p_t   (Luong et al. 2015, Section 3.2).

    local-m   p_t = min(t, S - 1)                              monotonic
    local-p   p_t = S sigmoid(v_p^T tanh(W_p h_t))             predicted
    window    floor(p_t) - D ... floor(p_t) + D, cut off at the ends of the sentence
    local-p   alignment(s) = softmax over the window * exp(-(s - p_t)^2 / (2 sigma^2)),  sigma = D / 2

Positions s and t count from 0, in the order of the sentence; S is the sentence's own length, whatever the padding.
The product with the Gaussian is not normalised again. Shapes as in `attention_base`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention, masked_softmax
from hf_attention_zoo.attention.location import source_positions
from hf_attention_zoo.loops.weight_tape import WeightTape, step_linear


@dataclass(frozen=True)
class PositionedSource(AttendedSource):
    """A source that also knows where its tokens stand.

    Attributes:
        positions: (B, S) rank of each real token in its sentence.
        lengths: (B) real tokens.
    """

    positions: Tensor
    lengths: Tensor


class OpenWindow(NamedTuple):
    """What the steps of one loop share."""

    source: PositionedSource
    scored: Any  # what the mechanism's own steps share
    position_weight: Tensor | None  # W_p
    tape: WeightTape | None


class LocalAttention(Attention):
    """Any content-based score, looked at through a window; subclasses say where the window is.

    Args:
        mechanism: scores queries against keys.
        half_width: D.
    """

    def __init__(self, mechanism: Attention, half_width: int) -> None:
        super().__init__()
        self.mechanism, self.half_width = mechanism, half_width

    def project_keys(self, values: Tensor) -> Tensor:
        return self.mechanism.project_keys(values)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.mechanism.score(query, keys)

    def prepare(self, values: Tensor, mask: Tensor) -> PositionedSource:
        real = mask.bool()
        return PositionedSource(values, self.project_keys(values), real, source_positions(real), real.sum(1))

    @property
    def position_weight(self) -> Tensor | None:
        """W_p, where there is one."""
        return None

    def centre(self, query: Tensor, times: Tensor, opened: OpenWindow) -> Tensor:
        """p_t: queries (B, N, Q) at target positions (B or 1, N) -> (B, N)."""
        raise TypeError(f"{type(self).__name__} places no window; subclass LocalAttention and write centre")

    def reshape(self, alignment: Tensor, distances: Tensor) -> Tensor:
        """What is done to the softmax over the window, given s - p_t: (B, N, S), (B, N, S) -> (B, N, S)."""
        return alignment

    def weigh(self, scores: Tensor, query: Tensor, times: Tensor, opened: OpenWindow) -> Tensor:
        """Scores (B, N, S) of queries (B, N, Q) at times (B or 1, N) -> alignment (B, N, S)."""
        source = opened.source
        centre = self.centre(query, times, opened)  # (B, N)
        positions = source.positions[:, None]  # (B, 1, S)
        offset = positions - centre.detach().floor()[..., None]  # (B, N, S)
        window = source.mask[:, None] & (offset.abs() <= self.half_width)
        return self.reshape(masked_softmax(scores, window), positions - centre[..., None])

    def open_loop(self, source: PositionedSource, tape: WeightTape | None) -> OpenWindow:
        weight = self.position_weight
        opened = weight if weight is None or tape is None else tape.open(weight)
        return OpenWindow(source, self.mechanism.open_loop(source, tape), opened, tape)

    def align(self, query: Tensor, opened: OpenWindow, times: Tensor) -> Tensor:
        """One step's alignment: (B, N, Q) at target positions (B or 1, N) -> (B, N, S)."""
        return self.weigh(self.mechanism.score_step(query, opened.scored), query, times, opened)

    def forward(self, query: Tensor, source: PositionedSource, times: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, N, Q) and the target position of each query, (B or 1, N) -> context (B, N, M), alignment (B, N, S)."""
        if times is None:
            raise ValueError("local attention needs the target position of each query; give times (1, N)")
        opened = OpenWindow(source, None, self.position_weight, None)
        alignment = self.weigh(self.score(query, source.keys), query, times, opened)
        return torch.bmm(alignment, source.values), alignment


class MonotonicLocalAttention(LocalAttention):
    """local-m: the window moves one source position a target position and stops at the sentence's last."""

    def centre(self, query: Tensor, times: Tensor, opened: OpenWindow) -> Tensor:
        return torch.minimum(times, opened.source.lengths[:, None] - 1).float()


class PredictiveLocalAttention(LocalAttention):
    """local-p: the window is where the decoder's state says, and its edges fade.

    The position gets its gradient through the Gaussian alone; the floor has none.

    Args:
        mechanism, half_width: as in `LocalAttention`.
        query_size: Q.
        position_size: rows of W_p.
        gradient_scale: factor on the gradient of p_t (the released code had 1/2 until October 2015).
    """

    def __init__(
        self, mechanism: Attention, half_width: int, query_size: int, position_size: int, gradient_scale: float = 1.0
    ) -> None:
        super().__init__(mechanism, half_width)
        self.gradient_scale = gradient_scale
        self.position_projection = nn.Linear(query_size, position_size, bias=False)  # W_p
        self.position_vector = nn.Linear(position_size, 1, bias=False)  # v_p

    @property
    def position_weight(self) -> Tensor:
        return self.position_projection.weight

    def centre(self, query: Tensor, times: Tensor, opened: OpenWindow) -> Tensor:
        moved = step_linear(query.flatten(0, 1), opened.position_weight, opened.tape).view(*query.shape[:2], -1)
        share = torch.sigmoid(self.position_vector(torch.tanh(moved))[..., 0])  # (B, N)
        wide = share if share.dtype == torch.float64 else share.float()  # half precision cannot count to 50
        centre = wide * opened.source.lengths[:, None]
        if self.gradient_scale != 1.0:
            centre = torch.lerp(centre.detach(), centre, self.gradient_scale)
        return centre

    def reshape(self, alignment: Tensor, distances: Tensor) -> Tensor:
        variance = (self.half_width / 2) ** 2
        return alignment * torch.exp(-distances.square() / (2 * variance)).to(alignment.dtype)
