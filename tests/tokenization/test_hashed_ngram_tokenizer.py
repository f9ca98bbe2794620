"""The tokenizer of fastText: bags, unknown words, cutting, empty texts, saving."""

from __future__ import annotations

import copy
import unicodedata
from pathlib import Path

import pytest
from transformers import AutoTokenizer, DataCollatorWithPadding

from hf_attention_zoo.models.fasttext.configuration_fasttext import FastTextConfig
from hf_attention_zoo.tokenization.hashed_ngram_tokenizer import HashedNGramTokenizer

TEXTS = ["흰 개가 달린다.", "A white dog runs (fast), it's state-of-the-art.", "Café für 3.50 €"] * 3


@pytest.fixture(scope="module")
def tok() -> HashedNGramTokenizer:
    return HashedNGramTokenizer.train(TEXTS, vocab_size=150, word_ngrams=2, num_buckets=997)


def test_a_bag_is_words_the_end_of_the_line_and_bigrams(tok: HashedNGramTokenizer) -> None:
    assert (tok.pad_token_id, tok.unk_token_id, tok.eos_token_id) == (0, 1, 2)
    assert len(tok) == tok.num_words + 997
    ids = tok("A white dog")["input_ids"]
    assert ids[:4] == [*tok.convert_tokens_to_ids(["a", "white", "dog"]), 2] and len(ids) == 7
    assert all(tok.num_words <= one < len(tok) for one in ids[4:])
    assert sorted(tok("dog white A")["input_ids"][:4]) == sorted(ids[:4])
    assert tok("dog white A")["input_ids"][4:] != ids[4:]
    assert tok("A white dog", add_special_tokens=False)["input_ids"] == [*ids[:3], *ids[4:6]]
    assert tok.decode(ids) == "a white dog </s>" and tok.decode(ids, skip_special_tokens=True) == "a white dog"
    assert tok.convert_ids_to_tokens(ids)[-1].startswith("<bucket ")


def test_an_unknown_word_has_no_id_but_takes_part_in_bigrams(tok: HashedNGramTokenizer) -> None:
    one, other = tok("zzqq dog")["input_ids"], tok("qqzz dog")["input_ids"]
    assert one[:2] == other[:2] == [*tok.convert_tokens_to_ids(["dog"]), 2]
    assert len(one) == 4 and one[2] != other[2] and one[3] == other[3]
    assert tok("ZZQQ dog")["input_ids"] == one


def test_words_alone_need_no_buckets() -> None:
    plain = HashedNGramTokenizer.train(TEXTS, vocab_size=150, num_buckets=997)
    assert len(plain) == plain.num_words
    with pytest.raises(ValueError, match="num_buckets is 0; give a number such as 100000"):
        HashedNGramTokenizer.train(TEXTS, vocab_size=150, word_ngrams=2)
    HashedNGramTokenizer.train(TEXTS, vocab_size=150, word_ngrams=2, num_buckets=100_000)
    with pytest.raises(ValueError, match="word_ngrams=0; give an integer of 1 or more"):
        HashedNGramTokenizer.train(TEXTS, vocab_size=150, word_ngrams=0)


def test_a_text_without_ids_is_one_pad_that_is_left_out(tok: HashedNGramTokenizer) -> None:
    assert tok("")["input_ids"] == [2]
    assert tok("", add_special_tokens=False) == {"input_ids": [0], "attention_mask": [0]}
    assert tok([]) == {"input_ids": [], "attention_mask": []}
    batch = tok(["", "white dog", "zzqq"], padding=True, return_tensors="pt")
    assert batch["attention_mask"].sum(1).tolist() == [1, 5, 2] and batch["input_ids"].shape == (3, 5)
    collated = DataCollatorWithPadding(tok)([tok("dog"), tok(""), tok("a white dog")])
    assert collated["attention_mask"].sum(1).tolist() == [3, 1, 7]


@pytest.mark.parametrize("limit", range(1, 8))
def test_cutting_keeps_as_many_whole_words_as_fit(tok: HashedNGramTokenizer, limit: int) -> None:
    text = "a white dog runs"
    cut = tok(text, truncation=True, max_length=limit)["input_ids"]
    words = (limit - 1) // 2
    assert cut == tok(" ".join(text.split()[:words]))["input_ids"] and len(cut) <= limit
    padded = tok([text, ""], truncation=True, padding="max_length", max_length=limit)
    assert {len(ids) for ids in padded["input_ids"]} == {limit}


def test_offsets_and_surfaces_are_those_of_the_text(tok: HashedNGramTokenizer) -> None:
    text = "A (white)  zzqq dog"
    written = tok.surface(text)
    assert [one.token for one in written[:5]] == ["A", "(", "white", ")", "dog"]
    assert [one.token for one in written[-2:]] == ["zzqq dog", "dog"]
    decomposed = unicodedata.normalize("NFD", "흰 개가")
    assert tok(decomposed) == tok("흰 개가")
    spans = tok(decomposed, return_offsets_mapping=True)["offset_mapping"]
    assert decomposed[spans[1][0] : spans[1][1]] == unicodedata.normalize("NFD", "개가")
    split = tok(["a", "white", "dog"], is_split_into_words=True)
    assert split["input_ids"] == tok("a white dog")["input_ids"]


def test_it_comes_back_through_its_auto_class(tok: HashedNGramTokenizer, tmp_path: Path) -> None:
    tok.save_pretrained(tmp_path)
    FastTextConfig(vocab_size=len(tok)).save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is HashedNGramTokenizer and len(again) == len(tok)
    for text in (*TEXTS, "", "zzqq dog"):
        assert again(text) == copy.deepcopy(tok)(text) == tok(text)


def test_characters_of_words_are_hashed_too() -> None:
    tok = HashedNGramTokenizer.train(TEXTS, vocab_size=150, min_char_ngram=2, max_char_ngram=3, num_buckets=60)
    assert len(tok.ids_of_word("개가")) == 1 + 5  # <개 <개가 개가 개가> 가>
    assert len(tok.ids_of_word("늑대")) == 5
    assert tok("개가", add_special_tokens=False)["input_ids"] == tok.ids_of_word("개가")


def test_what_it_cannot_do_is_said(tok: HashedNGramTokenizer) -> None:
    with pytest.raises(ValueError, match="encode the texts of a pair one by one"):
        tok("a", "dog")
    with pytest.raises(ValueError, match="leave out return_overflowing_tokens"):
        tok("a dog", truncation=True, max_length=2, return_overflowing_tokens=True)
    with pytest.raises(ValueError, match="train the tokenizer on texts that hold it"):
        copy.deepcopy(tok).add_tokens(["<new>"])
