"""The long short-term memory cell, from the sums inside its gates to its next state.

Shapes: N rows, H cells. Gate order in every stacked matrix (that of torch.nn.LSTM): i (input), f (forget),
g (candidate), o (output).

    c' = sigmoid(f) c + sigmoid(i) tanh(g)
    h' = sigmoid(o) tanh(c')

With peepholes (Graves 2013) the input and forget gates also see p_i c and p_f c, the output gate p_o c'.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def lstm_cell_reference(gates: Tensor, cell: Tensor, peephole: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The formulas as they stand: (N, 4H), (N, H) and, with peepholes, (3, H) for i, f, o -> h', c' (N, H)."""
    enter, forget, candidate, leave = gates.chunk(4, dim=-1)
    if peephole is not None:
        enter, forget = enter + peephole[0] * cell, forget + peephole[1] * cell
    new_cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
    if peephole is not None:
        leave = leave + peephole[2] * new_cell
    return (torch.sigmoid(leave) * torch.tanh(new_cell)).to(gates.dtype), new_cell


class _FusedCell(torch.autograd.Function):
    """The cell without peepholes, with its derivative written out: a third of the operations that autograd records.

    With a = dL/dh' and b = dL/dc' + a o (1 - tanh(c')^2), the gradients inside the gates are
    b g i (1 - i),  b c f (1 - f),  b i (1 - g^2),  a tanh(c') o (1 - o);  that of c is b f.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        size = cell.shape[-1]
        opened = torch.sigmoid(gates)
        torch.tanh(gates[:, 2 * size : 3 * size], out=opened[:, 2 * size : 3 * size])
        enter, forget, candidate, leave = opened.chunk(4, dim=-1)
        new_cell = torch.addcmul(forget * cell, enter, candidate)
        squashed = torch.tanh(new_cell)
        ctx.save_for_backward(opened, cell, squashed)
        return (leave * squashed).to(gates.dtype), new_cell

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor, grad_cell: Tensor) -> tuple[Tensor, Tensor]:
        opened, cell, squashed = ctx.saved_tensors
        size = cell.shape[-1]
        enter, forget, candidate, leave = opened.chunk(4, dim=-1)
        through = grad_hidden * leave  # to tanh(c')
        total = through.addcmul(through * squashed, squashed, value=-1).add_(grad_cell)  # b, dL/dc' in all
        slope = opened * (1 - opened)  # of the three sigmoids
        torch.addcmul(opened.new_ones(()), candidate, candidate, value=-1, out=slope[:, 2 * size : 3 * size])
        outer = torch.cat([total * candidate, total * cell, total * enter, grad_hidden * squashed], dim=-1)
        return (outer * slope).to(opened.dtype), (total * forget).to(cell.dtype)


def lstm_cell(gates: Tensor, cell: Tensor, peephole: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """One step: sums inside the gates (N, 4H) and the old cell (N, H) -> new hidden state and cell, (N, H) each.

    The cell keeps its own dtype, so that it may stay in float32 where products are taken in half precision.
    """
    if peephole is None and torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return _FusedCell.apply(gates, cell)
    return lstm_cell_reference(gates, cell, peephole)
