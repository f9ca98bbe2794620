"""The twin of `projected_lstm`: its recurrence with the backward written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.loops.weight_tape import in_autocast_dtype

if TYPE_CHECKING:
    from hf_attention_zoo.recurrent.projected_lstm import ProjectedLSTM

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


def _clipped(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp_(-limit, limit)


class _ProjectedRun(torch.autograd.Function):
    """The recurrence over tokens whose inputs are projected already.

    W x + b (2, N, 4C) in reading order, U (2, 4C, P), P (2, P, C), h_0 (2, R, P) and c_0 (2, R, C), longest row first
    -> states (2, N, P) in reading order, and the cells (2, N, C), which take no gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        recurrent: Tensor,
        projection: Tensor,
        hidden: Tensor,
        cell: Tensor,
        step_sizes: list[int],
        clips: tuple[float | None, float | None],
    ) -> tuple[Tensor, Tensor]:
        _, count, width = projected.shape
        size = width // 4
        opened = torch.empty_like(projected)
        cells = projected.new_empty(2, count, size)
        states = projected.new_empty(2, count, projection.shape[1])
        start_state, start_cell = hidden, cell
        upwards, outwards = recurrent.mT, projection.mT
        start = 0
        for reading in step_sizes:
            step = slice(start, start + reading)
            gates, now = opened[:, step], cells[:, step]
            torch.baddbmm(projected[:, step], hidden[:, :reading], upwards, out=gates)
            candidate = torch.tanh(gates[..., 2 * size : 3 * size])
            gates.sigmoid_()[..., 2 * size : 3 * size] = candidate
            enter, forget, _, leave = gates.chunk(4, dim=-1)
            torch.mul(forget, cell[:, :reading], out=now)
            _clipped(now.addcmul_(enter, candidate), clips[0])
            cell = now
            hidden = _clipped(torch.bmm(leave * torch.tanh(now), outwards), clips[1])
            states[:, step] = hidden
            start += reading
        ctx.save_for_backward(opened, cells, states, recurrent, projection, start_state, start_cell)
        ctx.step_sizes, ctx.clips = step_sizes, clips
        ctx.mark_non_differentiable(cells)
        return states, cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        opened, cells, states, recurrent, projection, start_state, start_cell = ctx.saved_tensors
        size, sizes = cells.shape[-1], ctx.step_sizes
        cell_clip, state_clip = ctx.clips
        grad_gates = torch.empty_like(opened)
        of_states = grad.clone()  # becomes d loss / d (P m), m what the output gate lets through
        grad_hidden, grad_cell = torch.zeros_like(start_state), torch.zeros_like(start_cell)
        start = states.shape[1]
        for t in reversed(range(len(sizes))):
            reading = sizes[t]
            start -= reading
            step = slice(start, start + reading)
            here = of_states[:, step]
            here += grad_hidden[:, :reading]
            if state_clip is not None:
                here.masked_fill_(states[:, step].abs() >= state_clip, 0.0)
            now = cells[:, step]
            squashed = torch.tanh(now)
            enter, forget, candidate, leave = opened[:, step].chunk(4, dim=-1)
            inside = grad_gates[:, step].chunk(4, dim=-1)
            through = torch.bmm(here, projection)  # d loss / d m
            sigmoid_backward(through * squashed, leave, grad_input=inside[3])
            total = tanh_backward(through * leave, squashed, grad_input=torch.empty_like(now))
            total += grad_cell[:, :reading]
            if cell_clip is not None:
                total.masked_fill_(now.abs() >= cell_clip, 0.0)
            earlier = start - sizes[t - 1]
            before = cells[:, earlier : earlier + reading] if t else start_cell
            sigmoid_backward(total * candidate, enter, grad_input=inside[0])
            sigmoid_backward(total * before, forget, grad_input=inside[1])
            tanh_backward(total * enter, candidate, grad_input=inside[2])
            grad_cell[:, :reading] = total.mul_(forget)
            grad_hidden[:, :reading] = torch.bmm(grad_gates[:, step], recurrent)
        grad_recurrent = grad_projection = None
        if ctx.needs_input_grad[1]:
            earlier_states = torch.cat([start_state, states[:, _previous(sizes, states.device)]], dim=1)
            grad_recurrent = torch.bmm(grad_gates.mT, earlier_states)
        if ctx.needs_input_grad[2]:
            let_through = opened[..., 3 * size :] * torch.tanh(cells)
            grad_projection = torch.bmm(of_states.mT, let_through)
        return grad_gates, grad_recurrent, grad_projection, grad_hidden, grad_cell, None, None


def _previous(step_sizes: list[int], device: torch.device) -> Tensor:
    """The place read just before, in its row, for every place after the first step."""
    sizes = torch.tensor(step_sizes, device=device)
    places = torch.arange(int(sizes.sum()), device=device)
    return places[step_sizes[0] :] - sizes[:-1].repeat_interleave(sizes[1:])


def run_projected(
    units: Sequence[ProjectedLSTM],
    forget_bias: float,
    inputs: Tensor,
    which: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    step_sizes: list[int],
) -> tuple[Tensor, Tensor]:
    """The twin of both directions' steps, whose inputs are projected at once, each different vector once.

    Args:
        units: the two `ProjectedLSTM`.
        forget_bias: what stands beside f.
        inputs, which: (2, N, I) and None, or (U, I) and (2, N).
        hidden, cell: (2, R, P) and (2, R, C), longest row first.
        step_sizes: rows that have a token at each step.

    Returns:
        States (2, N, P) and cells (2, N, C).
    """
    size = units[0].cell_size
    offset = torch.zeros_like(units[0].bias, requires_grad=False)
    offset[size : 2 * size] = forget_bias
    biases = [in_autocast_dtype(unit.bias + offset) for unit in units]
    weights = [in_autocast_dtype(unit.input_weight) for unit in units]
    if which is None:
        weight = torch.stack(weights)
        projected = torch.baddbmm(torch.stack(biases)[:, None], inputs.to(weight.dtype), weight.mT)
    else:
        tables = [functional.linear(inputs, weight, bias) for weight, bias in zip(weights, biases, strict=True)]
        projected = torch.stack([functional.embedding(*pair) for pair in zip(which, tables, strict=True)])
    recurrent, projection = (
        torch.stack([getattr(unit, name) for unit in units]).to(projected.dtype)
        for name in ("recurrent_weight", "projection_weight")
    )
    start = (hidden.to(projected.dtype), cell.to(projected.dtype))
    return _ProjectedRun.apply(projected, recurrent, projection, *start, step_sizes, units[0].clips)
