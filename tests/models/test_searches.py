"""The searches behind `generate` against transformers' own: the same words, scores, attentions and beams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from captioners import make_captioner
from model_cases import CASES, Maker
from transformers import DynamicCache, EncoderDecoderCache

from hf_attention_zoo.seq2seq import zoo_generation
from hf_attention_zoo.seq2seq.beam_search import BeamSearch
from hf_attention_zoo.seq2seq.decoding_state import DecodingState
from hf_attention_zoo.seq2seq.ensemble import TranslationEnsemble
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin

EOS = 3
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "greedy, shortest": {"min_new_tokens": 4},
    "greedy, limit by source": {"max_length_beyond_source": 1, "max_new_tokens": None},
    "four beams": {"num_beams": 4},
    "five, several returned": {"num_beams": 5, "num_return_sequences": 3},
    "early": {"num_beams": 4, "early_stopping": True, "num_return_sequences": 2},
    "never early": {"num_beams": 4, "early_stopping": "never", "length_penalty": 1.3},
    "short preferred": {"num_beams": 5, "early_stopping": "never", "length_penalty": -0.7},
    "no penalty": {"num_beams": 3, "length_penalty": 0.0, "early_stopping": "never"},
    "gnmt": {"num_beams": 4, "gnmt_length_penalty": 0.6},
    "shortest": {"num_beams": 4, "min_new_tokens": 5},
    "shortest with its prompt": {"num_beams": 4, "min_length": 4},
    "limit by source": {"num_beams": 4, "max_length_beyond_source": 1, "max_new_tokens": None},
    "forbidden": {"num_beams": 4, "suppress_tokens": [4, 6]},
    "forbidden, some of them no words": {"num_beams": 4, "suppress_tokens": [4, 6, -1, 999]},
    "nothing forbidden": {"num_beams": 2, "suppress_tokens": []},
    "an end that is no word": {"eos_token_id": [EOS, -1, 999], "pad_token_id": 0, "min_new_tokens": 3},
    "two ends": {"num_beams": 4, "eos_token_id": [EOS, 5], "pad_token_id": 0},
    "no end": {"num_beams": 2, "eos_token_id": None, "pad_token_id": 0, "max_new_tokens": 4},
}


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[str]]:
    """Switches the searches of the package on and off; gives back the names of those that ran since."""
    ran: list[str] = []
    run, greedy = BeamSearch.run, zoo_generation.greedy_search
    rules = ZooGenerationMixin._search_rules

    def switch(on: bool) -> list[str]:
        monkeypatch.setattr(BeamSearch, "run", lambda *given: (ran.append("beams"), run(*given))[1])
        monkeypatch.setattr(zoo_generation, "greedy_search", lambda *given: (ran.append("greedy"), greedy(*given))[1])
        monkeypatch.setattr(ZooGenerationMixin, "_search_rules", rules if on else lambda *given: None)
        ran.clear()
        return ran

    return switch


def that_ends(model: Any) -> Any:
    """The model with a likelier end symbol, so that hypotheses end at different steps."""

    def likelier(module: Any, given: Any, logits: torch.Tensor) -> torch.Tensor:
        raised = logits.clone()
        now_and_then = (3 * logits[..., 4]).sin() - 0.2
        raised[..., EOS] = logits.amax(-1) + logits.std(-1) * now_and_then
        return raised

    model.get_output_embeddings().register_forward_hook(likelier)
    return model


def new_cache(model: Any) -> Any:
    """An empty cache, as a caller of `generate` makes it."""
    if model._is_stateful:
        return DecodingState()
    return EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))


def settings_of(name: str) -> dict[str, Any]:
    given = {"max_new_tokens": 8, **SETTINGS[name]}
    return {key: value for key, value in given.items() if not (key == "max_new_tokens" and value is None)}


def check_searches(
    model: Any, sources: dict[str, Any], given: dict[str, Any], ours: Callable[[bool], list[str]]
) -> Any:
    """Both searches give the same; returns what they gave, in full."""
    everything = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    outputs = {"output_attentions": True, "output_hidden_states": True}
    ours(False)
    whole = model.generate(**sources, **given, **everything, **outputs)
    ran = ours(True)
    assert torch.equal(model.generate(**sources, **given), whole.sequences)
    found = model.generate(**sources, **given, **everything, **outputs)
    assert len(ran) == 2, "a search of ours has run"
    assert type(found) is type(whole) and torch.equal(found.sequences, whole.sequences)
    for name in ("sequences_scores", "beam_indices", "encoder_hidden_states", "encoder_attentions"):
        same(getattr(found, name, None), getattr(whole, name, None))
    for name in ("scores", "logits", "cross_attentions", "decoder_attentions", "decoder_hidden_states"):
        one, other = getattr(found, name), getattr(whole, name)
        assert (one is None) is (other is None) and len(one or ()) == len(other or ())
        for step, (mine, its) in enumerate(zip(one or (), other or (), strict=True)):
            same(returned_rows(mine, whole, step), returned_rows(its, whole, step))
    assert type(found.cache) is type(whole.cache)
    return whole


def returned_rows(value: Any, made: Any, step: int) -> Any:
    """Of a step's tensors, the rows that returned beams come from: those of ended sources run on in any order."""
    if isinstance(value, torch.Tensor):
        beams = getattr(made, "beam_indices", None)
        if beams is None:
            return value
        rows = beams[:, step] if step < beams.shape[1] else beams[:0, 0]
        return value[rows[rows >= 0].long()]
    return None if value is None else tuple(returned_rows(part, made, step) for part in value)


