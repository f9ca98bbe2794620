"""Properties of the one place where alignments are masked and normalised."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_attention_zoo.attention.attention_base import Attention, masked_softmax
from hf_attention_zoo.loops.mixture import mix, open_mixture
from hf_attention_zoo.loops.weight_tape import WeightTape

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", [0.0, -6e4, 6e4])
def test_a_row_without_real_positions_is_zero_and_so_is_its_gradient(dtype: torch.dtype, fill: float) -> None:
    scores = torch.full((2, 3, 4), fill, dtype=dtype, requires_grad=True)
    mask = torch.tensor([[False] * 4, [True, False, True, False]])[:, None]
    weights = masked_softmax(scores, mask)
    weights.square().sum().backward()
    assert weights.dtype == dtype
    assert weights[0].abs().sum() == 0 and scores.grad[0].abs().sum() == 0
    assert torch.isfinite(weights).all() and torch.isfinite(scores.grad).all()
    assert weights[1, 0].tolist() == [0.5, 0.0, 0.5, 0.0]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(DTYPES),
    st.integers(1, 4),
    st.integers(1, 9),
    st.floats(0.1, 200.0),
    st.integers(0, 2**31 - 1),
)
def test_weights_are_shares_among_real_positions(
    dtype: torch.dtype, rows: int, length: int, scale: float, seed: int
) -> None:
    made = torch.Generator().manual_seed(seed)
    scores = (torch.randn(rows, length, generator=made) * scale).to(dtype)
    mask = torch.rand(rows, length, generator=made) < 0.6
    weights = masked_softmax(scores, mask).double()
    assert (weights >= 0).all() and (weights[~mask] == 0).all()
    wanted = mask.any(1).double()
    torch.testing.assert_close(weights.sum(1), wanted, rtol=0, atol=length * torch.finfo(dtype).eps)
    for row in range(rows):
        if mask[row].any():
            alone = masked_softmax(scores[row, mask[row]], torch.ones(int(mask[row].sum())).bool()).double()
            torch.testing.assert_close(weights[row, mask[row]], alone, rtol=1e-6, atol=1e-6)


def test_scores_behind_the_mask_do_not_matter() -> None:
    scores, mask = torch.randn(2, 5), torch.tensor([[True, True, False, True, False]] * 2)
    wild = scores.masked_fill(~mask, torch.inf)
    assert torch.equal(masked_softmax(scores, mask), masked_softmax(wild, mask))


def test_a_mechanism_without_score_says_so() -> None:
    with pytest.raises(TypeError, match="defines no score"):
        Attention()(torch.zeros(1, 1, 2), Attention().prepare(torch.zeros(1, 3, 2), torch.ones(1, 3)))


def test_mixing_step_by_step_equals_one_batched_product_in_value_and_gradients() -> None:
    made = torch.Generator().manual_seed(3)
    vectors = torch.randn(2, 5, 4, generator=made, dtype=torch.double, requires_grad=True)
    alignments = torch.rand(3, 2, 2, 5, generator=made, dtype=torch.double, requires_grad=True)
    tape = WeightTape.start()
    opened = open_mixture(vectors, tape)
    fast = torch.stack([mix(alignments[t], opened, tape) for t in range(3)])
    plain = alignments @ vectors
    torch.testing.assert_close(fast, plain, rtol=0, atol=1e-12)
    inputs = (vectors, alignments)
    grads = torch.autograd.grad(fast.square().sum(), inputs)
    torch.testing.assert_close(grads, torch.autograd.grad(plain.square().sum(), inputs), rtol=0, atol=1e-11)
