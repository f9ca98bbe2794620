"""The twin of `lstm_cell.lstm_cell_reference`: one step with its backward written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.loops.weight_tape import WeightTape

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input


tanh_backward = torch.ops.aten.tanh_backward.grad_input


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
