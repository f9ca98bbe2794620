"""The state that generation reorders: hypotheses move, their sources do not unless they must."""

import torch

from hf_attention_zoo.loops.decoder_loop import unroll
from hf_attention_zoo.recurrent.readout import MaxoutReadout, maxout
from hf_attention_zoo.seq2seq.decoding_state import DecodingState


def state_of(sources: int = 2, width: int = 3) -> DecodingState:
    state = DecodingState()
    state.source = {"keys": torch.arange(sources)[:, None].float()}
    state.hypothesis = {"hidden": torch.arange(sources * width)[:, None].float()}
    return state


def test_beams_of_one_source_change_places_without_a_copy_of_the_source() -> None:
    state = state_of()
    keys = state.source["keys"]
    state.reorder_cache(torch.tensor([2, 0, 0, 5, 4, 3]))
    assert state.hypothesis["hidden"][:, 0].tolist() == [2, 0, 0, 5, 4, 3]
    assert state.source["keys"] is keys


def test_the_identity_copies_nothing() -> None:
    state = state_of()
    hidden = state.hypothesis["hidden"]
    state.reorder_cache(torch.arange(6))
    assert state.hypothesis["hidden"] is hidden


def test_rows_that_leave_their_source_take_it_along() -> None:
    state = state_of(sources=3, width=1)
    state.reorder_cache(torch.tensor([2, 2, 0]))
    assert state.hypothesis["hidden"][:, 0].tolist() == [2, 2, 0]
    assert state.source["keys"][:, 0].tolist() == [2, 2, 0]


def test_repeating_and_selecting_rows() -> None:
    state = state_of(sources=2, width=1)
    state.batch_repeat_interleave(2)
    assert state.hypothesis["hidden"][:, 0].tolist() == [0, 0, 1, 1] and state.hypotheses_per_source == 2
    state.batch_select_indices(torch.tensor([1, 3]))
    assert state.hypothesis["hidden"][:, 0].tolist() == [0, 1]
    assert state.source["keys"][:, 0].tolist() == [0, 1]


def test_a_fresh_state_can_be_reordered_and_reset() -> None:
    state = DecodingState()
    state.reorder_cache(torch.tensor([1, 0]))
    assert state.get_seq_length() == 0 and state.hypotheses_per_source == 1
    state = state_of()
    state.seen_tokens = 4
    state.reset()
    assert state.get_seq_length() == 0 and not state.hypothesis and not state.source


def test_unrolling_stacks_outputs_and_hands_on_the_state() -> None:
    def step(inputs: tuple[torch.Tensor, ...], state: dict[str, torch.Tensor]) -> tuple[dict, dict]:
        total = state["total"] + inputs[0]
        return {"total": total}, {"total": total}

    outputs, last = unroll(step, (torch.arange(6.0).view(2, 3),), {"total": torch.zeros(2)})
    assert outputs["total"].tolist() == [[0, 1, 3], [3, 7, 12]] and last["total"].tolist() == [3, 12]


def test_maxout_pairs_neighbours() -> None:
    assert maxout(torch.tensor([1.0, 4.0, 3.0, 2.0, -5.0, -6.0])).tolist() == [4, 3, -5]


def test_a_projected_part_of_the_readout_equals_its_input() -> None:
    readout = MaxoutReadout((3, 2, 4), 5)
    state, word, context = torch.randn(6, 3), torch.randn(6, 2), torch.randn(6, 4)
    whole = readout(state, word, context)
    torch.testing.assert_close(readout(state, word, projected=readout.project(2, context)), whole)
