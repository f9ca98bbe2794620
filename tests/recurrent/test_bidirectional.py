"""The pad-proof encoder: wherever the pads stand, a row is read as if they were not there."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hf_attention_zoo.recurrent.bidirectional import (
    BidirectionalGatedEncoder,
    first_real_position,
    inverse_of,
    pick_rows,
    put_back,
    reading_order,
    take,
)
from hf_attention_zoo.recurrent.gated_unit import GatedUnit


def encoder() -> BidirectionalGatedEncoder:
    made = BidirectionalGatedEncoder(GatedUnit(3, 4), GatedUnit(3, 4)).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.7)
    return made


def compact(reader: BidirectionalGatedEncoder, embedded: Tensor, mask: Tensor) -> Tensor:
    """Each row alone, without its pads."""
    made = embedded.new_zeros(*embedded.shape[:2], 8)
    for row in range(embedded.shape[0]):
        real = mask[row].bool()
        if real.any():
            alone = reader(embedded[row : row + 1, real], torch.ones(1, int(real.sum())))
            made[row, real] = alone[0]
    return made


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 4), st.integers(1, 7), st.integers(0, 2**31 - 1))
def test_pads_anywhere_change_nothing_in_value_or_gradient(rows: int, length: int, seed: int) -> None:
    torch.manual_seed(seed)
    reader, mask = encoder(), torch.rand(rows, length) < 0.6
    embedded = torch.randn(rows, length, 3, dtype=torch.double, requires_grad=True)
    made, wanted = reader(embedded, mask), compact(reader, embedded, mask)
    torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)
    assert (made[~mask] == 0).all()
    weights = torch.randn_like(made)
    inputs = (embedded, *reader.parameters())
    if mask.any():
        grads = torch.autograd.grad((made * weights).sum(), inputs)
        alone = torch.autograd.grad((wanted * weights).sum(), inputs)
        torch.testing.assert_close(grads, alone, rtol=0, atol=1e-10)
    with torch.no_grad():
        torch.testing.assert_close(reader(embedded, mask), wanted, rtol=0, atol=1e-12)


def test_pads_left_right_and_between_by_hand() -> None:
    mask = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    forwards, backwards = reading_order(mask)
    assert forwards[0].tolist() == [1, 2, 4, 0, 3] and backwards[0].tolist() == [4, 2, 1, 0, 3]
    assert forwards[1, :2].tolist() == [0, 1] and backwards[1, :2].tolist() == [1, 0]
    assert first_real_position(mask).tolist() == [1, 0, 0]


def test_reordering_and_its_inverse_cancel() -> None:
    order = torch.stack([torch.randperm(5) for _ in range(3)])
    vectors = torch.randn(3, 5, 2)
    assert torch.equal(put_back(take(vectors, order), order), vectors)


def test_picking_rows_has_the_gradient_of_indexing() -> None:
    order = torch.randperm(6)
    rows = torch.randn(6, 2, dtype=torch.double, requires_grad=True)
    assert torch.equal(pick_rows(rows, order, inverse_of(order)), rows[order])
    assert torch.autograd.gradcheck(lambda x: pick_rows(x, order, inverse_of(order)), (rows,))
    assert torch.autograd.gradgradcheck(lambda x: pick_rows(x, order, inverse_of(order)) ** 3, (rows,))
