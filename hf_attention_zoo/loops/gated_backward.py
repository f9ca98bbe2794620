"""The gated unit with its backward written out: the twin of `gated_unit.GatedUnit.forward` behind its projections.

Autograd keeps and sums many small tensors a step; here a step keeps its gates and the candidate, and gradients of the
weights are formed once for all steps. Shapes as in `gated_unit`; a leading axis D is allowed everywhere in the
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

from hf_attention_zoo.loops.weight_tape import WeightTape

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
    projected: Tensor,
    hidden: Tensor,
    gates: Tensor,
    candidate: Tensor,
    reset_bias: Tensor | None,
    form: GatedForm,
    opened: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """One step: W x (..., B, 3H), h (..., B, H) -> h' and, with the reset after the product, U h + b (..., B, H).

    Args:
        opened: (..., B, 3H), is filled with z, r and the candidate; may be `projected`.
    """
    size = hidden.shape[-1]
    torch.sigmoid(plus_product(projected[..., : 2 * size], hidden, gates.mT), out=opened[..., : 2 * size])
    update, reset, proposed = opened[..., :size], opened[..., size : 2 * size], opened[..., 2 * size :]
    product = None
    if form.reset == "before":
        inside = plus_product(projected[..., 2 * size :], reset * hidden, candidate.mT)
    else:
        product = hidden @ candidate.mT
        if reset_bias is not None:
            product += reset_bias
        inside = torch.addcmul(projected[..., 2 * size :], reset, product)
    torch.tanh(inside, out=proposed)
    if form.update == "new":
        return torch.lerp(hidden, proposed, update), product
    return torch.lerp(proposed, hidden, update), product


def backward_step(
    grad: Tensor,
    hidden: Tensor,
    opened: Tensor,
    product: Tensor | None,
    gates: Tensor,
    candidate: Tensor,
    form: GatedForm,
    grad_projected: Tensor,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """d loss / d h' -> d loss / d h (..., B, H), and input and output gradient of the product with U.

    Args:
        hidden: (..., B, H) h.
        opened, product: as `forward_step` left them.
        grad_projected: (..., B, 3H), is filled with d loss / d (W x).
    """
    size = hidden.shape[-1]
    update, reset, proposed = opened[..., :size], opened[..., size : 2 * size], opened[..., 2 * size :]
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
    if form.reset == "before":
        grad_inner = inside @ candidate  # d loss / d (r h)
        grad_hidden.addcmul_(grad_inner, reset)
        grad_reset = grad_inner.mul_(hidden)
        of_candidate = (reset * hidden, inside)
    else:
        if product is None:
            raise ValueError("a reset after the product needs U h + b of the step, which `forward_step` gives")
        grad_product = inside * reset
        grad_hidden = plus_product(grad_hidden, grad_product, candidate)
        grad_reset = inside * product
        of_candidate = (hidden, grad_product)
    sigmoid_backward(grad_update, update, grad_input=grad_projected[..., :size])
    sigmoid_backward(grad_reset, reset, grad_input=grad_projected[..., size : 2 * size])
    return plus_product(grad_hidden, grad_projected[..., : 2 * size], gates), of_candidate


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
        opened = torch.empty_like(projected)
        state, product = forward_step(projected, hidden, gates, candidate, reset_bias, form, opened)
        ctx.save_for_backward(hidden, opened, product, gates, candidate)
        ctx.form, ctx.tape, ctx.inside = form, tape, None if reset_bias is None else reset_bias.shape
        return state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, opened, product, gates, candidate = ctx.saved_tensors
        size = hidden.shape[-1]
        grad_projected = torch.empty_like(opened)
        grad_hidden, of_candidate = backward_step(
            grad, hidden, opened, product, gates, candidate, ctx.form, grad_projected
        )
        if ctx.needs_input_grad[2]:
            ctx.tape.record(gates, hidden, grad_projected[:, : 2 * size])
        if ctx.needs_input_grad[3]:
            ctx.tape.record(candidate, *of_candidate)
        grad_bias = of_candidate[1].sum_to_size(ctx.inside) if ctx.needs_input_grad[4] else None
        return grad_projected, grad_hidden, None, None, grad_bias, None, None


def forward_run(
    projected: Tensor,
    start: Tensor,
    gates: Tensor,
    candidate: Tensor,
    inside: Tensor | None,
    form: GatedForm,
    opened: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """All steps: (D, T, B, 3H), h_0 (D, B, H) -> states and, with the reset after the product, U h + b, (D, T, B, H).

    Args:
        inside: (D, B, H), what stands inside the reset beside U h; or None.
        opened: (D, T, B, 3H), is filled with z, r and the candidate; may be `projected`.
    """
    states = projected.new_empty(*projected.shape[:3], start.shape[-1])
    products = torch.empty_like(states) if form.reset == "after" else None
    hidden = start
    for t in range(projected.shape[1]):
        hidden, product = forward_step(projected[:, t], hidden, gates, candidate, inside, form, opened[:, t])
        states[:, t] = hidden
        if products is not None and product is not None:
            products[:, t] = product
    return states, products


class RunGradients(NamedTuple):
    """What `backward_run` gives; those of the weights are None where they are not wanted."""

    projected: Tensor  # (D, T, B, 3H)
    start: Tensor  # (D, B, H)
    gates: Tensor | None
    candidate: Tensor | None
    inside: Tensor | None  # (D, B, H)


def backward_run(
    grad: Tensor,
    start: Tensor,
    states: Tensor,
    opened: Tensor,
    products: Tensor | None,
    gates: Tensor,
    candidate: Tensor,
    form: GatedForm,
    wanted: tuple[bool, ...],
) -> RunGradients:
    """d loss / d states (D, T, B, H) -> the rest; `wanted` is for gates, candidate and inside."""
    size = start.shape[-1]
    grad_projected = torch.empty_like(opened)
    varying = torch.empty_like(states)  # of the product with U, what is not at hand: r h, or d loss / d (U h + b)
    after = form.reset == "after"
    grad_hidden = torch.zeros_like(start)
    for t in reversed(range(states.shape[1])):
        grad_hidden, of_candidate = backward_step(
            grad_hidden.add_(grad[:, t]),
            states[:, t - 1] if t else start,
            opened[:, t],
            None if products is None else products[:, t],
            gates,
            candidate,
            form,
            grad_projected[:, t],
        )
        varying[:, t] = of_candidate[1 if after else 0]
    grad_gates = grad_candidate = None
    if wanted[0]:
        grad_gates = _recurrent_products(grad_projected[..., : 2 * size], start, states)
    if wanted[1] and after:
        grad_candidate = _recurrent_products(varying, start, states)
    elif wanted[1]:
        grad_candidate = _products(grad_projected[..., 2 * size :], varying)
    return RunGradients(grad_projected, grad_hidden, grad_gates, grad_candidate, varying.sum(1) if wanted[2] else None)


class GatedSequence(torch.autograd.Function):
    """A run whose inputs are projected already.

    W x + b (D, T, B, 3H), h_0 (D, B, H), U_z and U_r (D, 2H, H), U (D, H, H), what stands inside the reset (D, B, H)
    or None -> states (D, T, B, H).
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        start: Tensor,
        gates: Tensor,
        candidate: Tensor,
        inside: Tensor | None,
        form: GatedForm,
    ) -> Tensor:
        opened = projected.new_empty(projected.shape)
        states, products = forward_run(projected, start, gates, candidate, inside, form, opened)
        ctx.save_for_backward(start, states, opened, products, gates, candidate)
        ctx.form = form
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        start, states, opened, products, gates, candidate = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2:5]
        return *backward_run(grad, start, states, opened, products, gates, candidate, ctx.form, wanted), None


