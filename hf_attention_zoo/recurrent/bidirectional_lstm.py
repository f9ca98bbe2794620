"""A bidirectional LSTM over padded texts that computes next to nothing for pads (Lin et al. 2017, Eq. 2-3).

torch's packed sequences do not read pads either, but on CPUs their backward pass takes up to four times that of the
padded grid, pads included. Here the texts are sorted by length and the grid is walked in a few strides: each is one
call of the library over the texts that still have tokens, from the states where the stride before ended. Every
direction reads its text in its own order, so that on either side of a text pads come last, if at all.

Shapes: B rows, S padded positions, K texts a row (1, or 2 for pairs), N = K B texts, I input size, U units per
direction.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.graphs import check_fixed_steps, is_exported, is_graph_made
from hf_attention_zoo.loops.moving_rows import _Pick, _Place
from hf_attention_zoo.recurrent.bidirectional import reading_order

LARGEST_SHARE = 0.7  # a new stride begins where at most this share of the texts of the last one goes on,
LEAST_SAVING = {"cpu": 5e7}  # and at least this many products of a direction fall away; elsewhere none begins


class DirectedLSTM(nn.Module):
    """One LSTM layer in one direction with one bias a gate; gate order i, f, g, o as in torch.

    i, f, o = sigmoid(W w_t + V h_{t-1} + b),  g = tanh(...),  c_t = f c_{t-1} + i g,  h_t = o tanh(c_t).
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input_weight = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))
        for weight in (self.input_weight, self.recurrent_weight):
            nn.init.normal_(weight, std=0.1)

    def forward(self, inputs: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Inputs (T, N, I), time first, hidden state and cell (N, U) -> states (T, N, U) and the last of both."""
        weights = [self.input_weight, self.recurrent_weight, self.bias, torch.zeros_like(self.bias)]
        hidden, cell = (tensor[None].contiguous() for tensor in state)
        settings = (
            True,
            1,
            0.0,
            self.training,
            False,
            False,
        )  # biases, layers, dropout, ..., one direction, time first
        if inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # torch has no LSTM for half precision on every processor: it stays in the weights' own
            with torch.autocast("cpu", enabled=False):
                inputs, hidden, cell = (tensor.to(self.bias.dtype) for tensor in (inputs, hidden, cell))
                outputs, hidden, cell = torch.lstm(inputs, (hidden, cell), weights, *settings)
        else:
            outputs, hidden, cell = torch.lstm(inputs, (hidden, cell), weights, *settings)
        return outputs, (hidden[0], cell[0])


class BidirectionalLSTM(nn.Module):
    """h_t = [forward state; backward state]; both directions start from zero at their end of each text.

    Args:
        input_size: I.
        hidden_size: U, of each direction.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.forward_lstm = DirectedLSTM(input_size, hidden_size)
        self.backward_lstm = DirectedLSTM(input_size, hidden_size)

    def forward(self, embedded: Tensor, masks: Tensor) -> Tensor:
        """Read one or two texts in each row, each on its own.

        Args:
            embedded: (B, S, I).
            masks: (K, B, S) bool, true at the tokens of a text; no position belongs to two texts.

        Returns:
            States (B, S, 2U), each at its token; zero where there is none.
        """
        rows, length, _ = embedded.shape
        texts = masks.flatten(0, 1)  # (N, S)
        lengths = texts.sum(1)  # (N)
        products = 4 * self.hidden_size * (embedded.shape[-1] + self.hidden_size)  # of one text at one step
        least = LEAST_SAVING.get(embedded.device.type, math.inf) / products
        if is_graph_made():
            check_fixed_steps(length if is_exported() else 1)  # a trace calls the library for any number of steps
            longest_first, strides = torch.arange(texts.shape[0], device=texts.device), [(0, length, texts.shape[0])]
        else:
            longest_first = torch.argsort(lengths, descending=True, stable=True)
            strides = plan_strides(lengths[longest_first].tolist(), least)
        first = (torch.arange(rows, device=texts.device) * length).repeat(masks.shape[0])  # of each text's row
        steps = torch.arange(length, device=texts.device)
        reading = steps < lengths[:, None]  # (N, S)
        nowhere = rows * length  # what is read behind the end of a text, and where its states go
        flat = torch.cat([embedded.flatten(0, 1), embedded.new_zeros(1, embedded.shape[-1])])
        directions = []
        for order, lstm in zip(reading_order(texts), (self.forward_lstm, self.backward_lstm), strict=True):
            places = torch.where(reading, order + first[:, None], nowhere)[longest_first]  # (N, S): read at each step
            directions.append(_read(lstm, self.hidden_size, flat, places.t(), strides))
        return torch.cat(directions, dim=-1)[:nowhere].view(rows, length, -1)


def plan_strides(counts: list[int], least_saving: float) -> list[tuple[int, int, int]]:
    """How to walk over texts of descending lengths: (first step, step after the last, texts) of each stride.

    Args:
        counts: lengths, longest first.
        least_saving: steps of single texts that must fall away for a new stride; infinity for one stride.
    """
    longest = counts[0] if counts else 0
    alive = sum(count > 0 for count in counts)
    strides: list[tuple[int, int, int]] = []
    start = 0
    going_on = alive
    for step in range(1, longest):
        while counts[going_on - 1] <= step:
            going_on -= 1
        if going_on <= LARGEST_SHARE * alive and (alive - going_on) * (longest - step) >= least_saving:
            strides.append((start, step, alive))
            start, alive = step, going_on
    return [*strides, (start, longest, alive)] if longest else []


def _read(lstm: nn.Module, size: int, flat: Tensor, places: Tensor, strides: list[tuple[int, int, int]]) -> Tensor:
    """States of one direction at the places (S, N) that they were read from: (B S + 1, I) -> (B S + 1, U).

    The last row is what a stride reads behind the end of a text, and holds what comes of it.
    """
    outputs, read = [], []
    state: tuple[Tensor, Tensor] | None = None
    for start, end, count in strides:
        index = places[start:end, :count].flatten()
        inputs = (flat[index] if is_graph_made() else _Pick.apply(flat, index)).view(end - start, count, -1)
        if state is None:
            zeros = flat.new_zeros(count, size)
            state = (zeros, zeros)
        state = (state[0][:count], state[1][:count])
        made, state = lstm(inputs, state)
        outputs.append(made.flatten(0, 1))
        read.append(index)
    if not outputs:
        return flat.new_zeros(flat.shape[0], size)
    if is_graph_made():
        return flat.new_zeros(flat.shape[0], size).index_copy(0, torch.cat(read), torch.cat(outputs))
    return _Place.apply(torch.cat(outputs), torch.cat(read), flat.shape[0])
