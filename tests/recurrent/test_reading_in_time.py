"""Cells of 1990 and 1997 and their later forms, beside torch's own and beside loops written from the equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hf_attention_zoo.recurrent.forgetting_blocks import ForgettingBlocks
from hf_attention_zoo.recurrent.memory_blocks import MemoryBlocks
from hf_attention_zoo.recurrent.reading_in_time import read_in_time
from hf_attention_zoo.recurrent.simple_cell import SimpleCell

N, T, E, H = 3, 7, 4, 6
CELLS = {
    "logistic": lambda: SimpleCell(E, H),
    "tanh": lambda: SimpleCell(E, H, "tanh"),
    "memory blocks": lambda: MemoryBlocks(E, H, 2, truncated=False),
    "forget gates": lambda: ForgettingBlocks(E, H, 3, truncated=False),
    "peepholes": lambda: ForgettingBlocks(E, H, truncated=False, peephole=True),
}


def spread(cell: nn.Module) -> Any:
    drawn = torch.Generator().manual_seed(1)
    for parameter in cell.parameters():
        parameter.data = torch.randn(parameter.shape, generator=drawn, dtype=torch.float64) * 0.6
    return cell.double()


def words(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(params=CELLS)
def cell(request: pytest.FixtureRequest) -> Any:
    return spread(CELLS[request.param]())


def test_pads_leave_the_state_as_it_is_wherever_they_stand(cell: Any) -> None:
    inputs = words(1, T, E)
    alone, end = read_in_time(cell, inputs, cell.zero_state(inputs))
    for before, after in ((0, 3), (3, 0), (1, 2)):
        padded = torch.cat([words(1, before, E, seed=5), inputs, words(1, after, E, seed=6)], 1)
        real = torch.tensor([[False] * before + [True] * T + [False] * after])
        states, last = read_in_time(cell, padded, cell.zero_state(padded), real)
        torch.testing.assert_close(states[:, before : before + T], alone, rtol=0, atol=1e-14)
        assert torch.equal(states[:, -1], states[:, before + T - 1]) and not states[:, :before].any()
        torch.testing.assert_close(last, end, rtol=0, atol=1e-14)


def test_a_text_read_in_parts_is_the_text(cell: Any) -> None:
    inputs = words(N, T, E)
    whole, _ = read_in_time(cell, inputs, cell.zero_state(inputs))
    first, state = read_in_time(cell, inputs[:, :3], cell.zero_state(inputs))
    second, _ = read_in_time(cell, inputs[:, 3:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-14)


def test_gradients_are_those_of_finite_differences(cell: Any) -> None:
    inputs = words(2, 3, E).requires_grad_()
    weights = list(cell.parameters())
    assert torch.autograd.gradcheck(
        lambda given, *_: read_in_time(cell, given, cell.zero_state(given))[0], (inputs, *weights)
    )


def test_errors_reach_back_as_many_steps_as_the_truncation_says(cell: Any) -> None:
    inputs = words(N, 6, E)

    def reached(truncation: int | None) -> list[bool]:
        given = inputs.clone().requires_grad_()
        states, _ = read_in_time(cell, given, cell.zero_state(given), truncation=truncation)
        states[:, -1].sum().backward()
        assert given.grad is not None
        return [bool(given.grad[:, t].any()) for t in range(6)]

    assert reached(1) == [False] * 5 + [True]
    assert reached(2) == [False] * 4 + [True] * 2
    assert reached(4) == [False] * 4 + [True] * 2  # cut before steps 0 and 4
    assert reached(6) == reached(None) == [True] * 6


# --- torch's own -----------------------------------------------------------------------------------------------------


def compare(cell: Any, library: Any, mapped: dict[str, Tensor]) -> None:
    """States and the inputs' gradients of a cell and of torch's layer with these weights; leaves those of weights."""
    with torch.no_grad():
        for name, value in mapped.items():
            getattr(library, name).copy_(value)
    inputs, wanted = words(N, T, E).requires_grad_(), words(N, T, E).requires_grad_()
    made, _ = read_in_time(cell, inputs, cell.zero_state(inputs))
    states, _ = library(wanted)
    torch.testing.assert_close(made, states, rtol=0, atol=1e-12)
    pull = words(N, T, H, seed=3)
    (made * pull).sum().backward()
    (states * pull).sum().backward()
    torch.testing.assert_close(inputs.grad, wanted.grad, rtol=0, atol=1e-12)


def test_the_simple_cell_is_torchs_rnn_with_one_bias() -> None:
    cell = spread(SimpleCell(E, H, "tanh"))
    library = nn.RNN(E, H, batch_first=True).double()
    W, U = cell.input_projection, cell.context_projection
    mapped = {
        "weight_ih_l0": W.weight,
        "weight_hh_l0": U.weight,
        "bias_ih_l0": U.bias,
        "bias_hh_l0": torch.zeros(H),
    }
    compare(cell, library, mapped)
    for mine, name in ((W.weight, "weight_ih_l0"), (U.weight, "weight_hh_l0"), (U.bias, "bias_hh_l0")):
        torch.testing.assert_close(mine.grad, getattr(library, name).grad, rtol=0, atol=1e-11)


def test_forget_gates_on_blocks_of_one_cell_are_torchs_lstm() -> None:
    cell = spread(ForgettingBlocks(E, H, truncated=False))
    library = nn.LSTM(E, H, batch_first=True).double()

    def ordered(gates: Tensor, cells: Tensor) -> list[Tensor]:
        """i, f, o and g as torch stacks them: i, f, g, o."""
        i, f, o = gates.chunk(3)
        return [i, f, cells, o]

    W = cell.input_projection.weight
    inputs = ordered(W[: 3 * H], W[3 * H :])
    recurrent = ordered(cell.gate_projection.weight, cell.cell_projection.weight)
    bias = ordered(cell.gate_bias, cell.cell_projection.bias)
    mapped = {"weight_ih_l0": inputs, "weight_hh_l0": recurrent, "bias_ih_l0": bias}
    mapped = {name: torch.cat(parts) for name, parts in mapped.items()} | {"bias_hh_l0": torch.zeros(4 * H)}
    compare(cell, library, mapped)
    grads = {
        "weight_ih_l0": ordered(W.grad[: 3 * H], W.grad[3 * H :]),
        "weight_hh_l0": ordered(cell.gate_projection.weight.grad, cell.cell_projection.weight.grad),
        "bias_hh_l0": ordered(cell.gate_bias.grad, cell.cell_projection.bias.grad),
    }
    for name, parts in grads.items():
        torch.testing.assert_close(torch.cat(parts), getattr(library, name).grad, rtol=0, atol=1e-11)


# --- loops from the equations ----------------------------------------------------------------------------------------


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def arrays(cell: Any) -> dict[str, Any]:
    return {name: parameter.detach().numpy() for name, parameter in cell.named_parameters()}


def test_one_step_gradients_of_the_simple_cell_are_those_of_a_network_with_a_context_as_input() -> None:
    """Elman's own: at each step the delta rule of a network with one hidden layer, no step before it touched."""
    cell = spread(SimpleCell(E, H))
    inputs, pull = words(1, T, E), words(1, T, H, seed=3)
    made, _ = read_in_time(cell, inputs, cell.zero_state(inputs), truncation=1)
    (made * pull).sum().backward()

    p = arrays(cell)
    W, U, b = p["input_projection.weight"], p["context_projection.weight"], p["context_projection.bias"]
    dW, dU, db = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
    context = np.zeros(H)
    for x, error in zip(inputs[0].numpy(), pull[0].numpy(), strict=True):
        h = logistic(W @ x + U @ context + b)
        delta = error * h * (1 - h)
        dW, dU, db = dW + np.outer(delta, x), dU + np.outer(delta, context), db + delta
        context = h
    for parameter, wanted in zip(cell.parameters(), (dW, dU, db), strict=True):
        np.testing.assert_allclose(parameter.grad.numpy(), wanted, rtol=0, atol=1e-12)


