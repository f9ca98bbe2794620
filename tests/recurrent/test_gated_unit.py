"""The gated unit: both resets and both senses of its update gate, and its fast path against its equations."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.gated_loop import GatedLoop, alike, project_inputs, read_sequence
from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.gated_initialisation import orthogonal_blocks_
from hf_attention_zoo.recurrent.gated_unit import GatedUnit

FORMS = [(reset, update) for reset in ("before", "after") for update in ("new", "keep")]


def unit_of(reset: str, update: str, bias: str = "all", inputs: int = 3, size: int = 4) -> GatedUnit:
    unit = GatedUnit(inputs, size, bias=bias, reset=reset, update=update).double()
    for parameter in unit.parameters():
        nn.init.normal_(parameter, std=0.7)
    return unit


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def by_hand(unit: GatedUnit, inputs: Tensor, start: Tensor) -> np.ndarray:
    """One row, one time step and one unit at a time: (B, T, I), (B, H) -> (B, T, H)."""
    reset, update = unit.form
    size = unit.hidden_size
    w, u_gates, u = (p.detach().numpy() for p in (unit.input_weight, unit.gate_weight, unit.candidate_weight))
    b = np.zeros(3 * size)
    if unit.bias is not None:
        b[-unit.bias.shape[0] :] = unit.bias.detach().numpy()
    b_u = np.zeros(size) if unit.reset_bias is None else unit.reset_bias.detach().numpy()
    made = np.zeros((*inputs.shape[:2], size))
    for row in range(inputs.shape[0]):
        h = start[row].numpy().copy()
        for t in range(inputs.shape[1]):
            x = inputs[row, t].numpy()
            z, r, proposed = np.zeros(size), np.zeros(size), np.zeros(size)
            for k in range(size):
                z[k] = sigmoid(w[k] @ x + b[k] + u_gates[k] @ h)
                r[k] = sigmoid(w[size + k] @ x + b[size + k] + u_gates[size + k] @ h)
            for k in range(size):
                inner = u[k] @ (r * h) if reset == "before" else r[k] * (u[k] @ h + b_u[k])
                proposed[k] = np.tanh(w[2 * size + k] @ x + b[2 * size + k] + inner)
            h = (1 - z) * h + z * proposed if update == "new" else z * h + (1 - z) * proposed
            made[row, t] = h
    return made


def plain_steps(unit: GatedUnit, inputs: Tensor, start: Tensor) -> Tensor:
    states = []
    for now in inputs.unbind(1):
        start = unit(now, start)
        states.append(start)
    return torch.stack(states, 1)


def taped_steps(unit: GatedUnit, inputs: Tensor, start: Tensor) -> Tensor:
    twin, states = GatedLoop(unit, WeightTape.start()), []
    for projected in project_inputs(unit, inputs).unbind(1):
        start = twin(projected, start)
        states.append(start)
    return torch.stack(states, 1)


def sequence(unit: GatedUnit, inputs: Tensor, start: Tensor) -> Tensor:
    return read_sequence(unit, inputs, start, None)


@pytest.mark.parametrize("bias", ["all", "candidate", "none"])
@pytest.mark.parametrize(("reset", "update"), FORMS)
@pytest.mark.parametrize("run", [plain_steps, taped_steps, sequence])
def test_every_path_equals_a_loop_by_hand(run: object, reset: str, update: str, bias: str) -> None:
    unit, inputs, start = (
        unit_of(reset, update, bias),
        torch.randn(2, 3, 3, dtype=torch.double),
        torch.randn(2, 4, dtype=torch.double),
    )
    wanted = by_hand(unit, inputs, start)
    np.testing.assert_allclose(run(unit, inputs, start).detach().numpy(), wanted, rtol=0, atol=1e-12)
    with torch.no_grad():
        np.testing.assert_allclose(run(unit, inputs, start).numpy(), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("run", [taped_steps, sequence])
@pytest.mark.parametrize(("reset", "update"), FORMS)
def test_gradients_of_the_fast_paths_are_those_of_the_equations(run: object, reset: str, update: str) -> None:
    unit = unit_of(reset, update)
    inputs = torch.randn(3, 5, 3, dtype=torch.double, requires_grad=True)
    start = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    weights = torch.randn(3, 5, 4, dtype=torch.double)
    wanted_from = (inputs, start, *unit.parameters())
    wanted = torch.autograd.grad((plain_steps(unit, inputs, start) * weights).sum(), wanted_from)
    loss = (run(unit, inputs, start) * weights).sum()
    part = torch.autograd.grad(loss, (inputs,), retain_graph=True)  # asks for no weight
    torch.testing.assert_close(part, wanted[:1], rtol=0, atol=1e-10)
    for _ in range(2):
        made = torch.autograd.grad(loss, wanted_from, retain_graph=True)
        torch.testing.assert_close(made, wanted, rtol=0, atol=1e-10)
    loss.backward()
    loss_again = (run(unit, inputs, start) * weights).sum()
    loss_again.backward()  # accumulates
    torch.testing.assert_close(
        [tensor.grad for tensor in wanted_from], [2 * tensor for tensor in wanted], rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("frozen", ["gate_weight", "candidate_weight", "input_weight", "bias"])
@pytest.mark.parametrize("run", [taped_steps, sequence])
def test_one_frozen_parameter_gets_no_gradient_and_the_others_theirs(run: object, frozen: str) -> None:
    unit = unit_of("before", "new")
    getattr(unit, frozen).requires_grad_(False)
    inputs, start = torch.randn(3, 4, 3, dtype=torch.double), torch.zeros(3, 4, dtype=torch.double)
    trained = [parameter for parameter in unit.parameters() if parameter.requires_grad]
    wanted = torch.autograd.grad(plain_steps(unit, inputs, start).square().sum(), trained)
    run(unit, inputs, start).square().sum().backward()
    assert getattr(unit, frozen).grad is None
    torch.testing.assert_close([parameter.grad for parameter in trained], list(wanted), rtol=0, atol=1e-10)


def test_reset_after_and_update_keep_is_the_cell_of_torch() -> None:
    unit, cell = unit_of("after", "keep"), nn.GRUCell(3, 4).double()

    def in_order_of_torch(tensor: Tensor) -> Tensor:  # r, z, candidate
        update, reset, candidate = tensor.chunk(3)
        return torch.cat([reset, update, candidate])

    zeros = torch.zeros(8, dtype=torch.double)
    with torch.no_grad():
        cell.weight_ih.copy_(in_order_of_torch(unit.input_weight))
        cell.bias_ih.copy_(in_order_of_torch(unit.bias))
        cell.weight_hh.copy_(in_order_of_torch(torch.cat([unit.gate_weight, unit.candidate_weight])))
        cell.bias_hh.copy_(torch.cat([zeros, unit.reset_bias]))
    x, h = torch.randn(6, 3, dtype=torch.double), torch.randn(6, 4, dtype=torch.double)
    made = unit(x, h)
    torch.testing.assert_close(made, cell(x, h), rtol=0, atol=1e-14)


def test_units_of_different_form_do_not_run_side_by_side() -> None:
    assert alike([unit_of("before", "new")] * 2)
    assert not alike([unit_of("before", "new"), unit_of("after", "new")])


@pytest.mark.parametrize("run", [taped_steps, sequence])
def test_under_autocast_the_fast_paths_work_in_bfloat16(run: object) -> None:
    unit = unit_of("before", "new").float()
    inputs, start = torch.randn(3, 4, 3), torch.zeros(3, 4)
    exact = torch.autograd.grad(plain_steps(unit, inputs, start).sum(), tuple(unit.parameters()))
    with torch.autocast("cpu", torch.bfloat16):
        made = run(unit, inputs, start)
    made.float().sum().backward()
    assert made.dtype == torch.bfloat16
    for parameter, wanted in zip(unit.parameters(), exact, strict=True):
        assert parameter.grad.dtype == torch.float32
        assert (parameter.grad - wanted).norm() < 0.05 * wanted.norm()


def test_each_block_of_a_stack_is_orthogonal_by_itself() -> None:
    matrix = orthogonal_blocks_(torch.empty(8, 4))
    for block in matrix.split(4):
        torch.testing.assert_close(block @ block.T, torch.eye(4), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match=r"got shape \(6, 4\)"):
        orthogonal_blocks_(torch.empty(6, 4))