class GatedLayer(torch.autograd.Function):
    """A run with the projection of its inputs; the gates take the place of the projected inputs.

    Inputs x (D, T B, I), W (D, 3H, I), b (D, 1, 3H) or None, the rest as in `GatedSequence`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        input_weight: Tensor,
        bias: Tensor | None,
        start: Tensor,
        gates: Tensor,
        candidate: Tensor,
        inside: Tensor | None,
        form: GatedForm,
    ) -> Tensor:
        units, rows, size = start.shape
        projected = project(inputs, input_weight, bias).view(units, -1, rows, 3 * size)
        states, products = forward_run(projected, start, gates, candidate, inside, form, opened=projected)
        ctx.save_for_backward(inputs, input_weight, start, states, projected, products, gates, candidate)
        ctx.form = form
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        inputs, input_weight, start, states, opened, products, gates, candidate = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        back = backward_run(grad, start, states, opened, products, gates, candidate, ctx.form, wanted[4:7])
        flat = back.projected.flatten(1, 2)  # (D, T B, 3H)
        grad_inputs = torch.bmm(flat, input_weight) if wanted[0] else None
        grad_weight = torch.bmm(flat.mT, inputs) if wanted[1] else None
        grad_bias = flat.sum(1, keepdim=True) if wanted[2] else None
        return grad_inputs, grad_weight, grad_bias, *back[1:], None


def project(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """W x + b of D units: (D, N, I), (D, K, I), (D, 1, K) -> (D, N, K)."""
    return torch.bmm(inputs, weight.mT) if bias is None else torch.baddbmm(bias, inputs, weight.mT)


def _recurrent_products(grads: Tensor, start: Tensor, states: Tensor) -> Tensor:
    """`_products` with the states before each step: h_0, then all states but the last."""
    return torch.baddbmm(_products(grads[:, 1:], states[:, :-1]), grads[:, 0].mT, start)


def _products(grads: Tensor, inputs: Tensor) -> Tensor:
    """sum over steps and rows of grad^T input: (D, T, B, out), (D, T, B, in) -> (D, out, in)."""
    return torch.stack([g.flatten(0, 1).t() @ x.flatten(0, 1) for g, x in zip(grads, inputs, strict=True)])
