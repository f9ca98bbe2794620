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

from hf_attention_zoo.loops.may_run import has_twin, twin_may_run
from hf_attention_zoo.loops.packed_gates import PackedRows
from hf_attention_zoo.loops.projected_backward import run_projected

FORGET_BIAS = 1.0


class ProjectedState(NamedTuple):
    """Where a layer stands: h (2, R, P) and c (2, R, C), rows in the order of the batch."""

    hidden: Tensor
    cell: Tensor


@has_twin
class ProjectedLSTM(nn.Module):
    """One layer of one direction.

    Args:
        input_size, cell_size, projection_size: I, C and P.
        clips: limits of c and h; None for none.
    """

    def __init__(
        self, input_size: int, cell_size: int, projection_size: int, clips: tuple[float | None, float | None]
    ) -> None:
        super().__init__()
        self.cell_size, self.clips = cell_size, clips
        self.input_weight = nn.Parameter(torch.empty(4 * cell_size, input_size))  # W
        self.recurrent_weight = nn.Parameter(torch.empty(4 * cell_size, projection_size))  # U
        self.bias = nn.Parameter(torch.zeros(4 * cell_size))  # b
        self.projection_weight = nn.Parameter(torch.empty(projection_size, cell_size))  # P
        for weight in (self.input_weight, self.recurrent_weight, self.projection_weight):
            nn.init.xavier_uniform_(weight)

    def forward(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """One step: x (R, I), h (R, P), c (R, C) -> h' (R, P), c' (R, C)."""
        gates = functional.linear(inputs, self.input_weight, self.bias)
        i, f, g, o = (gates + functional.linear(hidden, self.recurrent_weight)).chunk(4, -1)
        cell = clipped(torch.sigmoid(f + FORGET_BIAS) * cell + torch.sigmoid(i) * torch.tanh(g), self.clips[0])
        passed = functional.linear(torch.sigmoid(o) * torch.tanh(cell), self.projection_weight)
        return clipped(passed, self.clips[1]), cell


def clipped(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)


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
        clips = (cell_clip, projection_clip)
        self.forward_lstm = ProjectedLSTM(input_size, cell_size, projection_size, clips)
        self.backward_lstm = ProjectedLSTM(input_size, cell_size, projection_size, clips)

    def forward(
        self, inputs: Tensor, rows: PackedRows, state: ProjectedState | None = None, which: Tensor | None = None
    ) -> tuple[Tensor, ProjectedState]:
        """Read all rows.

        Args:
            inputs: (2, N, I) in reading order, or different vectors (U, I).
            rows: which tokens are a row.
            state: where the rows begin; zero if None.
            which: (2, N), the vector at each place, where vectors are given.

        Returns:
            States (2, N, P) in reading order, and where the rows end.
        """
        order = rows.lengths.sort(descending=True, stable=True).indices  # as `pack_rows` has it
        count, units = len(rows.lengths), (self.forward_lstm, self.backward_lstm)
        hidden = inputs.new_zeros(2, count, self.projection_size) if state is None else state.hidden[:, order]
        cell = inputs.new_zeros(2, count, self.cell_size) if state is None else state.cell[:, order]
        if twin_may_run(*units):
            states, cells = run_projected(units, FORGET_BIAS, inputs, which, hidden, cell, rows.step_sizes)
        else:
            inputs = inputs if which is None else inputs[which]
            made = [one_direction(*parts, rows.step_sizes) for parts in zip(units, inputs, hidden, cell, strict=True)]
            states, cells = (torch.stack(parts) for parts in zip(*made, strict=True))
        last = _last_places(rows, order)
        back = torch.empty_like(order).scatter_(0, order, torch.arange(count, device=order.device))
        return states, ProjectedState(states.detach()[:, last][:, back], cells.detach()[:, last][:, back])


def one_direction(
    unit: ProjectedLSTM, inputs: Tensor, hidden: Tensor, cell: Tensor, step_sizes: list[int]
) -> tuple[Tensor, Tensor]:
    """All states (N, P) and cells (N, C) of inputs (N, I) in reading order."""
    states, cells = [], []
    for now in inputs.split(step_sizes):
        hidden, cell = unit(now, hidden[: len(now)], cell[: len(now)])
        states.append(hidden)
        cells.append(cell)
    return torch.cat(states), torch.cat(cells)


def _last_places(rows: PackedRows, order: Tensor) -> Tensor:
    """The place of each row's last token in reading order, longest row first: (R)."""
    sizes = torch.tensor(rows.step_sizes, device=order.device)
    starts = sizes.cumsum(0) - sizes
    return starts[rows.lengths[order] - 1] + torch.arange(len(order), device=order.device)
