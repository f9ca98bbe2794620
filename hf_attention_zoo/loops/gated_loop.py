"""The twins of `recurrent.gated_unit.GatedUnit`: its step in a loop, and whole sequences.

They read W x + b and C c, formed for all steps at once, in the place of x and c, and form the gradients of the weights
once for all steps. Shapes as in `gated_unit`; D units side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from hf_attention_zoo.loops.gated_backward import (
    GatedLayer,
    GatedSequence,
    GatedStep,
    forward_run,
    forward_step,
    project,
)
from hf_attention_zoo.loops.weight_tape import WeightTape, in_autocast_dtype

if TYPE_CHECKING:
    from hf_attention_zoo.recurrent.gated_unit import GatedUnit

WEIGHTS = ("input_weight", "gate_weight", "candidate_weight")


def project_inputs(unit: GatedUnit, inputs: Tensor) -> Tensor:
    """W x + b: (..., I) -> (..., 3H)."""
    return functional.linear(inputs, unit.input_weight, unit.stacked_bias())


def project_context(unit: GatedUnit, context: Tensor) -> Tensor:
    """C_z c, C_r c, C c: (..., C) -> (..., 3H).

    A context that is a weighted mean of vectors can be projected before the mean is taken: C sum_j a_j h_j =
    sum_j a_j C h_j, once per vector instead of once per step.
    """
    return functional.linear(context, unit.context_weight)


def with_context(unit: GatedUnit, projected: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """W x + b and C c (..., 3H) -> what gates and candidate are given, and what stands inside the reset beside U h."""
    inside: Tensor | None = unit.reset_bias
    if context is None:
        return projected, inside
    if unit.form.reset == "before":
        return projected + context, inside
    size = unit.hidden_size
    to_candidate = context[..., 2 * size :]
    inside = to_candidate if inside is None else to_candidate + inside
    return projected + functional.pad(context[..., : 2 * size], (0, size)), inside


class GatedLoop:
    """The twin of `GatedUnit.forward` in a loop.

    Args:
        unit: the gated unit.
        tape: of the loop; None where nothing is recorded.
    """

    def __init__(self, unit: GatedUnit, tape: WeightTape | None) -> None:
        self.gates: Tensor = unit.gate_weight if tape is None else tape.open(unit.gate_weight)
        self.candidate: Tensor = unit.candidate_weight if tape is None else tape.open(unit.candidate_weight)
        self.unit, self.tape = unit, tape

    def __call__(self, projected: Tensor, hidden: Tensor, context: Tensor | None = None) -> Tensor:
        """W x + b (B, 3H), h (B, H) and C c (B, 3H) -> h' (B, H)."""
        projected, inside = with_context(self.unit, projected, context)
        dtype, form = self.gates.dtype, self.unit.form
        projected, hidden = projected.to(dtype), hidden.to(dtype)
        inside = None if inside is None else inside.to(dtype)
        if self.tape is None:
            opened = torch.empty_like(projected)
            return forward_step(projected, hidden, self.gates, self.candidate, inside, form, opened)[0]
        return GatedStep.apply(projected, hidden, self.gates, self.candidate, inside, form, self.tape)


def read_sequence(
    unit: GatedUnit, inputs: Tensor, hidden: Tensor, context: Tensor | None, known: Tensor | None = None
) -> Tensor:
    """The twin of `GatedUnit.read`: (B, T, I), h_0 (B, H), c (B, C), or C c (B, 3H) if it is known -> (B, T, H)."""
    if context is not None and known is None:
        known = project_context(unit, context)
    projected, inside = with_context(unit, project_inputs(unit, inputs), None if known is None else known[:, None])
    dtype = projected.dtype
    inside = None if inside is None else inside.to(dtype).view(1, -1, unit.hidden_size).expand(1, *hidden.shape)
    hidden, gates, candidate = (x.to(dtype)[None] for x in (hidden, unit.gate_weight, unit.candidate_weight))
    steps = projected.transpose(0, 1)[None]  # (1, T, B, 3H)
    if torch.is_grad_enabled():
        states = GatedSequence.apply(steps, hidden, gates, candidate, inside, unit.form)
    else:
        states, _ = forward_run(steps, hidden, gates, candidate, inside, unit.form, torch.empty_like(steps))
    return states[0].transpose(0, 1)


def read_side_by_side(units: Sequence[GatedUnit], inputs: Sequence[Tensor]) -> Tensor:
    """The twin of `GatedUnit.read`, from zero, of D units of one size and form that read D sequences at the same time.

    Args:
        units: D units without context.
        inputs: one tensor (T, B, I) a unit, time first.

    Returns:
        (D, T, B, H).
    """
    first = units[0]
    steps, rows, _ = inputs[0].shape
    input_weight, gates, candidate = (
        in_autocast_dtype(torch.stack([getattr(unit, name) for unit in units])) for name in WEIGHTS
    )
    dtype = input_weight.dtype
    bias = stacked_rows([unit.stacked_bias() for unit in units], dtype)
    inside = stacked_rows([unit.reset_bias for unit in units], dtype)
    inside = None if inside is None else inside.expand(-1, rows, -1)  # (D, B, H)
    start = torch.zeros(len(units), rows, first.hidden_size, dtype=dtype, device=inputs[0].device)
    flat = torch.stack([x.flatten(0, 1) for x in inputs]).to(dtype)  # (D, T B, I)
    if torch.is_grad_enabled():
        return GatedLayer.apply(flat, input_weight, bias, start, gates, candidate, inside, first.form)
    projected = project(flat, input_weight, bias).view(len(units), steps, rows, -1)
    return forward_run(projected, start, gates, candidate, inside, first.form, projected)[0]


def stacked_rows(biases: Sequence[Tensor | None], dtype: torch.dtype) -> Tensor | None:
    """Biases (K) of D units as (D, 1, K), or None if they have none."""
    given = [bias for bias in biases if bias is not None]
    return torch.stack(given).unsqueeze(1).to(dtype) if given else None


def alike(units: Sequence[GatedUnit]) -> bool:
    """Whether units may run side by side: one hidden size, reset, update and kind of bias."""
    return len({(unit.hidden_size, unit.form, unit.bias_on, unit.reset_bias is None) for unit in units}) == 1
