"""The order in which a padded source is read."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_attention_zoo.recurrent.bidirectional import put_back, take
from hf_attention_zoo.recurrent.reversing import check_something_is_read, ends_with_symbol, plan_reading

IDS = torch.tensor([[5, 6, 7, 3, 0, 0], [0, 0, 8, 9, 4, 3], [0, 3, 0, 0, 0, 0], [4, 0, 5, 0, 6, 0]])
MASK = (IDS != 0).long()


def words_read(reverse: bool, read_end: bool, ids: torch.Tensor = IDS) -> list[list[int]]:
    plan = plan_reading(MASK, ends_with_symbol(ids, MASK, 3), reverse=reverse, read_end=read_end)
    rows = ids.gather(1, plan.order)
    return [row[:length].tolist() for row, length in zip(rows, plan.lengths, strict=True)]


def test_words_are_reversed_and_the_end_symbol_stays_last() -> None:
    assert words_read(True, True) == [[7, 6, 5, 3], [4, 9, 8, 3], [3], [6, 5, 4]]


def test_without_reversal_the_sentence_is_read_as_it_stands() -> None:
    assert words_read(False, True) == [[5, 6, 7, 3], [8, 9, 4, 3], [3], [4, 5, 6]]


def test_end_symbol_is_left_out_unless_it_is_all_there_is() -> None:
    assert words_read(True, False) == [[7, 6, 5], [4, 9, 8], [3], [6, 5, 4]]
    assert words_read(False, False) == [[5, 6, 7], [8, 9, 4], [3], [4, 5, 6]]


def test_positions_read_are_marked_where_they_stand() -> None:
    plan = plan_reading(MASK, ends_with_symbol(IDS, MASK, 3), reverse=True, read_end=False)
    wanted = (MASK.bool() & (IDS != 3)) | (torch.arange(4)[:, None] == 2) & MASK.bool()
    assert torch.equal(plan.read, wanted)


def test_end_symbols_may_be_several_or_none() -> None:
    assert ends_with_symbol(IDS, MASK, [3, 6]).tolist() == [True, True, True, True]
    assert ends_with_symbol(IDS, MASK, None).tolist() == [False] * 4
    assert ends_with_symbol(None, MASK, 3).tolist() == [True] * 4


@pytest.mark.parametrize("read_end", [True, False])
def test_a_source_without_tokens_reads_nothing_and_can_be_refused(read_end: bool) -> None:
    mask = MASK.clone()
    mask[2] = 0
    plan = plan_reading(mask, ends_with_symbol(IDS, mask, [0, 3]), reverse=True, read_end=read_end)
    assert plan.lengths[2] == 0 and not plan.read[2].any()
    with pytest.raises(ValueError, match=r"rows \[2\] have no token"):
        check_something_is_read(plan)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6).filter(any), min_size=1, max_size=4), st.booleans())
def test_reading_backwards_twice_is_the_identity_and_states_return_to_their_words(
    rows: list[list[bool]], has_end: bool
) -> None:
    mask = torch.tensor(rows)
    ends = torch.full((len(rows),), has_end)
    plan = plan_reading(mask, ends, reverse=True, read_end=True)
    vectors = torch.randn(len(rows), 6, 2)
    torch.testing.assert_close(put_back(take(vectors, plan.order), plan.order), vectors)
    packed = torch.arange(6)[None] < plan.lengths[:, None]
    again = plan_reading(packed, ends, reverse=True, read_end=True)
    forwards = plan_reading(mask, ends, reverse=False, read_end=True)
    torch.testing.assert_close(plan.order.gather(1, again.order), forwards.order)
