"""A long short-term memory unit into each of whose gates the context enters (Xu et al. 2015, Eq. 1-3).

    [i; f; g; o] = W x + U h + Z z + b,   then the cell

Shapes: N rows, E input, H cells, D context. Gate order: i, f, g, o.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.lstm_backward import ContextLoop
from hf_attention_zoo.loops.may_run import has_twin, twin_may_run
from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.lstm_cell import lstm_cell


@has_twin
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

    def forward(self, inputs: Tensor, context: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """x (N, E), z (N, D), h and c (N, H) -> h', c' (N, H)."""
        gates = functional.linear(inputs, self.input_weight, self.bias)  # (N, 4H)
        gates = (
            gates + functional.linear(hidden, self.recurrent_weight) + functional.linear(context, self.context_weight)
        )
        return lstm_cell(gates, cell)

    def in_loop(self, tape: WeightTape | None) -> Callable[..., tuple[Tensor, Tensor]]:
        """What the steps of a loop call in place of the unit: its twin, whose inputs are projected."""
        return ContextLoop(self, tape) if twin_may_run(self) else self
