"""Texts to tokens and back to the raw words."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, strategies

from hf_attention_zoo import TranslationTokenizer
from hf_attention_zoo.seq2seq.source_text import (
    SourceSentence,
    checked_texts,
    encode_sources,
    pad_sources,
    readable_tokens,
    word_spans,
)


def words_of(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


def test_words_are_runs_of_letters_and_single_marks() -> None:
    words = ["Das", "Haus", "(", "3", ",", "5", "m", ")", "kostet", "$", "7_a", "!"]
    assert words_of("Das Haus (3,5 m) kostet $7_a!") == words


def test_accents_and_joiners_stay_with_their_letter() -> None:
    assert words_of("Cafe\u0301 नमस्ते 👩\u200d🚀 x") == ["Cafe\u0301", "नमस्ते", "👩\u200d", "🚀", "x"]


def test_an_empty_or_blank_text_has_no_words() -> None:
    assert words_of("") == [] and words_of(" \n\t ") == []


def test_words_that_one_token_covers_together_are_one_word() -> None:
    sentence = SourceSentence("a 3,5 b", (5, 6, 7, 3), ((0, 1), (2, 5), (6, 7), (0, 0)), (False, False, False, True))
    assert sentence.words() == [(0, 1, [0]), (2, 5, [1]), (6, 7, [2])]


def test_pieces_of_a_word_are_gathered_and_the_end_mark_belongs_to_none() -> None:
    sentence = SourceSentence("Haustür auf", (5, 6, 7, 3), ((0, 4), (4, 7), (7, 11), (0, 0)), (False,) * 3 + (True,))
    assert sentence.words() == [(0, 7, [0, 1]), (8, 11, [2])]


def test_an_unknown_word_of_the_text_is_not_taken_for_an_added_token(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    (sentence,) = encode_sources(model, tokenizer, ["das Ω haus"])
    assert tokenizer.unk_token_id in sentence.input_ids
    assert sentence.special == (False,) * (len(sentence.input_ids) - 1) + (True,)
    assert "Ω" in [sentence.text[start:end] for start, end, _ in sentence.words()]


def test_tokens_are_shown_as_the_tokenizer_itself_shows_them(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    for text in ("das haus, Müller!", "Mu\u0308ller  schläft", "", "무지개 우산"):
        (sentence,) = encode_sources(model, tokenizer, [text])
        surface = tokenizer.source_surface(text)
        assert readable_tokens(tokenizer, sentence) == [token for token, _, _ in surface]
        assert [span for span in sentence.spans if span[0] < span[1]] == [
            (start, end) for _, start, end in surface if start < end
        ]


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_follows_the_tokenizers_side(tiny_translator, side: str) -> None:
    model, tokenizer = tiny_translator
    tokenizer.padding_side = side
    sentences = encode_sources(model, tokenizer, ["das haus ist gross", "haus"])
    inputs = pad_sources(tokenizer, sentences, model.device)
    length, short = inputs["input_ids"].shape[1], len(sentences[1].input_ids)
    mask = [0] * (length - short) + [1] * short if side == "left" else [1] * short + [0] * (length - short)
    assert inputs["attention_mask"].tolist() == [[1] * length, mask]
    assert tuple(inputs["input_ids"][1][inputs["attention_mask"][1].bool()].tolist()) == sentences[1].input_ids


@pytest.mark.parametrize("texts", [None, 3, b"ab", {"a": 1}, ["a", None], ["a", 2], [["a"]]])
def test_other_types_than_text_are_refused(texts: object) -> None:
    with pytest.raises(ValueError, match="must be a string"):
        checked_texts(texts)


def test_one_string_is_one_text_and_not_its_letters() -> None:
    assert checked_texts("abc") == ["abc"]
    assert checked_texts(text for text in ("a", "b")) == ["a", "b"]


def test_a_text_without_any_token_is_refused(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    assert isinstance(tokenizer, TranslationTokenizer)

    def without_end_mark(texts: list[str], **options: object) -> dict[str, list]:
        encoded = tokenizer(texts, add_special_tokens=False, **options)
        return dict(encoded)

    without_end_mark.is_fast = True
    without_end_mark.unk_token_id = tokenizer.unk_token_id
    with pytest.raises(ValueError, match="gives no token at all"):
        encode_sources(model, without_end_mark, [""])


@given(strategies.text())
def test_words_are_in_order_and_cover_every_visible_character(sample: str) -> None:
    spans = word_spans(sample)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = {index for start, end in spans for index in range(start, end)}
    hidden = [char for index, char in enumerate(sample) if index not in covered]
    assert all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in hidden)
