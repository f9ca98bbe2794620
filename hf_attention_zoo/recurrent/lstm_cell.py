"""The long short-term memory cell, from the sums inside its gates to its next state.

Shapes: N rows, H cells. Gate order in every stacked matrix (that of torch.nn.LSTM): i (input), f (forget),
g (candidate), o (output).

    c' = sigmoid(f) c + sigmoid(i) tanh(g)
    h' = sigmoid(o) tanh(c')

The sums W x + U h + b stand in `stepped_lstm.py` and `context_lstm.py`. With peepholes (Graves 2013) the input and
forget gates also see p_i c and p_f c, the output gate p_o c'.
"""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_cell(gates: Tensor, cell: Tensor, peephole: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """One step: sums inside the gates (N, 4H), c (N, H) and, with peepholes, (3, H) for i, f, o -> h', c' (N, H).

    The cell keeps its own dtype, so that it may stay in float32 where products are taken in half precision.
    """
    i, f, g, o = gates.chunk(4, dim=-1)
    if peephole is not None:
        i, f = i + peephole[0] * cell, f + peephole[1] * cell
    new_cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    if peephole is not None:
        o = o + peephole[2] * new_cell
    return (torch.sigmoid(o) * torch.tanh(new_cell)).to(gates.dtype), new_cell.to(cell.dtype)
