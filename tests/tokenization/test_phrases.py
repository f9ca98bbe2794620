"""Phrases as entries of a vocabulary: the paper's score, passes, and a tokenizer that keeps them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import run_kinds
from transformers import AutoTokenizer

from hf_attention_zoo import TextTokenizer
from hf_attention_zoo.tokenization.phrases import join_pairs, joined_sentences, phrase_scores

_RNG = random.Random(0)
_WORDS = ("the", "a", "paper", "is", "read", "in", "of", "and", "city", "new", "york", "times")
# Words in any order, among which stand "New York" and, half as often, "New York Times".
TEXTS = [
    " ".join([*_RNG.choices(_WORDS, k=6), phrase, "(", "in", ")"])
    for _ in range(60)
    for phrase in ("New York Times", "New York", "New York")
]
WORDS = [["a", "b", "c"], ["a", "b"], ["c", "a", "b"], ["b", "c"]]


def test_scores_are_equation_6_times_the_words_of_the_text() -> None:
    # a b stands 3 times, a 3 times, b 4 times, c 3 times, among 10 words
    assert phrase_scores(WORDS, discount=1) == {
        ("a", "b"): pytest.approx((3 - 1) / (3 * 4) * 10),
        ("b", "c"): pytest.approx((2 - 1) / (4 * 3) * 10),
    }
    assert phrase_scores([["a", ".", "b"]] * 9, discount=1) == {}  # nothing is joined over a mark


def test_pairs_are_joined_from_left_to_right_and_passes_join_what_was_joined() -> None:
    assert join_pairs(["a", "a", "a", "b"], {("a", "a"), ("a", "b")}) == ["a a", "a b"]
    once = [*joined_sentences(lambda: WORDS, [1.6], discount=1)]
    assert once == [["a b", "c"], ["a b"], ["c", "a b"], ["b", "c"]]
    # in the second pass "a b" stands 3 times, c 3 times, "a b" c once among 7
    twice = [*joined_sentences(lambda: WORDS, [1.6, 0.7], discount=0)]
    assert twice == [["a b c"], ["a b"], ["c a b"], ["b c"]]


@pytest.fixture(scope="module")
def tok() -> TextTokenizer:
    return TextTokenizer.train(TEXTS, vocab_size=60, phrase_thresholds=[3, 3])


def test_a_phrase_is_one_token_wherever_its_words_stand(tok: TextTokenizer) -> None:
    assert "new york" in tok.get_vocab() and "new york times" in tok.get_vocab()
    assert tok.tokenize("In  NEW\nYork (new york)") == ["in", "new york", "(", "new york", ")"]
    assert tok.tokenize("newly york anew york") == ["<unk>", "york", "<unk>", "york"]
    assert tok.tokenize("the new york times") == ["the", "new york times"]
    assert tok.decode(tok("read the New York Times")["input_ids"]) == "read the new york times"
    encoded = tok("the New  York", return_offsets_mapping=True)
    assert encoded["offset_mapping"] == [(0, 3), (4, 13)]
    assert [token.token for token in tok.surface("the New  York")[0]] == ["the", "New  York"]


def test_phrases_and_words_share_the_vocabulary_by_their_counts(tok: TextTokenizer) -> None:
    small = TextTokenizer.train(TEXTS, vocab_size=7, phrase_thresholds=[3, 3])
    assert len(small) == 7 and sorted(small.get_vocab().values()) == [*range(7)]
    assert "new york" in small.get_vocab() and "city" not in small.get_vocab()  # about 120 times, and 90
    without = TextTokenizer.train(TEXTS, vocab_size=60)
    assert not any(" " in word for word in without.get_vocab())
    assert without.get_vocab() == TextTokenizer.train(TEXTS, vocab_size=60, phrase_thresholds=[1e6]).get_vocab()


def test_saved_phrases_come_back(tok: TextTokenizer, tmp_path: Path) -> None:
    tok.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again.get_vocab() == tok.get_vocab() and len(again) == len(tok)
    for text in TEXTS[:4]:
        assert again(text) == tok(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"phrase_thresholds": [100, 200]}, "the highest first, such as"),
        ({"phrase_thresholds": [0]}, "a positive number for each pass"),
        ({"phrase_thresholds": 200}, "give a list"),
        ({"phrase_thresholds": [200], "kind": "subword"}, "phrases are made of words"),
        ({"phrase_thresholds": [200], "phrase_discount": -1}, "phrase_discount=-1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextTokenizer.train(TEXTS, vocab_size=60, **settings)


def test_texts_that_can_be_read_once_are_refused() -> None:
    with pytest.raises(ValueError, match="give a list"):
        TextTokenizer.train(iter(TEXTS), phrase_thresholds=[4])


def test_vectors_of_phrases_are_learnt_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = run_kinds.write_data("word2vec", tmp_path / "data")
    flags = ("--tokenizer.phrase_thresholds", "[0.5]", "--tokenizer.phrase_discount", "0")
    run_kinds.run("word2vec", data, tmp_path / "run", *flags)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    phrases = [word for word in tokenizer.get_vocab() if " " in word]
    assert phrases
    from hf_attention_zoo.cli.command import main

    assert main(["words", str(tmp_path / "run"), phrases[0], "--count", "2"]) == 0
    assert phrases[0] in capsys.readouterr().out
