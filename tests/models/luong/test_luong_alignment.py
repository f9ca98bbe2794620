"""`align` shows the row that tells what a word stands for: with content scores that of the step that reads it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from small_luong import spread_luong
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_attention_zoo import TranslationTokenizer, align
from hf_attention_zoo.tasks.translation.rows import load_data

SOURCES = ["das haus ist sehr gross", "eine katze"]
TARGETS = ["the house is very big", "a small cat"]
CHECKPOINT = Path(__file__).parents[3] / "model_cards" / "luong-de-en"


@pytest.fixture(scope="module")
def tokenizer() -> TranslationTokenizer:
    return TranslationTokenizer.train(SOURCES, TARGETS, kind="word", vocab_size=40)


@pytest.mark.parametrize(("score", "shift"), [("general", 1), ("concat", 1), ("dot", 1), ("location", 0)])
def test_rows_are_those_of_the_step_that_explains_the_word(
    tokenizer: TranslationTokenizer, score: str, shift: int
) -> None:
    model = spread_luong(tokenizer, score)
    for source, target, made in zip(SOURCES, TARGETS, align(model, tokenizer, SOURCES, targets=TARGETS), strict=True):
        ids = tokenizer(text_target=target)["input_ids"]
        read = torch.tensor([[model.config.decoder_start_token_id, *ids]])
        given = dict(tokenizer(source, return_tensors="pt"))
        steps = model(**given, decoder_input_ids=read, output_attentions=True).cross_attentions[-1][0, 0].detach()
        ends_with_mark = ids[-1] == model.config.eos_token_id
        wanted = [steps[place + shift] for place in range(len(ids))]
        if ends_with_mark:
            wanted[-1] = steps[len(ids) - 1]
        np.testing.assert_allclose(made.weights, torch.stack(wanted), atol=1e-6)
        assert ends_with_mark


def test_rows_of_the_predictions_can_be_asked_for(tokenizer: TranslationTokenizer) -> None:
    model = spread_luong(tokenizer, "general")
    (shown,) = align(model, tokenizer, SOURCES[:1], targets=TARGETS[:1])
    (before,) = align(model, tokenizer, SOURCES[:1], targets=TARGETS[:1], shift=0)
    np.testing.assert_allclose(shown.weights[:-1], before.weights[1:], atol=1e-6)
    np.testing.assert_allclose(shown.weights[-1], before.weights[-1], atol=1e-6)
    assert np.abs(shown.weights[0] - before.weights[0]).max() > 1e-3


def test_a_translation_that_was_cut_off_has_a_row_for_each_word(tokenizer: TranslationTokenizer) -> None:
    model = spread_luong(tokenizer, "dot")
    model.generation_config.eos_token_id = None
    for made in align(model, tokenizer, SOURCES, max_new_tokens=4, num_beams=2):
        assert made.weights.shape[0] == len(made.target_tokens) == 4
        np.testing.assert_allclose(made.weights.sum(1), 1.0, atol=1e-5)


@pytest.mark.parametrize("shift", [2, -1, True, "1"])
def test_other_shifts_are_refused(tokenizer: TranslationTokenizer, shift: object) -> None:
    with pytest.raises(ValueError, match="give 0, 1, or None"):
        align(spread_luong(tokenizer, "general"), tokenizer, SOURCES, shift=shift)


def test_words_that_are_spelled_alike_are_found_by_the_trained_model() -> None:
    model, tokenizer = (kind.from_pretrained(CHECKPOINT) for kind in (AutoModelForSeq2SeqLM, AutoTokenizer))
    rows = load_data("translation_de_en", source_lang="de", target_lang="en")["validation"]
    alike = []
    for source, target in zip(rows["source"], rows["target"], strict=True):
        words = set(source.split()) & set(target.split())
        if 4 <= len(source.split()) <= 12 and any(len(word) > 3 and word.isalpha() for word in words):
            alike.append((source, target))
    sources, targets = zip(*alike, strict=True)

    def found(shift: int | None) -> float:
        hits = []
        for made in align(model, tokenizer, list(sources), targets=list(targets), shift=shift):
            for token, best in zip(made.target_tokens, made.best_sources(), strict=True):
                once = made.source_tokens.count(token) == made.target_tokens.count(token) == 1
                if once and len(token) > 3 and token != "</s>":
                    hits.append(made.source_tokens[best] == token)
        return sum(hits) / len(hits)

    assert found(None) > 0.5 > 0.2 > found(0)