def test_truncated_gradients_of_memory_blocks_are_those_of_the_papers_appendix() -> None:
    """Errors enter at the outputs; they reach output gates at once, input gates and cells by the partials of s."""
    B, S = 3, 2
    cell = spread(MemoryBlocks(E, H, S))
    inputs, pull = words(1, T, E), words(1, T, H, seed=3)
    made, _ = read_in_time(cell, inputs, cell.zero_state(inputs))
    (made * pull).sum().backward()

    p = arrays(cell)
    W = p["input_projection.weight"]
    gates, bias, cells = p["gate_projection.weight"], p["gate_bias"], p["cell_projection.weight"]
    weights = {  # of each unit: what it sees of x, then of [y; y_in; y_out]
        "in": np.hstack([W[:B], gates[:B]]),
        "out": np.hstack([W[B : 2 * B], gates[B:]]),
        "cell": np.hstack([W[2 * B :], cells]),
    }
    found = {name: np.zeros_like(value) for name, value in weights.items()}
    found_bias = np.zeros(2 * B)
    y, y_in, y_out, s = np.zeros(H), np.zeros(B), np.zeros(B), np.zeros(H)
    ds_in = [[np.zeros(E + H + 2 * B) for _ in range(S)] for _ in range(B)]  # ds of each cell by its gate's weights
    ds_in_bias, ds_cell = np.zeros((B, S)), np.zeros((H, E + H + 2 * B))
    outputs = []
    for x, error in zip(inputs[0].numpy(), pull[0].numpy(), strict=True):
        u = np.concatenate([x, y, y_in, y_out])
        y_in, y_out = logistic(weights["in"] @ u + bias[:B]), logistic(weights["out"] @ u + bias[B:])
        squashed = logistic(weights["cell"] @ u)
        g, dg = 4 * squashed - 2, 4 * squashed * (1 - squashed)
        y = np.zeros(H)
        for j in range(B):
            for v in range(S):
                c = j * S + v
                s[c] += y_in[j] * g[c]
                slope = y_in[j] * (1 - y_in[j]) * g[c]
                ds_in[j][v] = ds_in[j][v] + slope * u
                ds_in_bias[j, v] += slope
                ds_cell[c] += y_in[j] * dg[c] * u
                h = 2 * logistic(s[c]) - 1
                dh = 2 * logistic(s[c]) * (1 - logistic(s[c]))
                y[c] = y_out[j] * h
                at_gate = error[c] * h * y_out[j] * (1 - y_out[j])
                found["out"][j] += at_gate * u
                found_bias[B + j] += at_gate
                at_state = error[c] * y_out[j] * dh
                found["in"][j] += at_state * ds_in[j][v]
                found_bias[j] += at_state * ds_in_bias[j, v]
                found["cell"][c] += at_state * ds_cell[c]
        outputs.append(y)
    np.testing.assert_allclose(made[0].detach().numpy(), np.stack(outputs), rtol=0, atol=1e-12)
    stacked = np.vstack([found["in"], found["out"], found["cell"]])
    np.testing.assert_allclose(cell.input_projection.weight.grad.numpy(), stacked[:, :E], rtol=0, atol=1e-11)
    np.testing.assert_allclose(cell.gate_projection.weight.grad.numpy(), stacked[: 2 * B, E:], rtol=0, atol=1e-11)
    np.testing.assert_allclose(cell.gate_bias.grad.numpy(), found_bias, rtol=0, atol=1e-11)
    np.testing.assert_allclose(cell.cell_projection.weight.grad.numpy(), stacked[2 * B :, E:], rtol=0, atol=1e-11)


