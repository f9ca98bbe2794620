"""Search and sampling: the cache changes nothing, returned scores are true, rows and beams do not mix."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_cases import SEQ2SEQ_CASES, Maker
from torch import Tensor

EOS, PAD, START = 3, 0, 2
LENGTHS = [5, 1, 8]
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beams": {"num_beams": 4},
    "several-beams": {"num_beams": 4, "num_return_sequences": 3},
    "sampling": {"do_sample": True},
    "several-samples": {"do_sample": True, "num_return_sequences": 3},
    "sampled-beams": {"num_beams": 3, "do_sample": True},
}
PENALTIES: dict[str, dict[str, Any]] = {
    "none": {"length_penalty": 0.0, "early_stopping": "never"},
    "length": {"length_penalty": 1.0},
    "short-preferred": {"length_penalty": -1.0},
    "gnmt": {"gnmt_length_penalty": 0.6},
    "gnmt-zero": {"gnmt_length_penalty": 0},
}


def rescored(model: torch.nn.Module, sources: dict[str, Tensor], sequences: Tensor, prompt: int = 1) -> tuple:
    """Sum of log p of each sequence's words after the prompt up to its end symbol, and their number."""
    copies = sequences.shape[0] // sources["input_ids"].shape[0]
    repeated = {name: tensor.repeat_interleave(copies, 0) for name, tensor in sources.items()}
    with torch.no_grad():
        logits = model(**repeated, decoder_input_ids=sequences[:, :-1]).logits
    words = sequences[:, 1:]
    scores = logits.log_softmax(-1).gather(2, words[..., None])[..., 0]
    ended = (words == EOS).long().cumsum(1) - (words == EOS).long() > 0  # strictly after an end symbol
    wanted = ~ended
    wanted[:, : prompt - 1] = False
    return (scores * wanted).sum(1), wanted.sum(1)


def divisor(lengths: Tensor, length_penalty: float | None = None, gnmt_length_penalty: float | None = None, **_: Any):
    if gnmt_length_penalty is not None:
        return ((5 + lengths) / 6) ** gnmt_length_penalty
    return lengths**length_penalty


@pytest.mark.parametrize("mode", MODES)
def test_generation_with_the_cache_equals_generation_without(seq2seq: Maker, mode: str) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    made = []
    for use_cache in (True, False):
        torch.manual_seed(0)
        made.append(
            model.generate(
                **sources,
                **MODES[mode],
                use_cache=use_cache,
                max_new_tokens=10,
                return_dict_in_generate=True,
                output_scores=True,
            )
        )
    assert torch.equal(made[0].sequences, made[1].sequences)
    for cached, uncached in zip(made[0].scores, made[1].scores, strict=True):
        torch.testing.assert_close(cached, uncached, rtol=1e-4, atol=1e-4)


def test_generated_words_depend_on_the_step_and_on_the_source(seq2seq: Maker) -> None:
    """Without this the equalities of this file would say nothing."""
    made = seq2seq.model().generate(
        **seq2seq.sources(LENGTHS),
        do_sample=True,
        max_new_tokens=6,
        eos_token_id=None,
        return_dict_in_generate=True,
        output_logits=True,
    )
    logits = torch.stack(made.logits)  # (T, B, V)
    assert (logits[1:] - logits[:-1]).abs().amax((1, 2)).min() > 1e-2
    assert (logits[:, 1:] - logits[:, :-1]).abs().amax(2).min() > 1e-2


