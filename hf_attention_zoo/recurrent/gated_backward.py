"""The gated unit with its backward written out: the fast twin of `gated_unit.gated_step`.

Autograd keeps and sums many small tensors a step; here a step keeps its gates and the candidate, and the gradients of
the weights are formed once for all steps. Shapes as in `gated_unit`; a leading axis D is allowed everywhere in the
step, for several units that run side by side (both directions of an encoder: one batched product for the two).

With a step h' = (1 - z) h + z c, c = tanh(p + U (r h)) and g = d loss / d h' (update="new", reset="before"):
    dc = g z,   dz = g (c - h),   dh = g - dc + ...
    dp = dc (1 - c^2),   d(r h) = U^T dp,   dr = d(r h) h,   and the sigmoids' own slopes for what is inside z and r.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hf_attention_zoo.recurrent.weight_tape import WeightTape

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


class GatedForm(NamedTuple):
    """Which of the four gated units it is."""

    reset: str  # "before" or "after"
    update: str  # "new" or "keep"


def plus_product(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """total + left right, of matrices or of batches of them."""
    return torch.baddbmm(total, left, right) if left.dim() == 3 else torch.addmm(total, left, right)


def forward_step(
    projected: Tensor, hidden: Tensor, gates: Tensor, candidate: Tensor, reset_bias: Tensor | None, form: GatedForm
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """One step: W x (..., B, 3H), h (..., B, H) -> h' and what the backward step wants.

    That is z and r (..., B, 2H), the candidate (..., B, H), and r * h or, with the reset after the product, U h + b.
    """
    size = hidden.shape[-1]
    opened = plus_product(projected[..., : 2 * size], hidden, gates.mT).sigmoid_()
    update, reset = opened[..., :size], opened[..., size:]
    if form.reset == "before":
        inner = reset * hidden
        proposed = plus_product(projected[..., 2 * size :], inner, candidate.mT).tanh_()
    else:
        inner = hidden @ candidate.mT
        if reset_bias is not None:
            inner += reset_bias
        proposed = torch.addcmul(projected[..., 2 * size :], reset, inner).tanh_()
    if form.update == "new":
        state = torch.lerp(hidden, proposed, update)
    else:
        state = torch.lerp(proposed, hidden, update)
    return state, (opened, proposed, inner)


def backward_step(
    grad: Tensor,
    hidden: Tensor,
    kept: tuple[Tensor, Tensor, Tensor],
    gates: Tensor,
    candidate: Tensor,
    form: GatedForm,
    grad_projected: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """d loss / d h' -> d loss / d h and, with the reset after the product, d loss / d (U h + b), both (..., B, H).

    Args:
        grad_projected: (..., B, 3H), is filled with d loss / d (W x).
    """
    opened, proposed, inner = kept
    size = hidden.shape[-1]
    update, reset = opened[..., :size], opened[..., size:]
    if form.update == "new":
        grad_proposed = grad * update
        grad_hidden = grad - grad_proposed
        grad_update = (proposed - hidden).mul_(grad)
    else:
        grad_hidden = grad * update
        grad_proposed = grad - grad_hidden
        grad_update = (hidden - proposed).mul_(grad)
    inside = grad_projected[..., 2 * size :]
    tanh_backward(grad_proposed, proposed, grad_input=inside)
    grad_product = None
    if form.reset == "before":
        grad_inner = inside @ candidate
        grad_hidden.addcmul_(grad_inner, reset)
        grad_reset = grad_inner.mul_(hidden)
    else:
        grad_product = inside * reset
        grad_hidden = plus_product(grad_hidden, grad_product, candidate)
        grad_reset = inside * inner
    sigmoid_backward(grad_update, update, grad_input=grad_projected[..., :size])
    sigmoid_backward(grad_reset, reset, grad_input=grad_projected[..., size : 2 * size])
    return plus_product(grad_hidden, grad_projected[..., : 2 * size], gates), grad_product


class GatedStep(torch.autograd.Function):
    """One step of one unit inside a decoder's loop; weights are shared by the steps (see `weight_tape`)."""

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        hidden: Tensor,
        gates: Tensor,
        candidate: Tensor,
        reset_bias: Tensor | None,
        form: GatedForm,
        tape: WeightTape,
    ) -> Tensor:
        state, kept = forward_step(projected, hidden, gates, candidate, reset_bias, form)
        ctx.save_for_backward(hidden, gates, candidate, *kept)
        ctx.form, ctx.tape = form, tape
        return state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, gates, candidate, *kept = ctx.saved_tensors
        size = hidden.shape[-1]
        grad_projected = grad.new_empty(*grad.shape[:-1], 3 * size)
        grad_hidden, grad_product = backward_step(
            grad, hidden, tuple(kept), gates, candidate, ctx.form, grad_projected
        )
        if ctx.needs_input_grad[2]:
            ctx.tape.record(gates, hidden, grad_projected[:, : 2 * size])
        if ctx.needs_input_grad[3] and grad_product is None:
            ctx.tape.record(candidate, kept[2], grad_projected[:, 2 * size :])
        elif ctx.needs_input_grad[3]:
            ctx.tape.record(candidate, hidden, grad_product)
        grad_bias = grad_product.sum(0) if ctx.needs_input_grad[4] else None
        return grad_projected, grad_hidden, None, None, grad_bias, None, None


