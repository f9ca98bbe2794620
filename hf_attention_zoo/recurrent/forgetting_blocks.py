"""Memory cells in blocks with a forget gate (Gers, Schmidhuber and Cummins 2000), and with peepholes (Graves 2013).

    [i; f; o] = W_g x_t + R_g y_{t-1} + b_g                 once a block
    g         = W_c x_t + R_c y_{t-1} + b_c                 once a cell
    c_t       = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),    y_t = sigmoid(o) tanh(c_t)      (lstm_cell.py)

Both squashing functions are tanh, as ever since, so that blocks of one cell are torch.nn.LSTM with one bias. With
peepholes the gates see the cell beside them, the output gate the new one.

The truncated gradient (Gers et al.): an error that leaves a cell through y_{t-1} is cut off, and goes on inside of the
cell alone, where it is multiplied by the forget gate at each step. Graves takes the whole gradient.

Shapes: N rows, E input size, H cells, B blocks, H/B cells a block.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.decoder_loop import State
from hf_attention_zoo.recurrent.lstm_cell import lstm_cell
from hf_attention_zoo.recurrent.stepped_lstm import LayerVectors


class ForgettingBlocks(nn.Module):
    """One layer of memory cell blocks with forget gates.

    Args:
        input_size: E; None for words that are one-hot vectors, so that W x_t is a row of a table, looked up before.
        hidden_size: H.
        block_size: cells of a block, a divisor of H; 1 with peepholes.
        truncated: whether errors end where they leave the cells.
        peephole: whether gates see their cell.
    """

    gate_order = "ifo"  # of `gate_bias`

    def __init__(
        self,
        input_size: int | None,
        hidden_size: int,
        block_size: int = 1,
        truncated: bool = True,
        peephole: bool = False,
    ) -> None:
        super().__init__()
        self.hidden_size, self.block_size, self.truncated = hidden_size, block_size, truncated
        self.gates = 3 * (hidden_size // block_size)
        self.width = self.gates + hidden_size  # of W x_t: the gates of each block, then the cells
        self.input_projection: nn.Module = (
            nn.Identity() if input_size is None else nn.Linear(input_size, self.width, bias=False)
        )  # W_g and W_c
        self.gate_projection = nn.Linear(hidden_size, self.gates, bias=False)  # R_g
        self.gate_bias = nn.Parameter(torch.zeros(self.gates))  # b_g
        self.cell_projection = nn.Linear(hidden_size, hidden_size)  # R_c, b_c
        self.peepholes = LayerVectors(int(peephole), (3, hidden_size))  # of i, f, o

    def zero_state(self, like: Tensor) -> State:
        """Cells and outputs before the first word, 0: for the rows of `like` (N, ...)."""
        return {name: like.new_zeros(like.shape[0], self.hidden_size) for name in ("hidden", "cell")}

    def forward(self, projected: Tensor, state: State) -> State:
        """One step: W x_t (N, 3B + H), y and c (N, H) -> the next two."""
        outputs = state["hidden"].detach() if self.truncated else state["hidden"]
        to_gates, to_cells = projected.split((self.gates, self.hidden_size), dim=-1)
        gates = to_gates + self.gate_projection(outputs) + self.gate_bias
        i, f, o = gates.repeat_interleave(self.block_size, dim=-1).chunk(3, dim=-1)  # (N, H) each
        g = to_cells + self.cell_projection(outputs)
        peephole = self.peepholes()[0] if len(self.peepholes) else None
        hidden, cell = lstm_cell(torch.cat([i, f, g, o], dim=-1), state["cell"], peephole)
        return {"hidden": hidden, "cell": cell}
