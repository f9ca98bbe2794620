"""Whole runs of gated units: the fast path equals the equations step by step, in values and in gradients."""

import itertools

import pytest
import torch

from hf_attention_zoo.recurrent.gated_unit import GatedUnit, gated_step, run_side_by_side

FORMS = list(itertools.product(("before", "after"), ("new", "keep")))


def spread(unit: GatedUnit) -> GatedUnit:
    with torch.no_grad():
        for parameter in unit.double().parameters():
            parameter.normal_(std=0.7)
    return unit


@pytest.mark.parametrize(("reset", "update"), FORMS)
@pytest.mark.parametrize("steps", [1, 4])
def test_a_run_is_the_equations_step_by_step_in_values_and_gradients(reset: str, update: str, steps: int) -> None:
    unit = spread(GatedUnit(3, 5, reset=reset, update=update))
    inputs = torch.randn(2, steps, 3).double()
    hidden = torch.randn(2, 5).double().requires_grad_()
    gated = torch.randn(2, 5).double().requires_grad_() if reset == "after" else None
    leaves = [hidden, *unit.parameters(), *([] if gated is None else [gated])]

    made = unit.run(unit.project_inputs(inputs), hidden, gated)
    state, wanted = hidden, []
    inside = None if gated is None else gated + unit.reset_bias
    for now in unit.project_inputs(inputs).unbind(1):
        state = gated_step(now, state, unit.gate_weight, unit.candidate_weight, inside, unit.form)
        wanted.append(state)
    wanted = torch.stack(wanted, 1)
    torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)
    weights = torch.randn_like(made)
    got, expected = (torch.autograd.grad((states * weights).sum(), leaves) for states in (made, wanted))
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)
    with torch.no_grad():
        torch.testing.assert_close(unit.run(unit.project_inputs(inputs), hidden, gated), wanted, rtol=0, atol=1e-12)


def test_units_side_by_side_are_their_own_runs_with_a_bias_inside_the_reset() -> None:
    units = [spread(GatedUnit(3, 5, reset="after", update="keep")) for _ in range(2)]
    inputs = [torch.randn(4, 2, 3).double() for _ in units]
    together = run_side_by_side(units, inputs)
    alone = [
        unit.run(unit.project_inputs(x.transpose(0, 1)), torch.zeros(2, 5).double()).transpose(0, 1)
        for unit, x in zip(units, inputs, strict=True)
    ]
    torch.testing.assert_close(together, torch.stack(alone), rtol=0, atol=1e-12)
    leaves = [parameter for unit in units for parameter in unit.parameters()]
    weights = torch.randn_like(together)
    got = torch.autograd.grad((together * weights).sum(), leaves)
    wanted = torch.autograd.grad((torch.stack(alone) * weights).sum(), leaves)
    torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-10)
    assert all(gradient.abs().max() > 0 for gradient in got)