class GatedSequence(torch.autograd.Function):
    """All steps of D units side by side, time first.

    W x (D, T, B, 3H), h_0 (D, B, H), weights with a leading D, what stands inside the reset (D, B, H) -> states
    (D, T, B, H).
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        start: Tensor,
        gates: Tensor,
        candidate: Tensor,
        reset_bias: Tensor | None,
        form: GatedForm,
    ) -> Tensor:
        units, steps, rows, _ = projected.shape
        size = start.shape[-1]
        states, proposed, inner = (projected.new_empty(units, steps, rows, size) for _ in range(3))
        opened = projected.new_empty(units, steps, rows, 2 * size)
        hidden = start
        for t in range(steps):
            hidden, kept = forward_step(projected[:, t], hidden, gates, candidate, reset_bias, form)
            states[:, t] = hidden
            opened[:, t], proposed[:, t], inner[:, t] = kept
        ctx.save_for_backward(start, states, opened, proposed, inner, gates, candidate)
        ctx.form = form
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        start, states, opened, proposed, inner, gates, candidate = ctx.saved_tensors
        units, steps, rows, size = states.shape
        grad_projected = states.new_empty(units, steps, rows, 3 * size)
        after = ctx.form.reset == "after"
        grad_products = torch.empty_like(states) if after else None
        grad_hidden = torch.zeros_like(start)
        for t in reversed(range(steps)):
            grad_hidden, grad_product = backward_step(
                grad_hidden.add_(grad[:, t]),
                states[:, t - 1] if t else start,
                (opened[:, t], proposed[:, t], inner[:, t]),
                gates,
                candidate,
                ctx.form,
                grad_projected[:, t],
            )
            if after:
                grad_products[:, t] = grad_product
        grad_gates = grad_candidate = grad_bias = None
        if ctx.needs_input_grad[2]:
            grad_gates = _recurrent_products(grad_projected[..., : 2 * size], start, states)
        if ctx.needs_input_grad[3] and after:
            grad_candidate = _recurrent_products(grad_products, start, states)
        elif ctx.needs_input_grad[3]:
            grad_candidate = _products(grad_projected[..., 2 * size :], inner)
        if ctx.needs_input_grad[4]:
            grad_bias = grad_products.sum(1)
        return grad_projected, grad_hidden, grad_gates, grad_candidate, grad_bias, None


def _recurrent_products(grads: Tensor, start: Tensor, states: Tensor) -> Tensor:
    """`_products` with the states before each step: h_0, then all states but the last."""
    return torch.baddbmm(_products(grads[:, 1:], states[:, :-1]), grads[:, 0].mT, start)


def _products(grads: Tensor, inputs: Tensor) -> Tensor:
    """sum over steps and rows of grad^T input: (D, T, B, out), (D, T, B, in) -> (D, out, in)."""
    return torch.stack([g.flatten(0, 1).t() @ x.flatten(0, 1) for g, x in zip(grads, inputs, strict=True)])