def same(one: Any, other: Any) -> None:
    """Tensors, or tuples of them, that are equal up to rounding; or nothing on both sides."""
    if isinstance(one, torch.Tensor):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    elif one is None:
        assert other is None
    else:
        assert len(one) == len(other)
        for each, its in zip(one, other, strict=True):
            same(each, its)


def test_searches_find_what_transformers_search_finds(seq2seq: Maker, ours: Callable[[bool], list[str]]) -> None:
    model, ended = that_ends(seq2seq.model()), set()
    for name in SETTINGS:
        sources = seq2seq.sources([5, 1, 8, 3], side="left" if "beams" in name else "right")
        whole = check_searches(model, sources, settings_of(name), ours)
        if (whole.sequences == EOS).any():
            ended.add(name)
    assert len(ended) > 4


@pytest.mark.parametrize("beams", [1, 4])
def test_searches_go_on_behind_a_prompt_and_from_a_cache(
    seq2seq: Maker, beams: int, ours: Callable[[bool], list[str]]
) -> None:
    model, sources = seq2seq.model(), seq2seq.sources([5, 2])
    prompt = torch.cat([torch.full((2, 1), 2), seq2seq.ids(2, 3, target=True)], 1)
    check_searches(model, {**sources, "decoder_input_ids": prompt}, {"num_beams": beams, "max_new_tokens": 5}, ours)


@pytest.mark.parametrize("beams", [1, 4])
def test_members_that_decode_together_are_searched_alike(
    seq2seq: Maker, beams: int, ours: Callable[[bool], list[str]]
) -> None:
    model = TranslationEnsemble([seq2seq.model(seed=seed) for seed in (0, 1)])
    given = {"num_beams": beams, "max_new_tokens": 7, "return_dict_in_generate": True, "output_scores": True}
    ours(False)
    whole = model.generate(**seq2seq.sources([4, 7]), **given)
    assert ours(True) == []
    found = model.generate(**seq2seq.sources([4, 7]), **given)
    assert torch.equal(found.sequences, whole.sequences)
    same(found.scores, whole.scores)


@pytest.mark.parametrize("name", ["greedy", "five, several returned", "early", "shortest", "gnmt"])
@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_captions_are_searched_alike(name: str, attention: str, ours: Callable[[bool], list[str]]) -> None:
    model, _ = make_captioner(attention=attention)
    torch.manual_seed(0)
    given = settings_of(name)
    given.pop("max_length_beyond_source", None)
    check_searches(model, {"pixel_values": torch.randn(3, 3, 8, 12)}, given, ours)


def test_finished_sources_leave_our_searches_and_change_nothing(seq2seq: Maker, ours: Callable) -> None:
    sources = seq2seq.sources([5, 1, 8, 3, 2, 7])
    for beams, settings in ((1, {}), (4, {}), (4, {"early_stopping": True}), (4, {"max_length_beyond_source": 2})):
        for seed in range(6):
            model, rows = that_ends(seq2seq.model(seed=seed)), []
            given = {"num_beams": beams, **({} if "max_length_beyond_source" in settings else {"max_new_tokens": 12})}
            ours(False)
            wanted = model.generate(**sources, **given, **settings)
            ours(True)
            model.get_output_embeddings().register_forward_hook(lambda *call, to=rows: to.append(call[2].shape[0]))
            assert torch.equal(model.generate(**sources, **given, **settings), wanted)
            assert rows == sorted(rows, reverse=True) and rows[0] == 6 * beams
            left = rows[-1] < rows[0]
            if left:
                break
        assert left, "some source has left before the last"


