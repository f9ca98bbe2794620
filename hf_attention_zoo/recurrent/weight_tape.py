"""Weight gradients of a time loop in one product instead of one a step.

A matrix used at T steps has the gradient sum_t g_t^T x_t. Autograd forms it as T products and T - 1 sums of full
matrices; written down on a tape it is one product of the stacked (T B, out) gradients and (T B, in) inputs. Values are
those of plain `torch.nn.functional.linear`, to rounding.

    tape = WeightTape.start(weight)              # None where nothing is recorded
    opened = tape.open(weight)
    for ...: y = step_linear(x, opened, tape)
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional


class WeightTape:
    """Pairs (input, gradient of the output) per opened weight, kept apart for each backward pass."""

    def __init__(self) -> None:
        self._pairs: dict[int, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        self._pass = -1

    @classmethod
    def start(cls, weight: Tensor) -> WeightTape | None:
        """A tape if gradients are being recorded for `weight`, else None (inference, compiling, frozen weights)."""
        recording = torch.is_grad_enabled() and weight.requires_grad and not torch.compiler.is_compiling()
        return cls() if recording else None

    def open(self, weight: Tensor) -> Tensor:
        """The weight as the loop must use it, in the dtype of an autocast region."""
        device = weight.device.type
        if torch.is_autocast_enabled(device):
            weight = weight.to(torch.get_autocast_dtype(device))
        opened = _OpenWeight.apply(weight, self)
        return opened

    def _record(self, key: int, inputs: Tensor, grad: Tensor) -> None:
        # A backward pass that did not ask for this weight leaves its pairs behind: they are not part of the next.
        current = torch._C._current_graph_task_id()
        if current != self._pass:
            self._pairs.clear()
            self._pass = current
        self._pairs[key].append((inputs, grad))

    def _collect(self, key: int) -> list[tuple[Tensor, Tensor]]:
        return self._pairs.pop(key, []) if torch._C._current_graph_task_id() == self._pass else []


class _OpenWeight(torch.autograd.Function):
    """Identity; its backward runs after all steps and forms the one product."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, tape: WeightTape) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.tape, ctx.shape = tape, weight.shape
        opened = weight.view_as(weight)
        ctx.key = weight.data_ptr()
        return opened

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None]:
        pairs = ctx.tape._collect(ctx.key)
        if pairs:
            inputs = torch.cat([x for x, _ in pairs])  # (T B, in)
            grads = torch.cat([g for _, g in pairs])  # (T B, out)
            product = grads.t() @ inputs  # (out, in)
            grad = product if grad is None else grad + product
        return grad, None


class _StepLinear(torch.autograd.Function):
    """y = x W^T whose backward gives dx and writes (x, dy) on the tape."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, tape: WeightTape) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.tape = tape
        return functional.linear(inputs, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        inputs, weight = ctx.saved_tensors
        ctx.tape._record(weight.data_ptr(), inputs, grad)
        return grad @ weight, None, None


def step_linear(inputs: Tensor, weight: Tensor, tape: WeightTape | None) -> Tensor:
    """inputs (B, in) times an opened weight (out, in): (B, out). With no tape it is plain `linear`."""
    if tape is None:
        return functional.linear(inputs, weight)
    return _StepLinear.apply(inputs.to(weight.dtype), weight, tape)
