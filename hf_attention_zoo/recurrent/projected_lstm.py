"""LSTMs with a projected state and clipping, in both directions at once, without a single step on a pad.

The layers of a bidirectional language model (Peters et al. 2018; Sak et al. 2014): the hidden state is a projection of
what the output gate lets through, and both it and the cell are clipped. The directions have their own weights and
never see each other. Gate order in every stacked matrix: i, f, g, o, as in torch.nn.LSTM.

    [i; f; g; o] = W x_t + U h_{t-1} + b
    c_t = clip(sigmoid(f + 1) c_{t-1} + sigmoid(i) tanh(g))
    h_t = clip(P (sigmoid(o) tanh(c_t)))

The 1 beside f stands outside of b, as in TensorFlow. Where a clip acts, no gradient passes.

Tokens stand in reading order (`pack_rows`): those of a step are neighbours, and a step computes exactly its tokens.
Shapes: R rows, N tokens, D = 2 directions, I input size, C cells, P projected states.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.packed_gates import PackedRows
from hf_attention_zoo.loops.projected_backward import _ProjectedRun
from hf_attention_zoo.loops.weight_tape import in_autocast_dtype

FORGET_BIAS = 1.0


class ProjectedState(NamedTuple):
    """Where a layer stands: h (2, R, P) and c (2, R, C), rows in the order of the batch."""

    hidden: Tensor
    cell: Tensor


def forget_offset(cells: int, like: Tensor) -> Tensor:
    """What is added to b: the forget bias at f, 0 elsewhere, (4C)."""
    offset = like.new_zeros(4 * cells)
    offset[cells : 2 * cells] = FORGET_BIAS
    return offset


class ProjectedLSTM(nn.Module):
    """One layer of one direction: its weights, and one bias a gate.

    Args:
        input_size: I. cell_size: C. projection_size: P.
    """

    def __init__(self, input_size: int, cell_size: int, projection_size: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(4 * cell_size, input_size))  # W
        self.recurrent_weight = nn.Parameter(torch.empty(4 * cell_size, projection_size))  # U
        self.bias = nn.Parameter(torch.zeros(4 * cell_size))
        self.projection_weight = nn.Parameter(torch.empty(projection_size, cell_size))  # P
        for weight in (self.input_weight, self.recurrent_weight, self.projection_weight):
            nn.init.xavier_uniform_(weight)


class ProjectedLSTMPair(nn.Module):
    """One layer of both directions.

    Args:
        input_size, cell_size, projection_size: of each direction.
        cell_clip, projection_clip: limits of c and h; None for none.
    """

    def __init__(
        self,
        input_size: int,
        cell_size: int,
        projection_size: int,
        cell_clip: float | None,
        projection_clip: float | None,
    ) -> None:
        super().__init__()
        self.cell_size, self.projection_size = cell_size, projection_size
        self.clips = (cell_clip, projection_clip)
        self.forward_lstm = ProjectedLSTM(input_size, cell_size, projection_size)
        self.backward_lstm = ProjectedLSTM(input_size, cell_size, projection_size)

    def project_distinct(self, vectors: Tensor, which: Tensor) -> Tensor:
        """W x + b, each distinct vector multiplied once: (U, I), vector of each place (2, N) -> (2, N, 4C)."""
        return torch.stack(
            [
                functional.embedding(where, functional.linear(vectors, in_autocast_dtype(lstm.input_weight), bias))
                for where, lstm, bias in zip(which, self._directions, self._biases(), strict=True)
            ]
        )

    def project(self, inputs: Tensor) -> Tensor:
        """W x + b of inputs in reading order: (2, N, I) -> (2, N, 4C)."""
        weight = in_autocast_dtype(torch.stack([lstm.input_weight for lstm in self._directions]))
        return torch.baddbmm(torch.stack(self._biases())[:, None], inputs.to(weight.dtype), weight.mT)

    def forward(
        self, projected: Tensor, rows: PackedRows, state: ProjectedState | None = None
    ) -> tuple[Tensor, ProjectedState]:
        """Read all rows.

        Args:
            projected: (2, N, 4C) from `project` or `project_distinct`.
            rows: which tokens are a row.
            state: where the rows begin; zero if None.

        Returns:
            States (2, N, P) in reading order, and where the rows end.
        """
        order = rows.lengths.sort(descending=True, stable=True).indices  # as `pack_rows` has it
        recurrent, projection = (
            torch.stack([getattr(lstm, name) for lstm in self._directions]).to(projected.dtype)
            for name in ("recurrent_weight", "projection_weight")
        )
        count = len(rows.lengths)
        if state is None:
            hidden = projected.new_zeros(2, count, self.projection_size)
            cell = projected.new_zeros(2, count, self.cell_size)
        else:
            hidden, cell = (part[:, order].to(projected.dtype) for part in state)
        states, cells = _ProjectedRun.apply(
            projected, recurrent, projection, hidden, cell, rows.step_sizes, self.clips
        )
        last = _last_places(rows, order)
        back = torch.empty_like(order).scatter_(0, order, torch.arange(count, device=order.device))
        return states, ProjectedState(states.detach()[:, last][:, back], cells[:, last][:, back])

    @property
    def _directions(self) -> tuple[ProjectedLSTM, ProjectedLSTM]:
        return self.forward_lstm, self.backward_lstm

    def _biases(self) -> list[Tensor]:
        return [
            in_autocast_dtype(lstm.bias + forget_offset(self.cell_size, lstm.bias.detach()))
            for lstm in self._directions
        ]


def _last_places(rows: PackedRows, order: Tensor) -> Tensor:
    """The place of each row's last token in reading order, longest row first: (R)."""
    sizes = torch.tensor(rows.step_sizes, device=order.device)
    starts = sizes.cumsum(0) - sizes
    return starts[rows.lengths[order] - 1] + torch.arange(len(order), device=order.device)
