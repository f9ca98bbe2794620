"""Memory cells in blocks that share their gates, without a forget gate (Hochreiter and Schmidhuber 1997, Section 4).

    y_in  = sigmoid(W_in x_t  + R_in u_{t-1}  + b_in)       one input gate a block
    y_out = sigmoid(W_out x_t + R_out u_{t-1} + b_out)      one output gate a block
    s_t   = s_{t-1} + y_in g(W_c x_t + R_c u_{t-1})         the constant error carousel
    y_t   = y_out h(s_t)                                    what leaves the cell

g(x) = 4 sigmoid(x) - 2 lies in (-2, 2), h(x) = 2 sigmoid(x) - 1 in (-1, 1). u = [y; y_in; y_out]: the hidden units are
fully connected, so that gates see gates, and only gates have biases. These are the counts of weights in the paper's
tables.

The gradient is truncated: an error that leaves a cell through u_{t-1} is cut off, and goes on inside of s alone, where
it is multiplied by 1 at each step.

Shapes: N rows, E input size, H cells, B blocks, H/B cells a block.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.decoder_loop import State


def cell_input(net: Tensor) -> Tensor:
    """g, in (-2, 2)."""
    return 4 * torch.sigmoid(net) - 2


def cell_output(state: Tensor) -> Tensor:
    """h, in (-1, 1)."""
    return 2 * torch.sigmoid(state) - 1


class MemoryBlocks(nn.Module):
    """One layer of memory cell blocks.

    Args:
        input_size: E; None for words that are one-hot vectors, so that W x_t is a row of a table, looked up before.
        hidden_size: H.
        block_size: cells of a block, a divisor of H.
        truncated: whether errors end where they leave the cells.
    """

    gate_order = "io"  # of `gate_bias`

    def __init__(self, input_size: int | None, hidden_size: int, block_size: int = 1, truncated: bool = True) -> None:
        super().__init__()
        self.hidden_size, self.block_size, self.truncated = hidden_size, block_size, truncated
        self.gates = 2 * (hidden_size // block_size)
        self.width = self.gates + hidden_size  # of W x_t: both gates of each block, then the cells
        self.input_projection: nn.Module = (
            nn.Identity() if input_size is None else nn.Linear(input_size, self.width, bias=False)
        )
        self.gate_projection = nn.Linear(hidden_size + self.gates, self.gates, bias=False)  # R_in and R_out
        self.gate_bias = nn.Parameter(torch.zeros(self.gates))  # b_in and b_out
        self.cell_projection = nn.Linear(hidden_size + self.gates, hidden_size, bias=False)  # R_c

    def zero_state(self, like: Tensor) -> State:
        """Cells, gates and outputs before the first word, 0: for the rows of `like` (N, ...)."""
        sizes = {"hidden": self.hidden_size, "gates": self.gates, "cell": self.hidden_size}
        return {name: like.new_zeros(like.shape[0], size) for name, size in sizes.items()}

    def forward(self, projected: Tensor, state: State) -> State:
        """One step: W x_t (N, 2B + H), y (N, H), both gates (N, 2B) and s (N, H) -> the next three."""
        units = torch.cat([state["hidden"], state["gates"]], dim=-1)
        if self.truncated:
            units = units.detach()
        to_gates, to_cells = projected.split((self.gates, self.hidden_size), dim=-1)
        gates = torch.sigmoid(to_gates + self.gate_projection(units) + self.gate_bias)
        y_in, y_out = gates.repeat_interleave(self.block_size, dim=-1).chunk(2, dim=-1)  # (N, H) each
        cell = state["cell"] + y_in * cell_input(to_cells + self.cell_projection(units))
        return {"hidden": y_out * cell_output(cell), "gates": gates, "cell": cell}
