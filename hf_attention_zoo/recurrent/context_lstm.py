"""A long short-term memory unit into each of whose gates the context enters (Xu et al. 2015, Eq. 1-3).

    [i; f; g; o] = W x + U h + Z z + b,   then the cell

Shapes: N rows, E input, H cells, D context. Gate order: i, f, g, o.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.lstm_cell import lstm_step


class OpenContextLSTM(NamedTuple):
    """The matrices as the steps of one loop use them."""

    recurrent: Tensor  # (4H, H)
    context: Tensor  # (4H, D)
    tape: WeightTape | None


class ContextLSTM(nn.Module):
    """One step reads an input, the state and a context; no peepholes, one bias.

    Args:
        input_size, hidden_size, context_size: E, H and D.
    """

    def __init__(self, input_size: int, hidden_size: int, context_size: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.zeros(4 * hidden_size, input_size))  # W
        self.recurrent_weight = nn.Parameter(torch.zeros(4 * hidden_size, hidden_size))  # U
        self.context_weight = nn.Parameter(torch.zeros(4 * hidden_size, context_size))  # Z
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))

    def project_inputs(self, inputs: Tensor) -> Tensor:
        """W x + b for all steps at once: (N, T, E) -> (N, T, 4H)."""
        return functional.linear(inputs, self.input_weight, self.bias)

    def open_weights(self, tape: WeightTape | None) -> OpenContextLSTM:
        """The two matrices of the loop, on its tape if there is one."""
        recurrent, context = self.recurrent_weight, self.context_weight
        if tape is not None:
            recurrent, context = tape.open(recurrent), tape.open(context)
        return OpenContextLSTM(recurrent, context, tape)

    def step(
        self, projected: Tensor, context: Tensor, hidden: Tensor, cell: Tensor, opened: OpenContextLSTM
    ) -> tuple[Tensor, Tensor]:
        """(N, 4H) from `project_inputs`, context (N, D), h and c (N, H) -> h', c' (N, H)."""
        products = [(hidden, opened.recurrent), (context, opened.context)]
        return lstm_step(projected, products, cell, None, opened.tape)