@pytest.mark.parametrize(
    "unknown",
    [
        {"repetition_penalty": 1.5},
        {"no_repeat_ngram_size": 2},
        {"bad_words_ids": [[5]]},
        {"max_time": 100.0},
        {"do_sample": True},
        {"use_cache": False},
        {"forced_eos_token_id": EOS},
        {"temperature": 0.7, "do_sample": True},
        {"cache": "given"},
        {"decoder_attention_mask": torch.ones(2, 1, dtype=torch.long)},
    ],
    ids=lambda given: next(iter(given)),
)
@pytest.mark.parametrize("beams", [1, 3])
def test_what_our_searches_do_not_know_is_left_to_transformers(
    seq2seq: Maker, unknown: dict[str, Any], beams: int, ours: Callable[[bool], list[str]]
) -> None:
    model, ran = seq2seq.model(), ours(True)
    given = {**unknown, "cache": new_cache(model)} if "cache" in unknown else unknown
    assert model.generate(**seq2seq.sources([4, 2]), num_beams=beams, max_new_tokens=4, **given).shape[0] == 2
    assert ran == []


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", zoo_generation.ASKED_AT_EACH_STEP)
@pytest.mark.parametrize("place", ["subclass", "model"])
def test_methods_that_are_replaced_are_asked_at_each_word(
    seq2seq: Maker,
    name: str,
    place: str,
    beams: int,
    ours: Callable[[bool], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, ran, calls = seq2seq.model(), ours(True), []
    before = getattr(model, name)

    def replaced(*args: Any, **given: Any) -> Any:
        calls.append(name)
        return before(*(args if place == "model" else args[1:]), **given)

    if place == "model":
        monkeypatch.setattr(model, name, replaced)
    else:
        model.__class__ = type("Other", (type(model),), {name: replaced})
    model.generate(**seq2seq.sources([4, 2]), num_beams=beams, max_new_tokens=4, min_new_tokens=4)
    assert ran == [] and len(calls) >= 4


@pytest.mark.parametrize("words", [5, 6])
@pytest.mark.parametrize("early", [True, False, "never"])
def test_places_that_no_hypothesis_takes_stay_empty_as_in_transformers_search(
    seq2seq: Maker, words: int, early: bool | str, ours: Callable[[bool], list[str]]
) -> None:
    for seed in range(3):
        model = seq2seq.model(seed=seed, decoder_vocab_size=words)
        for beams, forbidden in ((words, [0]), (4, [0, 1]), (8, None)):
            given = {"num_beams": beams, "num_return_sequences": beams, "suppress_tokens": forbidden}
            given |= {"max_new_tokens": 6, "early_stopping": early, **seq2seq.sources([6, 4])}
            ours(False)
            wanted = model.generate(**given)
            ran = ours(True)
            assert torch.equal(model.generate(**given), wanted) and ran == ["beams"]


@pytest.mark.parametrize("beams", [1, 3])
def test_a_search_in_which_every_word_is_forbidden_writes_none_of_them(
    seq2seq: Maker, beams: int, ours: Callable[[bool], list[str]]
) -> None:
    model = seq2seq.model()
    given = {"num_beams": beams, "max_new_tokens": 4, "suppress_tokens": list(range(model.config.target_rows))}
    ours(False)
    wanted = model.generate(**seq2seq.sources([6, 4]), **given)
    ours(True)
    assert torch.equal(model.generate(**seq2seq.sources([6, 4]), **given), wanted)


@pytest.mark.parametrize("beams", [1, 3])
def test_a_cache_that_the_caller_has_keeps_its_rows_and_goes_on(seq2seq: Maker, beams: int) -> None:
    model, sources = that_ends(seq2seq.model()), seq2seq.sources([6, 1, 4])
    given = {"num_beams": beams, "min_new_tokens": 1}
    cache = new_cache(model)
    encoded = model.get_encoder()(**sources)
    shared = {"encoder_outputs": encoded, "attention_mask": sources["attention_mask"], "cache": cache, **given}
    made = model.generate(**shared, max_new_tokens=5)
    if beams == 1:  # of beams the cache holds those that ran, not those that are returned
        more = model.generate(**shared, decoder_input_ids=made, max_new_tokens=3)
        assert more.shape[0] == 3 and torch.equal(more[:, : made.shape[1]], made)
    assert cache.get_seq_length() >= 1


def test_low_memory_of_beams_is_refused_as_transformers_refuses_it(seq2seq: Maker) -> None:
    with pytest.raises(ValueError, match="low_memory"):
        seq2seq.model().generate(**seq2seq.sources([4]), num_beams=2, max_new_tokens=2, low_memory=True)


def test_a_cache_of_a_fixed_shape_and_a_streamer_are_left_to_transformers(seq2seq: Maker, ours: Callable) -> None:
    class Streamer:
        def put(self, value: Any) -> None: ...

        def end(self) -> None: ...

    model, ran = seq2seq.model(), ours(True)
    model.generate(**seq2seq.sources([4]), max_new_tokens=3, streamer=Streamer())
    assert ran == []
    if model._supports_default_dynamic_cache():
        model.generate(**seq2seq.sources([4]), max_new_tokens=3, num_beams=2, cache_implementation="static")
        assert ran == []


def test_an_assistant_whose_words_are_all_refused_is_asked_again() -> None:
    case = Maker(next(case for case in CASES if case.model_type == "transformer2017"))
    for seed in range(5):
        model, assistant = case.model(seed=seed), case.model(seed=seed + 10)
        source = case.sources([6])
        wanted = model.generate(**source, max_new_tokens=8)
        assert torch.equal(model.generate(**source, max_new_tokens=8, assistant_model=assistant), wanted)


def test_pictures_have_no_words_for_a_limit_by_source() -> None:
    model, _ = make_captioner()
    with pytest.raises(ValueError, match=r"counts the words of a source.*give max_new_tokens"):
        model.generate(pixel_values=torch.randn(1, 3, 8, 12), max_length_beyond_source=2)