@pytest.mark.parametrize("peephole", [False, True])
def test_forget_gates_of_blocks_are_shared_and_peepholes_see_their_cell(peephole: bool) -> None:
    size = 1 if peephole else 3
    cell = spread(ForgettingBlocks(E, H, size, truncated=False, peephole=peephole))
    inputs = words(1, T, E)
    made, _ = read_in_time(cell, inputs, cell.zero_state(inputs))
    p, blocks = arrays(cell), H // size
    y, c, outputs = np.zeros(H), np.zeros(H), []
    for x in inputs[0].numpy():
        net = p["input_projection.weight"] @ x
        gates = net[: 3 * blocks] + p["gate_projection.weight"] @ y + p["gate_bias"]
        i, f, o = (np.repeat(gates[k * blocks : (k + 1) * blocks], size) for k in range(3))
        g = np.tanh(net[3 * blocks :] + p["cell_projection.weight"] @ y + p["cell_projection.bias"])
        seen = p["peepholes.0"] if peephole else np.zeros((3, H))
        before = c
        c = logistic(f + seen[1] * before) * before + logistic(i + seen[0] * before) * g
        y = logistic(o + seen[2] * c) * np.tanh(c)
        outputs.append(y)
    np.testing.assert_allclose(made[0].detach().numpy(), np.stack(outputs), rtol=0, atol=1e-12)


def test_the_truncated_gradient_of_forget_gates_is_that_of_cells_whose_outputs_are_given() -> None:
    """What is read of y_{t-1} counts as an input: the same gradient as where it comes from a table."""
    cell = spread(ForgettingBlocks(E, H, 2))
    inputs, pull = words(N, T, E), words(N, T, H, seed=3)
    made, _ = read_in_time(cell, inputs, cell.zero_state(inputs))
    (made * pull).sum().backward()
    found = [parameter.grad.clone() for parameter in cell.parameters()]
    cell.zero_grad()
    cell.truncated = False
    given = torch.cat([made.new_zeros(N, 1, H), made[:, :-1]], 1).detach()
    state, again = cell.zero_state(inputs), []
    for t, now in enumerate(cell.input_projection(inputs).unbind(1)):
        state = cell(now, {"hidden": given[:, t], "cell": state["cell"]})
        again.append(state["hidden"])
    (torch.stack(again, 1) * pull).sum().backward()
    for parameter, wanted in zip(cell.parameters(), found, strict=True):
        torch.testing.assert_close(parameter.grad, wanted, rtol=0, atol=1e-12)


def test_the_carousel_keeps_what_a_closed_gate_leaves_alone() -> None:
    """With input gates shut, s stays exactly as it is, and the error that comes back along it is not multiplied."""
    cell = spread(MemoryBlocks(E, H, 2))
    with torch.no_grad():
        cell.gate_bias[:3] = -1e6
    inputs = words(N, 50, E)
    begun = {**cell.zero_state(inputs), "cell": words(N, H, seed=4).requires_grad_()}
    _, end = read_in_time(cell, inputs, begun)
    assert torch.equal(end["cell"], begun["cell"])
    (back,) = torch.autograd.grad(end["cell"].sum(), begun["cell"])
    assert torch.equal(back, torch.ones_like(back))


def test_without_recurrent_weights_each_word_is_seen_alone() -> None:
    cell = spread(SimpleCell(E, H))
    with torch.no_grad():
        cell.context_projection.weight.zero_()
    inputs = words(N, T, E)
    states, _ = read_in_time(cell, inputs, cell.zero_state(inputs))
    turned, _ = read_in_time(cell, inputs.flip(1), cell.zero_state(inputs))
    assert torch.equal(states, turned.flip(1))
