"""Gradients of what every step of a time loop reads, formed once after the loop instead of once a step.

A matrix used at T steps has the gradient sum_t g_t^T x_t. Autograd forms it as T products and T - 1 sums of full
matrices; written down on a tape it is one product of the stacked (T B, out) gradients and (T B, in) inputs. The same
holds for whatever else all steps share, such as the keys of an attended source. Values are those of plain autograd, to
rounding.

    tape = WeightTape.start()    # None where nothing is recorded
    twin = in_loop(layer, tape)  # the layer itself, unless its twin may run
    for ...: y = twin(x)

Another rule than that of a matrix is given to `open` as a `LoopGradient`, which the backward of a step adds to through
`record`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.loops.may_run import is_recorded, twin_may_run


class LoopGradient(Protocol):
    """The gradient of one opened tensor while a backward pass goes through the steps."""

    def add(self, *parts: Tensor) -> None:
        """What one step contributes."""

    def total(self) -> Tensor:
        """The gradient, after all steps."""


class MatrixGradient:
    """sum_t grad_t^T inputs_t of a weight (out, in), as one product."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.grads: list[Tensor] = []

    def add(self, *parts: Tensor) -> None:
        inputs, grad = parts  # (B, in), (B, out)
        self.inputs.append(inputs)
        self.grads.append(grad)

    def total(self) -> Tensor:
        return torch.cat(self.grads).t() @ torch.cat(self.inputs)


class WeightTape:
    """The gradients being formed, one per opened tensor, kept apart for each backward pass."""

    def __init__(self) -> None:
        self._rules: dict[int, Callable[[], LoopGradient]] = {}
        self._gradients: dict[int, LoopGradient] = {}
        self._pass = -1

    @classmethod
    def start(cls) -> WeightTape | None:
        """A tape where gradients may be recorded, else None (inference, compiling).

        Frozen weights have one, too: what they are multiplied with may come from a layer that learns, such as an
        adapter, and what is done in place without a tape would be lost to autograd.
        """
        return cls() if torch.is_grad_enabled() and not is_recorded() else None

    def open(self, tensor: Tensor, rule: Callable[[], LoopGradient] = MatrixGradient) -> Tensor:
        """The tensor as the loop must use it, in the dtype of an autocast region; `rule` says how gradients add up."""
        tensor = in_autocast_dtype(tensor)
        if tensor.data_ptr() in self._rules:  # one tensor opened twice is two, each with its own rule
            tensor = tensor.clone()
        opened = _Open.apply(tensor, self)
        self._rules[opened.data_ptr()] = rule
        return opened

    def record(self, opened: Tensor, *parts: Tensor) -> None:
        """For the backward of a step: what it contributes to the gradient of an opened tensor."""
        # A backward pass that did not ask for this tensor leaves its parts behind: they are not part of the next.
        current = torch._C._current_graph_task_id()
        if current != self._pass:
            self._gradients.clear()
            self._pass = current
        key = opened.data_ptr()
        if key not in self._gradients:
            self._gradients[key] = self._rules[key]()
        self._gradients[key].add(*parts)

    def _collect(self, key: int) -> Tensor | None:
        gradient = self._gradients.pop(key, None)
        return None if gradient is None or torch._C._current_graph_task_id() != self._pass else gradient.total()


def in_autocast_dtype(tensor: Tensor) -> Tensor:
    """The tensor in the dtype that a product would have where it is, in or out of an autocast region."""
    device = tensor.device.type
    return tensor.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else tensor


class _Open(torch.autograd.Function):
    """Identity; its backward runs after that of all steps and gives the gradient that they wrote down."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, tape: WeightTape) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.tape, ctx.key = tape, tensor.data_ptr()
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None]:
        total = ctx.tape._collect(ctx.key)
        if total is None or grad is None:
            return grad if total is None else total, None
        return grad + total, None


class _StepLinear(torch.autograd.Function):
    """y = x W^T whose backward gives dx and writes (x, dy) on the tape."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, tape: WeightTape) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.tape = tape
        return functional.linear(inputs, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, None, None]:
        inputs, weight = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.tape.record(weight, inputs, grad)
        return grad @ weight if ctx.needs_input_grad[0] else None, None, None


def step_linear(inputs: Tensor, weight: Tensor, tape: WeightTape | None) -> Tensor:
    """inputs (B, in) times an opened weight (out, in): (B, out). With no tape it is plain `linear`."""
    if tape is None:
        return functional.linear(inputs, weight)
    return _StepLinear.apply(inputs.to(weight.dtype), weight, tape)


def in_loop(layer: nn.Module, tape: WeightTape | None) -> Callable[..., Any]:
    """A linear layer or a cell as the steps of a loop call it: itself, or its twin, which a cell's class knows.

    What wraps a cell is of another class, whatever attributes it passes on: it is called.
    """
    twin_of_class = getattr(type(layer), "in_loop", None)
    if twin_of_class is not None:
        return twin_of_class(layer, tape)
    if tape is None or type(layer) is not nn.Linear or not twin_may_run(layer):
        return layer
    weight, bias = tape.open(layer.weight), layer.bias

    def twin(inputs: Tensor) -> Tensor:
        rows = step_linear(inputs.flatten(0, -2), weight, tape).unflatten(0, inputs.shape[:-1])
        return rows if bias is None else rows + bias

    return twin
