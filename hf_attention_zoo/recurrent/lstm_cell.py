"""The long short-term memory cell, from the sums inside its gates to its next state.

Shapes: N rows, H cells. Gate order in every stacked matrix (that of torch.nn.LSTM): i (input), f (forget),
g (candidate), o (output).

    c' = sigmoid(f) c + sigmoid(i) tanh(g)
    h' = sigmoid(o) tanh(c')

With peepholes (Graves 2013) the input and forget gates also see p_i c and p_f c, the output gate p_o c'.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hf_attention_zoo.loops.lstm_backward import _FusedStep, sum_of_products
from hf_attention_zoo.loops.weight_tape import WeightTape, step_linear


def lstm_cell_reference(gates: Tensor, cell: Tensor, peephole: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The formulas as they stand: (N, 4H), (N, H) and, with peepholes, (3, H) for i, f, o -> h', c' (N, H)."""
    enter, forget, candidate, leave = gates.chunk(4, dim=-1)
    if peephole is not None:
        enter, forget = enter + peephole[0] * cell, forget + peephole[1] * cell
    new_cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
    if peephole is not None:
        leave = leave + peephole[2] * new_cell
    return (torch.sigmoid(leave) * torch.tanh(new_cell)).to(gates.dtype), new_cell


def lstm_cell(gates: Tensor, cell: Tensor, peephole: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """One step: sums inside the gates (N, 4H) and the old cell (N, H) -> new hidden state and cell, (N, H) each.

    The cell keeps its own dtype, so that it may stay in float32 where products are taken in half precision.
    """
    if peephole is None and torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return _FusedStep.apply(gates, cell, None)
    return lstm_cell_reference(gates, cell, peephole)


def lstm_step(
    before: Tensor | None,
    products: Sequence[tuple[Tensor, Tensor]],
    cell: Tensor,
    peephole: Tensor | None,
    tape: WeightTape | None,
) -> tuple[Tensor, Tensor]:
    """One step of one layer: W x + U h + b, then the cell.

    Args:
        before: (N, 4H) what is known of the sum before the loop, or None.
        products: what is not: inputs (N, in) and weights (4H, in), opened on the tape if there is one.
        cell: (N, H) c.
        peephole: as in `lstm_cell_reference`.
        tape: from the loop; None where nothing is recorded.

    Returns:
        h' and c', (N, H) each.
    """
    pairs = [tensor for inputs, weight in products for tensor in (inputs.to(weight.dtype), weight)]
    if tape is None:
        return lstm_cell(sum_of_products(before, *pairs), cell, peephole)
    before = None if before is None else before.to(pairs[1].dtype)
    if peephole is None:
        return _FusedStep.apply(before, cell, tape, *pairs)
    gates = sum(step_linear(inputs, weight, tape) for inputs, weight in zip(pairs[::2], pairs[1::2], strict=True))
    return lstm_cell(gates if before is None else gates + before, cell, peephole)
