"""The twins of `recurrent.lstm_cell.lstm_cell` and of the steps made of it, with their backward written out.

Shapes as there: N rows, H cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.loops.weight_tape import WeightTape

if TYPE_CHECKING:
    from hf_attention_zoo.recurrent.context_lstm import ContextLSTM
    from hf_attention_zoo.recurrent.stacked_lstm import StackedLSTM

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
    if total is None:
        raise ValueError("a sum of no products and nothing before has no shape; give one of them")
    return total


def lstm_step(
    before: Tensor | None, products: Sequence[tuple[Tensor, Tensor]], cell: Tensor, tape: WeightTape | None
) -> tuple[Tensor, Tensor]:
    """One step of one layer: W x + U h + b, then the cell.

    Args:
        before: (N, 4H) what is known of the sum before the loop, (4H) or None.
        products: what is not: inputs (N, in) and weights (4H, in), opened on the tape if there is one.
        cell: (N, H) c.
        tape: of the loop; None where nothing is recorded.

    Returns:
        h' and c', (N, H) each.
    """
    pairs = [tensor for inputs, weight in products for tensor in (inputs.to(weight.dtype), weight)]
    if tape is not None:
        return _FusedStep.apply(None if before is None else before.to(pairs[1].dtype), cell, tape, *pairs)
    gates = sum_of_products(before, *pairs)
    hidden, new_cell, _ = cell_forward(gates.to(cell.dtype, copy=gates is before), cell)
    return hidden.to(gates.dtype), new_cell


def project_inputs(unit: ContextLSTM, inputs: Tensor) -> Tensor:
    """W x + b of a `ContextLSTM` for all steps at once: (N, T, E) -> (N, T, 4H)."""
    return functional.linear(inputs, unit.input_weight, unit.bias)


class ContextLoop:
    """The twin of `ContextLSTM.forward` in a loop: it finds W x + b in the place of x."""

    def __init__(self, unit: ContextLSTM, tape: WeightTape | None) -> None:
        self.recurrent: Tensor = unit.recurrent_weight if tape is None else tape.open(unit.recurrent_weight)
        self.context: Tensor = unit.context_weight if tape is None else tape.open(unit.context_weight)
        self.tape = tape

    def __call__(self, projected: Tensor, context: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        return lstm_step(projected, [(hidden, self.recurrent), (context, self.context)], cell, self.tape)


def project_first_layer(stack: StackedLSTM, inputs: Tensor) -> Tensor:
    """W x + b of the first layer of a `StackedLSTM` for all steps at once: (N, T, I) -> (N, T, 4H)."""
    library = stack.library
    return functional.linear(inputs, library.weight_ih_l0, library.layer_bias(0, list(stack.gate_biases.parameters())))


class StackLoop:
    """The twin of `StackedLSTM.forward` in a loop, without peepholes: it finds W x + b in the place of x."""

    def __init__(self, stack: StackedLSTM, tape: WeightTape | None) -> None:
        self.stack, self.tape = stack, tape
        library, biases = stack.library, list(stack.gate_biases.parameters())

        def opened(weight: Tensor) -> Tensor:
            return weight if tape is None else tape.open(weight)

        layers = range(library.num_layers)
        self.inputs = {k: opened(getattr(library, f"weight_ih_l{k}")) for k in layers if k}
        self.recurrent = [opened(getattr(library, f"weight_hh_l{k}")) for k in layers]
        self.bias = [library.layer_bias(k, biases) for k in layers]
        self.feed = None if stack.feed_weight is None else opened(stack.feed_weight)

    def __call__(
        self, projected: Tensor, state: dict[str, Tensor], feed: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """W x + b (N, 4H), the state and the fed-back vector (N, F) -> the top hidden state and the next state."""
        following = {}
        hidden = projected
        for k, recurrent in enumerate(self.recurrent):
            products = [(state[f"hidden_{k}"], recurrent)]
            if k:
                below = functional.dropout(hidden, self.stack.dropout, self.stack.training)
                products.append((below, self.inputs[k]))
            elif feed is not None:
                if self.feed is None:
                    raise ValueError(self.stack.no_feed)
                products.append((feed, self.feed))
            before = self.bias[k] if k else projected
            hidden, following[f"cell_{k}"] = lstm_step(before, products, state[f"cell_{k}"], self.tape)
            following[f"hidden_{k}"] = hidden
        return hidden, following
