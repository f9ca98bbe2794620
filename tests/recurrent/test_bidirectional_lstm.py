"""The BiLSTM in strides: torch's own on each text alone, and never a pad."""

import pytest
import torch
from torch import nn

from hf_attention_zoo.recurrent import bidirectional_lstm
from hf_attention_zoo.recurrent.bidirectional_lstm import BidirectionalLSTM, plan_strides

LENGTHS = [9, 0, 3, 1, 9, 6]


def with_library() -> tuple[BidirectionalLSTM, nn.LSTM]:
    """Ours and torch's with the same weights; torch's two biases add up to our one."""
    library = nn.LSTM(3, 4, bidirectional=True, batch_first=True).double()
    ours = BidirectionalLSTM(3, 4).double()
    with torch.no_grad():
        for suffix, lstm in (("", ours.forward_lstm), ("_reverse", ours.backward_lstm)):
            lstm.input_weight.copy_(getattr(library, f"weight_ih_l0{suffix}"))
            lstm.recurrent_weight.copy_(getattr(library, f"weight_hh_l0{suffix}"))
            lstm.bias.copy_(getattr(library, f"bias_ih_l0{suffix}") + getattr(library, f"bias_hh_l0{suffix}"))
    return ours, library


def grids(lengths: list[int], side: str) -> torch.Tensor:
    width = max(lengths) + 2
    steps = torch.arange(width)
    ends = torch.tensor(lengths)[:, None]
    return steps < ends if side == "right" else steps >= width - ends


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("saving", [0.0, float("inf")], ids=["strides", "one stride"])
def test_states_and_gradients_are_those_of_torch_on_each_text_alone(
    monkeypatch: pytest.MonkeyPatch, side: str, saving: float
) -> None:
    monkeypatch.setattr(bidirectional_lstm, "LEAST_SAVING", {"cpu": saving})
    ours, library = with_library()
    mask = grids(LENGTHS, side)
    words = torch.randn(*mask.shape, 3, dtype=torch.float64, requires_grad=True)
    states = ours(words, mask[None])
    weights = torch.randn(*mask.shape, 8, dtype=torch.float64)
    (states * weights).sum().backward()
    got, words.grad = words.grad, None
    total = 0.0
    for row, length in enumerate(LENGTHS):
        if length:
            alone = library(words[row : row + 1, mask[row]])[0][0]
            torch.testing.assert_close(states[row, mask[row]], alone, rtol=0, atol=1e-12)
            total = total + (alone * weights[row, mask[row]]).sum()
    total.backward()
    assert (states[~mask] == 0).all()
    torch.testing.assert_close(got, words.grad, rtol=0, atol=1e-12)
    for suffix, lstm in (("", ours.forward_lstm), ("_reverse", ours.backward_lstm)):
        torch.testing.assert_close(lstm.input_weight.grad, getattr(library, f"weight_ih_l0{suffix}").grad)
        torch.testing.assert_close(lstm.recurrent_weight.grad, getattr(library, f"weight_hh_l0{suffix}").grad)
        torch.testing.assert_close(lstm.bias.grad, getattr(library, f"bias_ih_l0{suffix}").grad)


@pytest.mark.parametrize("saving", [0.0, float("inf")], ids=["strides", "one stride"])
def test_two_texts_of_a_row_are_read_each_on_its_own_whatever_lies_between(
    monkeypatch: pytest.MonkeyPatch, saving: float
) -> None:
    monkeypatch.setattr(bidirectional_lstm, "LEAST_SAVING", {"cpu": saving})
    ours, library = with_library()
    first = torch.tensor([[1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 0]], dtype=torch.bool)
    second = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0]], dtype=torch.bool)
    words = torch.randn(3, 6, 3, dtype=torch.float64, requires_grad=True)
    states = ours(words, torch.stack([first, second]))
    states.square().sum().backward()
    got, words.grad = words.grad, None
    for mask in (first, second):
        for row in range(3):
            if mask[row].any():
                alone = library(words[row : row + 1, mask[row]])[0][0]
                torch.testing.assert_close(states[row, mask[row]], alone, rtol=0, atol=1e-12)
                alone.square().sum().backward()
    torch.testing.assert_close(got, words.grad, rtol=0, atol=1e-12)
    assert (states[~(first | second)] == 0).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_runs_and_autocast_keeps_the_weights_type(dtype: torch.dtype) -> None:
    ours, words, mask = BidirectionalLSTM(3, 4), torch.randn(6, 11, 3), grids(LENGTHS, "right")[None]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ours(words, mask).dtype == torch.float32
    wanted = ours(words, mask)
    half = ours.to(dtype)(words.to(dtype), mask)
    assert half.dtype == dtype and (half.float() - wanted).abs().max() < 0.03


def test_strides_cover_every_token_once_and_leave_texts_that_have_ended() -> None:
    assert plan_strides([9, 7, 3, 1, 0], 1) == [(0, 3, 4), (3, 7, 2), (7, 9, 1)]
    assert plan_strides([9, 7, 3, 1, 0], float("inf")) == [(0, 9, 4)]
    assert plan_strides([5, 5, 5], 0) == [(0, 5, 3)]
    assert plan_strides([0, 0], 0) == [] and plan_strides([], 0) == []
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        counts = sorted(torch.randint(0, 40, (9,), generator=random).tolist(), reverse=True)
        strides = plan_strides(counts, 3)
        assert [start for start, _, _ in strides[1:]] == [end for _, end, _ in strides[:-1]]
        for number, count in enumerate(counts):
            read = sum(end - start for start, end, alive in strides if number < alive)
            assert read >= count


def test_a_batch_without_any_token_has_states_of_zero_and_gradients() -> None:
    ours = BidirectionalLSTM(3, 4)
    states = ours(torch.randn(2, 3, 3, requires_grad=True), torch.zeros(1, 2, 3, dtype=torch.bool))
    assert states.shape == (2, 3, 8) and (states == 0).all()


def test_gradients_can_be_differentiated_once_more() -> None:
    ours, mask = BidirectionalLSTM(2, 2).double(), grids([3, 1], "right")[None]
    words = torch.randn(2, 5, 2, dtype=torch.float64, requires_grad=True)
    flat = lambda words: ours(words, mask)  # noqa: E731
    assert torch.autograd.gradcheck(flat, words)
