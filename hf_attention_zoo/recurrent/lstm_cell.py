"""The long short-term memory cell, from the sums inside its gates to its next state.

Shapes: N rows, H cells. Gate order in every stacked matrix (that of torch.nn.LSTM): i (input), f (forget),
g (candidate), o (output).

    c' = sigmoid(f) c + sigmoid(i) tanh(g)
    h' = sigmoid(o) tanh(c')

With peepholes (Graves 2013) the input and forget gates also see p_i c and p_f c, the output gate p_o c'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.recurrent.weight_tape import WeightTape, step_linear

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


def lstm_cell_reference(gates: Tensor, cell: Tensor, peephole: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The formulas as they stand: (N, 4H), (N, H) and, with peepholes, (3, H) for i, f, o -> h', c' (N, H)."""
    enter, forget, candidate, leave = gates.chunk(4, dim=-1)
    if peephole is not None:
        enter, forget = enter + peephole[0] * cell, forget + peephole[1] * cell
    new_cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
    if peephole is not None:
        leave = leave + peephole[2] * new_cell
    return (torch.sigmoid(leave) * torch.tanh(new_cell)).to(gates.dtype), new_cell


def cell_forward(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sums inside the gates (N, 4H), which are overwritten with i, f, g, o, and c -> h', c', tanh(c'), (N, H) each."""
    size = cell.shape[-1]
    candidate = torch.tanh(gates[:, 2 * size : 3 * size])
    gates.sigmoid_()[:, 2 * size : 3 * size] = candidate
    enter, forget, _, leave = gates.chunk(4, dim=-1)
    new_cell = torch.addcmul(forget * cell, enter, candidate)
    squashed = torch.tanh(new_cell)
    return leave * squashed, new_cell, squashed


def cell_backward(
    grad_hidden: Tensor, grad_cell: Tensor, opened: Tensor, cell: Tensor, squashed: Tensor
) -> tuple[Tensor, Tensor]:
    """The derivative written out: a third of the operations that autograd records.

    With a = dL/dh' and b = dL/dc' + a o (1 - tanh(c')^2), the gradients inside the gates are
    b g i (1 - i),  b c f (1 - f),  b i (1 - g^2),  a tanh(c') o (1 - o);  that of c is b f.

    Args:
        grad_hidden, grad_cell: (N, H).
        opened, squashed: what `cell_forward` left in `gates`, and tanh(c').
        cell: (N, H) c.

    Returns:
        dL/d gates (N, 4H) and dL/dc (N, H).
    """
    enter, forget, candidate, leave = opened.chunk(4, dim=-1)
    grad_gates = torch.empty_like(opened)
    inside = grad_gates.chunk(4, dim=-1)
    total = tanh_backward(grad_hidden * leave, squashed, grad_input=torch.empty_like(cell)).add_(grad_cell)  # b
    sigmoid_backward(total * candidate, enter, grad_input=inside[0])
    sigmoid_backward(total * cell, forget, grad_input=inside[1])
    tanh_backward(total * enter, candidate, grad_input=inside[2])
    sigmoid_backward(grad_hidden * squashed, leave, grad_input=inside[3])
    return grad_gates, total.mul_(forget)


class _FusedStep(torch.autograd.Function):
    """One layer's step: gates = before + sum of products, then the cell. Weights' gradients go on the tape."""

    @staticmethod
    def forward(
        ctx: Any, before: Tensor | None, cell: Tensor, tape: WeightTape | None, *pairs: Tensor
    ) -> tuple[Tensor, Tensor]:
        gates = sum_of_products(before, *pairs)
        opened = gates.to(cell.dtype)  # the cell may be wider than the products
        opened = opened.clone() if opened is before else opened
        hidden, new_cell, squashed = cell_forward(opened, cell)
        ctx.save_for_backward(opened, cell, squashed, *pairs)
        ctx.tape, ctx.dtype, ctx.shared = tape, gates.dtype, before is not None and before.dim() == 1
        return hidden.to(gates.dtype), new_cell

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor, grad_cell: Tensor) -> tuple[Tensor | None, ...]:
        opened, cell, squashed, *pairs = ctx.saved_tensors
        grad_gates, grad_old = cell_backward(grad_hidden.to(cell.dtype), grad_cell, opened, cell, squashed)
        grad_gates = grad_gates.to(ctx.dtype)
        grads: list[Tensor | None] = [None, grad_old, None]
        if ctx.needs_input_grad[0]:
            grads[0] = grad_gates.sum(0) if ctx.shared else grad_gates
        for k in range(0, len(pairs), 2):
            inputs, weight = pairs[k : k + 2]
            if ctx.needs_input_grad[3 + k + 1]:
                ctx.tape.record(weight, inputs, grad_gates)
            grads += [grad_gates @ weight if ctx.needs_input_grad[3 + k] else None, None]
        return tuple(grads)


def sum_of_products(before: Tensor | None, *pairs: Tensor) -> Tensor:
    """before (N, K), (K) or None, then inputs (N, in), weight (K, in) in turn -> before + sum of inputs weight^T."""
    total = before
    for inputs, weight in zip(pairs[::2], pairs[1::2], strict=True):
        if total is None:
            total = functional.linear(inputs, weight)
        elif total is before or total.dtype != weight.dtype:  # the latter in an autocast region
            total = torch.addmm(total, inputs, weight.t())
        else:
            total.addmm_(inputs, weight.t())
    return total


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