def test_greedy_takes_the_likeliest_word_at_every_step(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    words = model.generate(**sources, max_new_tokens=10)
    with torch.no_grad():
        best = model(**sources, decoder_input_ids=words[:, :-1]).logits.argmax(-1)
    after_end = (words[:, :-1] == EOS).cumsum(1) > 0
    assert torch.equal(words[:, 1:], best.masked_fill(after_end, PAD))


@pytest.mark.parametrize("use_cache", [True, False], ids=["cached", "uncached"])
@pytest.mark.parametrize(
    "search",
    [
        {"num_return_sequences": 3},
        {"early_stopping": True},
        {"early_stopping": "never", "length_penalty": 0.0},
        {"do_sample": True},
        {"max_length_beyond_source": 2},
    ],
    ids=lambda search: next(iter(search)),
)
def test_finished_sources_leave_the_batch_and_change_no_result(
    seq2seq: Maker, search: dict[str, Any], use_cache: bool, ends_in_turn: Callable[[int, int], Any]
) -> None:
    model, sources, rows = seq2seq.model(), seq2seq.sources([5, 1, 8, 3, 2, 7]), []
    settings = {"num_beams": 4, "use_cache": use_cache, "logits_processor": ends_in_turn(4, EOS)}
    if "max_length_beyond_source" not in search:
        settings["max_new_tokens"] = 12
    model.get_output_embeddings().register_forward_hook(lambda *call: rows.append(call[2].shape[0]))
    torch.manual_seed(0)
    whole = model.generate(**sources, **settings, **search, return_dict_in_generate=True)  # so every row stays
    assert set(rows) == {24}
    rows.clear()
    torch.manual_seed(0)
    assert torch.equal(model.generate(**sources, **settings, **search), whole.sequences)
    assert rows == sorted(rows, reverse=True)
    assert rows[0] == 24 and rows[-1] < 12


@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_returned_beam_has_the_score_that_teacher_forcing_gives(seq2seq: Maker, penalty: str) -> None:
    sources, seen = seq2seq.sources(LENGTHS, side="left"), set()
    for seed in range(4):
        model = seq2seq.model(decoder_vocab_size=7, seed=seed)
        made = model.generate(
            **sources,
            **PENALTIES[penalty],
            num_beams=5,
            num_return_sequences=5,
            max_new_tokens=9,
            return_dict_in_generate=True,
            output_scores=True,
        )
        total, lengths = rescored(model, sources, made.sequences)
        wanted = total / divisor(lengths, **PENALTIES[penalty])
        torch.testing.assert_close(made.sequences_scores, wanted, rtol=0, atol=1e-4)
        assert all(len({tuple(row) for row in rows}) == 5 for rows in made.sequences.split(5))
        seen |= set(lengths.tolist())
    assert len(seen) > 2  # beams end at different places, else the penalties would be all alike


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    side=st.sampled_from(["left", "right"]),
    beams=st.integers(2, 6),
    alpha=st.floats(0, 2),
    gnmt=st.booleans(),
    seed=st.integers(0, 30),
    index=st.integers(0, len(SEQ2SEQ_CASES) - 1),
)
def test_beam_scores_are_true_for_any_batch_width_and_penalty(
    lengths: list[int], side: str, beams: int, alpha: float, gnmt: bool, seed: int, index: int
) -> None:
    maker = Maker(SEQ2SEQ_CASES[index])
    model, sources = maker.model(seed=seed, decoder_vocab_size=7), maker.sources(lengths, side=side, seed=seed)
    penalty = {"gnmt_length_penalty": alpha} if gnmt else {"length_penalty": alpha}
    made = model.generate(
        **sources,
        **penalty,
        num_beams=beams,
        num_return_sequences=beams,
        max_new_tokens=7,
        return_dict_in_generate=True,
        output_scores=True,
    )
    total, count = rescored(model, sources, made.sequences)
    torch.testing.assert_close(made.sequences_scores, total / divisor(count, **penalty), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("penalty", ["none", "length", "gnmt"])
def test_a_beam_as_wide_as_everything_finds_the_best_of_all_sequences(seq2seq: Maker, penalty: str) -> None:
    model = seq2seq.model(decoder_vocab_size=6)
    sources, limit = seq2seq.sources([4]), 3
    candidates = []
    for length in range(1, limit + 1):
        for words in itertools.product(range(6), repeat=length):
            if EOS not in words[:-1] and (words[-1] == EOS or length == limit):
                candidates.append([START, *words] + [PAD] * (limit - length))
    sequences = torch.tensor(candidates)
    total, lengths = rescored(model, sources, sequences)
    best = (total / divisor(lengths, **PENALTIES[penalty])).argmax()
    found = model.generate(
        **sources, **{"early_stopping": "never", **PENALTIES[penalty]}, num_beams=200, max_new_tokens=3
    )
    width = found.shape[1]
    assert found[0].tolist() == candidates[best][:width] and not any(candidates[best][width:])


@pytest.mark.parametrize("mode", ["greedy", "beams", "several-beams"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_batch_is_translated_like_each_sentence_alone(seq2seq: Maker, mode: str, side: str) -> None:
    model = seq2seq.model(torch.float64)
    together = model.generate(**seq2seq.sources(LENGTHS, side=side, extra=2), **MODES[mode], max_new_tokens=9)
    copies = MODES[mode].get("num_return_sequences", 1)
    whole = seq2seq.sources(LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone = model.generate(whole["input_ids"][row : row + 1, :length], **MODES[mode], max_new_tokens=9)
        rows = together[row * copies : (row + 1) * copies]
        assert torch.equal(rows[:, : alone.shape[1]], alone)
        assert (rows[:, alone.shape[1] :] == PAD).all()


def test_the_order_of_a_batch_does_not_matter_to_its_beams(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(torch.float64), seq2seq.sources([5, 1, 8, 3])
    order = torch.tensor([2, 0, 3, 1])
    keywords = {"num_beams": 4, "max_new_tokens": 9, "return_dict_in_generate": True, "output_scores": True}
    plain = model.generate(**sources, **keywords)
    moved = model.generate(**{name: tensor[order] for name, tensor in sources.items()}, **keywords)
    assert torch.equal(moved.sequences, plain.sequences[order])
    torch.testing.assert_close(moved.sequences_scores, plain.sequences_scores[order], rtol=0, atol=1e-5)


def test_pads_are_recognised_where_no_mask_is_given(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    assert torch.equal(
        model.generate(sources["input_ids"], num_beams=3, max_new_tokens=8),
        model.generate(**sources, num_beams=3, max_new_tokens=8),
    )


def test_samples_follow_the_models_distribution(seq2seq: Maker) -> None:
    model, sources, draws = seq2seq.model(std=0.3), seq2seq.sources([4, 2]), 3000
    words = model.generate(**sources, do_sample=True, num_return_sequences=draws, max_new_tokens=2, top_k=0)
    with torch.no_grad():
        first = model(**sources, decoder_input_ids=torch.full((2, 1), START)).logits[:, 0].softmax(-1)
    for row in range(2):
        drawn = words[row * draws : (row + 1) * draws, 1]
        share = drawn.bincount(minlength=first.shape[1]) / draws
        spread = (first[row] * (1 - first[row]) / draws).sqrt()
        assert ((share - first[row]).abs() < 5 * spread + 1e-3).all()


@pytest.mark.parametrize("num_beams", [1, 4])
def test_encoder_outputs_can_be_computed_once_and_reused(seq2seq: Maker, num_beams: int) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    wanted = model.generate(**sources, num_beams=num_beams, max_new_tokens=8)
    with torch.no_grad():
        encoded = model.get_encoder()(**sources)
    for _ in range(2):
        again = model.generate(
            encoder_outputs=encoded,
            attention_mask=sources["attention_mask"],
            num_beams=num_beams,
            max_new_tokens=8,
        )
        assert torch.equal(again, wanted)


@pytest.mark.parametrize("num_beams", [1, 4])
def test_the_encoder_runs_once_per_generate_and_once_per_sentence(seq2seq: Maker, num_beams: int) -> None:
    model, sources, seen = seq2seq.model(), seq2seq.sources(LENGTHS), []
    model.get_encoder().register_forward_hook(lambda module, inputs, output: seen.append(output[0].shape[0]))
    model.generate(**sources, num_beams=num_beams, max_new_tokens=6)
    assert seen == [3]


def test_source_embeddings_can_be_translated(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    wanted = model.generate(**sources, num_beams=3, max_new_tokens=8)
    embedded = model.get_input_embeddings()(sources["input_ids"])
    again = model.generate(
        inputs_embeds=embedded, attention_mask=sources["attention_mask"], num_beams=3, max_new_tokens=8
    )
    assert torch.equal(again, wanted)


@pytest.mark.parametrize("num_beams", [1, 4])
def test_a_prompt_is_kept_and_continued(seq2seq: Maker, num_beams: int) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    prompt = torch.tensor([[START, 7, 5]] * 3)
    made = [
        model.generate(
            **sources,
            decoder_input_ids=prompt,
            num_beams=num_beams,
            length_penalty=1.0,
            max_new_tokens=6,
            use_cache=use_cache,
            return_dict_in_generate=True,
            output_scores=True,
        )
        for use_cache in (True, False)
    ]
    assert torch.equal(made[0].sequences[:, :3], prompt)
    assert torch.equal(made[0].sequences, made[1].sequences)
    if num_beams > 1:
        total, lengths = rescored(model, sources, made[0].sequences, prompt=3)
        torch.testing.assert_close(made[0].sequences_scores, total / lengths, rtol=0, atol=1e-4)


def test_generation_goes_on_from_a_returned_cache(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    keywords = {"eos_token_id": None, "return_dict_in_generate": True}
    whole = model.generate(**sources, **keywords, max_new_tokens=8).sequences
    half = model.generate(**sources, **keywords, max_new_tokens=4)
    rest = model.generate(
        **sources, **keywords, max_new_tokens=4, decoder_input_ids=half.sequences, cache=half.cache
    ).sequences
    assert torch.equal(rest, whole)


def test_a_cache_of_another_number_of_rows_is_refused(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    half = model.generate(**sources, max_new_tokens=4, eos_token_id=None, return_dict_in_generate=True)
    with pytest.raises(ValueError, match="9 target rows for 3 sources"):
        model.generate(**sources, num_beams=3, max_new_tokens=4, decoder_input_ids=half.sequences, cache=half.cache)


def test_steps_through_the_cache_give_the_teacher_forced_logits(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS, target_length=6)
    targets = batch.pop("decoder_input_ids")
    with torch.no_grad():
        whole = model(**batch, decoder_input_ids=targets).logits
        for cuts in ([1] * 6, [2, 4], [3, 1, 2]):
            cache, parts = None, []
            for part in targets.split(cuts, dim=1):
                made = model(**batch, decoder_input_ids=part, cache=cache, use_cache=True)
                cache = made.cache
                parts.append(made.logits)
            assert cache.get_seq_length() == 6
            torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("order", [[2, 0, 1], [0, 0, 2], [1, 1, 1]], ids=str)
def test_a_reordered_cache_continues_the_rows_that_it_was_told_to(seq2seq: Maker, order: list[int]) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS, target_length=6)
    targets, rows = batch.pop("decoder_input_ids"), torch.tensor(order)
    moved = {name: tensor[rows] for name, tensor in batch.items()}
    spliced = torch.cat([targets[rows, :3], targets[:, 3:]], 1)
    with torch.no_grad():
        cache = model(**batch, decoder_input_ids=targets[:, :3], use_cache=True).cache
        cache.reorder_cache(rows)
        rest = model(**moved, decoder_input_ids=targets[:, 3:], cache=cache, use_cache=True).logits
        wanted = model(**moved, decoder_input_ids=spliced).logits[:, 3:]
    torch.testing.assert_close(rest, wanted, rtol=0, atol=1e-10)


def test_a_cache_can_be_repeated_and_cut_down_by_rows(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS, target_length=4)
    targets = batch.pop("decoder_input_ids")
    with torch.no_grad():
        wanted = model(**batch, decoder_input_ids=targets).logits[:, 3:]
        cache = model(**batch, decoder_input_ids=targets[:, :3], use_cache=True).cache
        cache.batch_repeat_interleave(2)
        twice = model(
            **batch,
            decoder_input_ids=targets[:, 3:].repeat_interleave(2, 0),
            cache=cache,
            use_cache=True,
            hypotheses_per_source=2,
        )
        torch.testing.assert_close(twice.logits, wanted.repeat_interleave(2, 0), rtol=0, atol=1e-10)
        cache = model(**batch, decoder_input_ids=targets[:, :3], use_cache=True).cache
        cache.batch_select_indices(torch.tensor([2, 0]))
        two = model(decoder_input_ids=targets[[2, 0], 3:], cache=cache, use_cache=True, encoder_outputs=(twice[1:],))
        torch.testing.assert_close(two.logits, wanted[[2, 0]], rtol=0, atol=1e-10)


def test_attention_of_each_generated_step_is_that_of_teacher_forcing(attending: Maker) -> None:
    model, sources = attending.model(), attending.sources(LENGTHS)
    made = model.generate(
        **sources, max_new_tokens=6, eos_token_id=None, output_attentions=True, return_dict_in_generate=True
    )
    steps = torch.cat([step[0] for step in made.cross_attentions], dim=2)  # (B, h, T, S)
    with torch.no_grad():
        whole = model(**sources, decoder_input_ids=made.sequences[:, :-1], output_attentions=True).cross_attentions[0]
    torch.testing.assert_close(steps, whole, rtol=0, atol=1e-5)


def test_transition_scores_add_up_to_the_beam_scores(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    made = model.generate(
        **sources,
        num_beams=4,
        num_return_sequences=2,
        length_penalty=0.0,
        max_new_tokens=8,
        return_dict_in_generate=True,
        output_scores=True,
    )
    steps = model.compute_transition_scores(made.sequences, made.scores, made.beam_indices)
    torch.testing.assert_close(steps.sum(1), made.sequences_scores, rtol=0, atol=1e-4)


def test_generation_runs_in_bfloat16(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(torch.bfloat16), seq2seq.sources(LENGTHS)
    for keywords in MODES.values():
        words = model.generate(**sources, **keywords, max_new_tokens=6)
        assert words.shape[0] == 3 * keywords.get("num_return_sequences", 1)
        assert ((words >= 0) & (words < model.config.decoder_vocab_size)).all()


def test_five_hundred_words_can_be_generated_from_five_hundred(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources([500, 2])
    words = model.generate(**sources, min_new_tokens=500, max_new_tokens=500)
    assert words.shape == (2, 501)


def test_one_new_token_and_one_source_token_are_enough(seq2seq: Maker) -> None:
    model = seq2seq.model()
    for num_beams in (1, 3):
        assert model.generate(**seq2seq.sources([1]), num_beams=num_beams, max_new_tokens=1).shape == (1, 2)


def test_a_row_of_pads_alone_does_not_disturb_its_neighbours(attending: Maker) -> None:
    model = attending.model(torch.float64)
    with_empty = model.generate(**attending.sources([5, 0, 8]), num_beams=3, max_new_tokens=8)
    without = model.generate(**attending.sources([5, 4, 8]), num_beams=3, max_new_tokens=8)
    for row in (0, 2):
        width = min(with_empty.shape[1], without.shape[1])
        assert torch.equal(with_empty[row, :width], without[row, :width])
    assert (with_empty[1] < model.config.decoder_vocab_size).all()


def test_unknown_source_words_are_translated_like_any_word(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    sources["input_ids"][sources["input_ids"] > 10] = 1
    words = model.generate(**sources, num_beams=3, max_new_tokens=8)
    assert words.shape[0] == 3 and (words[:, 0] == START).all()


def test_unknown_words_can_be_forbidden_in_the_output(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    words = model.generate(
        **sources, do_sample=True, num_return_sequences=40, top_k=0, max_new_tokens=8, suppress_tokens=[1]
    )
    assert (words != 1).all()


def test_gnmt_penalty_is_read_from_a_saved_generation_config(seq2seq: Maker, tmp_path: Path) -> None:
    model, sources = seq2seq.model(), seq2seq.sources(LENGTHS)
    keywords = {"num_beams": 4, "max_new_tokens": 8, "return_dict_in_generate": True, "output_scores": True}
    wanted = model.generate(**sources, **keywords, gnmt_length_penalty=0.9).sequences_scores
    plain = model.generate(**sources, **keywords).sequences_scores
    model.generation_config.gnmt_length_penalty = 0.9
    model.save_pretrained(tmp_path)
    again = seq2seq.model_class.from_pretrained(tmp_path).generate(**sources, **keywords).sequences_scores
    torch.testing.assert_close(again, wanted, rtol=0, atol=1e-5)
    assert (again - plain).abs().max() > 1e-3


@pytest.mark.parametrize("alpha", [-0.1, True, "0.6"])
def test_impossible_gnmt_penalties_are_refused(seq2seq: Maker, alpha: Any) -> None:
    with pytest.raises(ValueError, match="number of at least 0"):
        seq2seq.model().generate(**seq2seq.sources([3]), num_beams=2, gnmt_length_penalty=alpha)


def test_two_length_penalties_at_once_are_refused(seq2seq: Maker) -> None:
    with pytest.raises(ValueError, match="give one"):
        seq2seq.model().generate(**seq2seq.sources([3]), num_beams=2, gnmt_length_penalty=0.6, length_penalty=1.0)


def test_speculative_decoding_changes_nothing_or_is_refused_because_states_cannot_be_cut_back(seq2seq: Maker) -> None:
    model, sources = seq2seq.model(), seq2seq.sources([5])
    if not model._is_stateful:
        made = model.generate(**sources, prompt_lookup_num_tokens=2, max_new_tokens=12, eos_token_id=None)
        assert torch.equal(made, model.generate(**sources, max_new_tokens=12, eos_token_id=None))
        return
    with pytest.raises(ValueError, match="stateful"):
        model.generate(**sources, prompt_lookup_num_tokens=2, max_new_tokens=6)


@pytest.mark.parametrize("num_beams", [1, 2])
def test_generation_without_a_source_is_refused(seq2seq: Maker, num_beams: int) -> None:
    with pytest.raises(ValueError, match="without a source; give one of input_ids"):
        seq2seq.model().generate(num_beams=num_beams, max_new_tokens=3)
