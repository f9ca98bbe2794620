"""The time loop of every recurrent decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hf_attention_zoo.loops.graphs import check_fixed_steps

State = dict[str, Tensor]
Step = Callable[[tuple[Tensor, ...], State], tuple[dict[str, Tensor], State]]


def unroll(step: Step, inputs: Sequence[Tensor], state: State) -> tuple[dict[str, Tensor], State]:
    """Apply a pure step function along the time axis.

    Args:
        step: (inputs of one step, state) -> (outputs of the step by name, next state); it keeps nothing.
        inputs: tensors (B, T, ...) that are cut along T, T at least 1.
        state: name -> (B, ...), batch first.

    Returns:
        Outputs stacked along T, name -> (B, T, ...), and the last state.
    """
    check_fixed_steps(inputs[0].shape[1])
    outputs: dict[str, list[Tensor]] = {}
    for step_inputs in zip(*(tensor.unbind(1) for tensor in inputs), strict=True):
        made, state = step(step_inputs, state)
        for name, tensor in made.items():
            outputs.setdefault(name, []).append(tensor)
    return {name: torch.stack(tensors, dim=1) for name, tensors in outputs.items()}, state
