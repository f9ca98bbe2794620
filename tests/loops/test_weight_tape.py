"""Gradients formed once per loop: as autograd's, for every way of asking for them."""

import torch
from torch.nn import functional

from hf_attention_zoo.loops.weight_tape import WeightTape, step_linear


def loop(weight: torch.Tensor, start: torch.Tensor, taped: bool, steps: int = 4) -> torch.Tensor:
    tape = WeightTape.start() if taped else None
    opened = weight if tape is None else tape.open(weight)
    state, total = start, start.new_zeros(())
    for _ in range(steps):
        state = torch.tanh(step_linear(state, opened, tape))
        total = total + state.square().sum()
    return total


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    return (
        torch.randn(3, 3, dtype=torch.double, requires_grad=True),
        torch.randn(2, 3, dtype=torch.double, requires_grad=True),
    )


def test_values_and_gradients_are_those_of_a_plain_loop() -> None:
    weight, start = tensors()
    fast, plain = loop(weight, start, True), loop(weight, start, False)
    torch.testing.assert_close(fast, plain, rtol=0, atol=1e-14)
    wanted = torch.autograd.grad(plain, (weight, start))
    for _ in range(3):
        made = torch.autograd.grad(fast, (weight, start), retain_graph=True)
        torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)


def test_a_pass_that_does_not_ask_for_the_weight_leaves_nothing_to_the_next() -> None:
    weight, start = tensors()
    wanted = torch.autograd.grad(loop(weight, start, False), (weight, start))
    fast = loop(weight, start, True)
    (alone,) = torch.autograd.grad(fast, (start,), retain_graph=True)
    torch.testing.assert_close(alone, wanted[1], rtol=0, atol=1e-12)
    fast.backward()
    torch.testing.assert_close(weight.grad, wanted[0], rtol=0, atol=1e-12)


def test_a_weight_also_used_outside_the_loop_gets_both_gradients() -> None:
    weight, start = tensors()

    def total(taped: bool) -> torch.Tensor:
        tape = WeightTape.start() if taped else None
        opened = weight if tape is None else tape.open(weight)
        inside = step_linear(start, opened, tape).square().sum()
        return inside + functional.linear(start, opened).sum() + weight.square().sum()

    made, wanted = (torch.autograd.grad(total(taped), (weight, start)) for taped in (True, False))
    torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)


def test_two_loops_over_one_weight_keep_their_parts_apart() -> None:
    weight, start = tensors()
    made = torch.autograd.grad(loop(weight, start, True) + loop(weight, 2 * start, True), (weight, start))
    wanted = torch.autograd.grad(loop(weight, start, False) + loop(weight, 2 * start, False), (weight, start))
    torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)


def test_no_tape_without_gradients() -> None:
    with torch.no_grad():
        assert WeightTape.start() is None
    assert WeightTape.start() is not None
