"""The LSTM layers against torch's, against ONNX Runtime's with peepholes, and against themselves step by step."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from hf_attention_zoo.loops.decoder_loop import unroll
from hf_attention_zoo.loops.lstm_backward import StackLoop, _FusedStep, project_first_layer
from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.lstm_cell import lstm_cell
from hf_attention_zoo.recurrent.stacked_lstm import StackedLSTM, join_layers, split_layers

BIASES = ("none", "one", "two")


def spread(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module


def stepwise(
    stack: StackedLSTM, inputs: torch.Tensor, state: dict, feed: torch.Tensor | None = None, twin: bool = True
) -> tuple:
    cell = stack.in_loop(WeightTape.start()) if twin else stack
    assert (cell is not stack) == twin

    def step(now: tuple, state: dict) -> tuple:
        hidden, state = cell(now[0], state, now[1] if feed is not None else None)
        return {"hidden": hidden}, state

    inputs = project_first_layer(stack, inputs) if twin else inputs
    outputs, state = unroll(step, (inputs,) if feed is None else (inputs, feed), state)
    return outputs["hidden"], state


def random_state(rows: int, layers: int, size: int) -> dict:
    return split_layers(torch.randn(rows, layers, size).double(), torch.randn(rows, layers, size).double())


@pytest.mark.parametrize("biases", BIASES)
def test_library_pass_equals_the_loop_in_values_and_gradients(biases: str) -> None:
    stack = spread(StackedLSTM(4, 5, 3, biases=biases).double())
    inputs, state = torch.randn(2, 6, 4).double(), random_state(2, 3, 5)
    results = []
    for run in (stack.run, lambda i, s: stepwise(stack, i, s), lambda i, s: stepwise(stack, i, s, twin=False)):
        stack.zero_grad()
        outputs, last = run(inputs, state)
        (outputs.square().sum() + sum(tensor.sin().sum() for tensor in last.values())).backward()
        results.append((outputs, last, [parameter.grad.clone() for parameter in stack.parameters()]))
    torch.testing.assert_close(results[1:], [results[0]] * 2, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("biases", ["none", "two"])
def test_layers_are_those_of_torch(biases: str) -> None:
    stack = spread(StackedLSTM(4, 5, 2, biases=biases).double())
    inputs, state = torch.randn(3, 7, 4).double(), random_state(3, 2, 5)
    hidden, cell = (tensor.transpose(0, 1).contiguous() for tensor in join_layers(state))
    wanted, (last_hidden, last_cell) = stack.library(inputs, (hidden, cell))
    for got, last in (stack.run(inputs, state), stepwise(stack, inputs, state)):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
        for mine, theirs in zip(join_layers(last), (last_hidden, last_cell), strict=True):
            torch.testing.assert_close(mine, theirs.transpose(0, 1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("biases", BIASES)
@pytest.mark.parametrize("peephole", [False, True])
def test_sequences_of_different_length_end_as_if_each_were_alone(biases: str, peephole: bool) -> None:
    stack = spread(StackedLSTM(4, 5, 2, biases=biases, peephole=peephole).double())
    inputs, lengths = torch.randn(4, 6, 4).double(), torch.tensor([6, 1, 4, 5])
    inputs[1, 1:] = float("nan")  # what stands behind the end is not read
    outputs, hidden, cell = stack.encode(inputs, lengths)
    for i, length in enumerate(lengths.tolist()):
        alone = stack.encode(inputs[i : i + 1, :length], lengths[i : i + 1])
        torch.testing.assert_close(outputs[i, :length], alone[0][0], rtol=0, atol=1e-12)
        torch.testing.assert_close((hidden[i], cell[i]), (alone[1][0], alone[2][0]), rtol=0, atol=1e-12)
        assert (outputs[i, length:] == 0).all()


@pytest.mark.parametrize("peephole", [False, True])
def test_cell_is_that_of_onnx_runtime(peephole: bool) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    stack = spread(StackedLSTM(4, 5, 1, biases="one", peephole=peephole))
    inputs, lengths = torch.randn(3, 6, 4), torch.tensor([6, 2, 4])
    outputs, hidden, cell = stack.encode(inputs, lengths)

    def reordered(stacked: torch.Tensor) -> np.ndarray:  # i, f, g, o -> i, o, f, c
        i, f, g, o = stacked.detach().chunk(4)
        return torch.cat([i, o, f, g])[None].numpy()

    initial = {
        "W": reordered(stack.library.weight_ih_l0),
        "R": reordered(stack.library.weight_hh_l0),
        "B": np.concatenate([reordered(stack.gate_biases[0]), np.zeros((1, 20), np.float32)], axis=1),
        "lens": lengths.numpy().astype(np.int32),
    }
    names = ["X", "W", "R", "B", "lens"]
    if peephole:
        i, f, o = stack.peepholes[0].detach()
        initial["P"] = torch.cat([i, o, f])[None].numpy()
        names += ["", "", "P"]
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node("LSTM", names, ["Y", "Y_h", "Y_c"], hidden_size=5)],
        "cell",
        [helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [6, 3, 4])],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("Y", "Y_h", "Y_c")],
        [onnx.numpy_helper.from_array(array, name) for name, array in initial.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    y, y_h, y_c = session.run(None, {"X": inputs.transpose(0, 1).numpy()})
    np.testing.assert_allclose(outputs.detach(), y[:, 0].transpose(1, 0, 2), rtol=0, atol=2e-6)
    np.testing.assert_allclose(hidden[:, 0].detach(), y_h[0], rtol=0, atol=2e-6)
    np.testing.assert_allclose(cell[:, 0].detach(), y_c[0], rtol=0, atol=2e-6)


def test_written_out_derivative_of_the_cell_is_right() -> None:
    gates, cell = torch.randn(3, 8).double().requires_grad_(), torch.randn(3, 2).double().requires_grad_()
    tape = WeightTape()
    assert torch.autograd.gradcheck(lambda gates, cell: _FusedStep.apply(gates, cell, tape), (gates, cell))
    torch.testing.assert_close(_FusedStep.apply(gates, cell, tape), lstm_cell(gates, cell), rtol=0, atol=1e-15)


@pytest.mark.parametrize("step", [lstm_cell, lambda gates, cell: _FusedStep.apply(gates, cell, WeightTape())])
def test_cell_stays_in_float32_where_products_are_in_half_precision(step: object) -> None:
    gates = torch.randn(3, 8).bfloat16().requires_grad_()
    cell = torch.randn(3, 2).requires_grad_()
    hidden, following = step(gates, cell)
    assert (hidden.dtype, following.dtype) == (torch.bfloat16, torch.float32)
    (hidden.float().sum() + following.sum()).backward()
    assert (gates.grad.dtype, cell.grad.dtype) == (torch.bfloat16, torch.float32)
    assert torch.isfinite(gates.grad.float()).all()


def test_fed_back_vector_acts_as_more_columns_of_the_first_layer() -> None:
    stack = spread(StackedLSTM(4, 5, 2, feed_size=3).double())
    wide = StackedLSTM(7, 5, 2).double()
    with torch.no_grad():
        for name, parameter in wide.named_parameters():
            parameter.copy_(
                torch.cat([stack.library.weight_ih_l0, stack.feed_weight], dim=1)
                if name.endswith("weight_ih_l0")
                else stack.get_parameter(name)
            )
    inputs, feed, state = torch.randn(2, 6, 4).double(), torch.randn(2, 6, 3).double(), random_state(2, 2, 5)
    wanted = wide.run(torch.cat([inputs, feed], dim=-1), state)
    for twin in (True, False):
        torch.testing.assert_close(stepwise(stack, inputs, state, feed, twin), wanted, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="step by step"):
        stack.run(inputs, state)


def test_dropout_acts_between_layers_only_and_never_in_evaluation() -> None:
    stack = spread(StackedLSTM(4, 400, 2, dropout=0.5).double())
    inputs = torch.randn(2, 3, 4).double()
    state = split_layers(torch.zeros(2, 2, 400).double(), torch.zeros(2, 2, 400).double())
    seen: list[torch.Tensor] = []
    original = nn.functional.dropout

    def watched(tensor: torch.Tensor, p: float, training: bool) -> torch.Tensor:
        made = original(tensor, p, training)
        seen.append((made == 0).double().mean())
        return made

    stepwise_module = StackLoop.__call__.__globals__["functional"]
    stepwise_module.dropout, kept = watched, stepwise_module.dropout
    try:
        stepwise(stack, inputs, state)
    finally:
        stepwise_module.dropout = kept
    assert len(seen) == 3  # one inner layer, three steps
    assert all(0.4 < share < 0.6 for share in seen)
    stack.eval()
    torch.testing.assert_close(stack.run(inputs, state)[0], stepwise(stack, inputs, state)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("biases", BIASES)
def test_copies_and_pickles_work_on(biases: str) -> None:
    stack = spread(StackedLSTM(4, 5, 2, biases=biases))
    twin = copy.deepcopy(stack)
    inputs, lengths = torch.randn(2, 4, 4), torch.tensor([4, 2])
    torch.testing.assert_close(twin.encode(inputs, lengths), stack.encode(inputs, lengths))
    with torch.no_grad():
        next(twin.parameters()).add_(1.0)
    assert not torch.equal(twin.encode(inputs, lengths)[1], stack.encode(inputs, lengths)[1])


@pytest.mark.parametrize(("biases", "extra"), [("none", 0), ("one", 3 * 4 * 5), ("two", 2 * 3 * 4 * 5)])
def test_number_of_weights(biases: str, extra: int) -> None:
    products = 4 * 5 * (4 + 5) + 2 * 4 * 5 * (5 + 5)
    assert sum(p.numel() for p in StackedLSTM(4, 5, 3, biases=biases).parameters()) == products + extra
    with_peepholes = StackedLSTM(4, 5, 3, biases=biases, peephole=True)
    assert sum(p.numel() for p in with_peepholes.parameters()) == products + extra + 3 * 3 * 5


def test_what_a_stack_cannot_do_is_said() -> None:
    stack, inputs, zero = StackedLSTM(4, 5, 1), torch.zeros(2, 4), torch.zeros(2, 1, 5)
    with pytest.raises(ValueError, match="give the state from which"):
        stack(inputs)
    for twin in (True, False):
        with pytest.raises(ValueError, match="no second input"):
            stepwise(stack, inputs[:, None], split_layers(zero, zero), torch.zeros(2, 1, 3), twin)
