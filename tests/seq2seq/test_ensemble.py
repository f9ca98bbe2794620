"""Models that decode together: the rules, the search, and what an ensemble refuses."""

import copy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import LogitsProcessorList

from hf_attention_zoo import RNNsearchConfig, RNNsearchForConditionalGeneration
from hf_attention_zoo.models.luong.configuration_luong import LuongConfig
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration
from hf_attention_zoo.models.seq2seq_lstm.configuration_seq2seq_lstm import Seq2SeqLSTMConfig
from hf_attention_zoo.models.seq2seq_lstm.modeling_seq2seq_lstm import Seq2SeqLSTMForConditionalGeneration
from hf_attention_zoo.seq2seq.ensemble import TranslationEnsemble, combined
from hf_attention_zoo.seq2seq.unknown_words import check_can_replace

SIZES = {"vocab_size": 14, "decoder_vocab_size": 11, "embedding_size": 5, "hidden_size": 6}
SOURCES = {
    "input_ids": torch.tensor([[5, 6, 7, 8, 3], [9, 3, 0, 0, 0], [10, 4, 12, 3, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]]),
}
RULES = ["arithmetic", "geometric"]
BEAMS = {"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 7, "length_penalty": 0.0}


def spread(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.6)
    return model.double().eval()


def luong(seed: int = 0, **choices: object) -> LuongForConditionalGeneration:
    config = LuongConfig(**SIZES, num_hidden_layers=2, window_half_width=2, **choices)
    return spread(LuongForConditionalGeneration(config), seed)


def mixture() -> list[torch.nn.Module]:
    """Members of three architectures, with and without attention and feeding."""
    return [
        luong(1),
        luong(2, attention_score="dot", attention_window="global", input_feeding=False),
        spread(RNNsearchForConditionalGeneration(RNNsearchConfig(**SIZES, attention_size=4, maxout_size=5)), 3),
        spread(Seq2SeqLSTMForConditionalGeneration(Seq2SeqLSTMConfig(**SIZES, num_hidden_layers=2)), 4),
    ]


def test_finished_sources_leave_the_states_of_all_members(ends_in_turn: Callable[[int, int], Any]) -> None:
    ensemble, rows = TranslationEnsemble(mixture()), []
    settings = {**BEAMS, "logits_processor": ends_in_turn(3, 3)}
    whole = ensemble.generate(**SOURCES, **settings, return_dict_in_generate=True)
    for member in ensemble.members:
        member.get_output_embeddings().register_forward_hook(lambda *call: rows.append(call[2].shape[0]))
    assert torch.equal(ensemble.generate(**SOURCES, **settings), whole.sequences)
    assert rows[:4] == [9] * 4 and rows[-4:] == [3] * 4


def test_rules_are_the_means_of_probabilities_and_of_logits() -> None:
    logits = [torch.randn(2, 3, 7).double() for _ in range(3)]
    mean = sum(x.softmax(-1) for x in logits) / 3
    torch.testing.assert_close(combined(logits, "arithmetic").exp(), mean)
    torch.testing.assert_close(combined(logits, "geometric"), (sum(logits) / 3).log_softmax(-1))
    assert (combined(logits, "arithmetic") - combined(logits, "geometric")).abs().max() > 1e-3


@pytest.mark.parametrize("rule", RULES)
def test_copies_of_a_model_decode_like_the_model_alone(rule: str) -> None:
    model = luong()
    ensemble = TranslationEnsemble([model, copy.deepcopy(model), model], rule)
    for keywords in ({"max_new_tokens": 7}, BEAMS):
        assert torch.equal(ensemble.generate(**SOURCES, **keywords), model.generate(**SOURCES, **keywords))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("use_cache", [True, False])
def test_beams_of_different_architectures_have_the_scores_of_the_combination(rule: str, use_cache: bool) -> None:
    members = mixture()
    ensemble = TranslationEnsemble(members, rule)
    made = ensemble.generate(**SOURCES, **BEAMS, use_cache=use_cache, return_dict_in_generate=True, output_scores=True)
    repeated = {name: tensor.repeat_interleave(2, 0) for name, tensor in SOURCES.items()}
    with torch.no_grad():
        logits = [member(**repeated, decoder_input_ids=made.sequences[:, :-1]).logits for member in members]
    words = made.sequences[:, 1:]
    scores = combined(logits, rule).gather(2, words[..., None])[..., 0]
    after_end = (words == 3).long().cumsum(1) - (words == 3).long() > 0
    torch.testing.assert_close(made.sequences_scores.double(), (scores * ~after_end).sum(1), rtol=0, atol=1e-5)


def test_a_batch_is_decoded_like_each_sentence_alone() -> None:
    ensemble = TranslationEnsemble(mixture())
    together = ensemble.generate(**SOURCES, **BEAMS)
    for row in range(3):
        alone = ensemble.generate(SOURCES["input_ids"][row : row + 1, SOURCES["attention_mask"][row].bool()], **BEAMS)
        assert torch.equal(together[2 * row : 2 * row + 2, : alone.shape[1]], alone)


def test_loss_and_alignment_are_those_of_the_combination() -> None:
    members = mixture()
    ensemble = TranslationEnsemble(members)
    labels = torch.tensor([[5, 6, 3], [7, 3, -100], [4, 4, 3]])
    with torch.no_grad():
        made = ensemble(**SOURCES, labels=labels, output_attentions=True)
        outputs = [member(**SOURCES, labels=labels, output_attentions=True) for member in members]
    logs = combined([output.logits for output in outputs], "arithmetic")
    picked = logs.gather(2, labels.clamp(min=0)[..., None])[..., 0][labels != -100]
    torch.testing.assert_close(made.loss, -picked.mean())
    wanted = torch.stack([output.cross_attentions[0] for output in outputs[:3]]).mean(0)
    torch.testing.assert_close(made.cross_attentions[0], wanted)


def test_sampling_and_several_sequences_work() -> None:
    words = TranslationEnsemble(mixture()).generate(
        **SOURCES, do_sample=True, num_return_sequences=4, max_new_tokens=5
    )
    assert words.shape[0] == 12 and (words < 11).all()


def test_an_ensemble_is_loaded_from_folders(tmp_path: Path) -> None:
    config = RNNsearchConfig(**SIZES, attention_size=4, maxout_size=5)
    members = [spread(RNNsearchForConditionalGeneration(config), seed) for seed in (1, 2)]
    for k, member in enumerate(members):
        member.save_pretrained(tmp_path / str(k))
    loaded = TranslationEnsemble.from_checkpoints([tmp_path / "0", tmp_path / "1"], "geometric")
    wanted = TranslationEnsemble(members, "geometric").generate(**SOURCES, **BEAMS)
    assert torch.equal(loaded.generate(**SOURCES, **BEAMS), wanted)
    with pytest.raises(ValueError, match="from_checkpoints"):
        loaded.save_pretrained(tmp_path / "both")


def test_members_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one member"):
        TranslationEnsemble([])
    with pytest.raises(ValueError, match="arithmetic, geometric"):
        TranslationEnsemble([luong()], "median")
    other = LuongForConditionalGeneration(LuongConfig(**{**SIZES, "decoder_vocab_size": 12}, num_hidden_layers=1))
    with pytest.raises(ValueError, match=r"members 0 and 1 have decoder_vocab_size 11 and 12; .* one tokenizer"):
        TranslationEnsemble([luong(), other])


def test_shift_of_unknown_words_is_the_members_if_they_agree() -> None:
    assert TranslationEnsemble([luong(1), luong(2)]).alignment_shift == 1
    location = luong(3, attention_score="location", attention_window="global", location_max_length=9)
    with pytest.raises(ValueError, match=r"\[0, 1\] steps after"):
        _ = TranslationEnsemble([luong(1), location]).alignment_shift


@pytest.mark.parametrize("first", [0, 1])
def test_members_that_attend_to_nothing_have_no_say_in_alignments(first: int) -> None:
    members = [luong(1), spread(Seq2SeqLSTMForConditionalGeneration(Seq2SeqLSTMConfig(**SIZES)), 4)]
    if first:
        members.reverse()
    ensemble = TranslationEnsemble(members)
    assert ensemble.alignment_shift == 1
    check_can_replace(ensemble, SimpleNamespace(unk_token_id=1, is_fast=True))
    with pytest.raises(ValueError, match="attends to none"):
        check_can_replace(TranslationEnsemble([members[1 - first]]), SimpleNamespace(unk_token_id=1, is_fast=True))


def test_a_search_inside_of_a_search_is_its_own(ends_in_turn: Callable[[int, int], Any]) -> None:
    outer, inner, seen = luong(1), mixture()[2], []

    def ask(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        seen.append(inner.generate(**SOURCES, max_new_tokens=4))
        return scores

    settings = {**BEAMS, "num_beams": 3}
    alone = outer.generate(**SOURCES, **settings, logits_processor=ends_in_turn(3, 3))
    asked = outer.generate(**SOURCES, **settings, logits_processor=LogitsProcessorList([*ends_in_turn(3, 3), ask]))
    assert torch.equal(alone, asked)
    assert len(seen) > 3 and all(torch.equal(one, seen[0]) for one in seen)
