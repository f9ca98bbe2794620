"""Words as 50 character ids: the authors' layout, any Unicode, pads, empty texts, saved folders."""

import copy
import json
import os
import pickle
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import tokenizers
import torch
from transformers import AutoTokenizer, DataCollatorForTokenClassification

from hf_attention_zoo import get_architecture
from hf_attention_zoo.tokenization import word_character_tokenizer
from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer, character_row, word_of_row

TEXTS = ["The cat sat on the mat, didn't it?", "the 고양이 sat", "3.14 is a number"]


@pytest.fixture(scope="module")
def tok() -> WordCharacterTokenizer:
    return WordCharacterTokenizer.train(TEXTS, vocab_size=60)


def test_a_word_is_its_bytes_between_two_marks_and_padding_each_id_one_more_than_the_authors() -> None:
    row = character_row("cé")
    assert row == [259, ord("c") + 1, 0xC3 + 1, 0xA9 + 1, 260] + [261] * 45
    assert character_row("<S>") == [259, 257, 260] + [261] * 47
    assert character_row("</S>") == [259, 258, 260] + [261] * 47
    assert character_row("") == [259, 260] + [261] * 48
    assert min(character_row("\x00")) == 1


def test_of_a_long_word_48_bytes_are_read_even_if_that_cuts_a_character() -> None:
    assert character_row("a" * 48) == character_row("a" * 70) != character_row("a" * 47)
    assert len(character_row("가" * 30)) == 50 and character_row("가" * 16) == character_row("가" * 17)
    assert character_row("가" * 15 + "é가") != character_row("가" * 15 + "é") and character_row("가" * 20)[49] == 260
    assert word_of_row(character_row("a가" * 13)) == "a가" * 12
    assert word_of_row([0] * 50) is None


def test_raw_text_is_split_into_words_and_marks_and_given_words_never(tok: WordCharacterTokenizer) -> None:
    encoded = tok("The cat's mat, 3.14 (well-known)!")
    assert tok.words_of(encoded["character_ids"]) == ["The", "cat's", "mat", ",", "3.14", "(", "well-known", ")", "!"]
    words = ["don't,", "a b", "x<S>y", "<S>", "(", "\u200b"]
    given = tok(words, is_split_into_words=True)
    assert tok.words_of(given["character_ids"]) == words and len(given["input_ids"]) == len(words)
    assert given.word_ids() == list(range(6))
    spaces = WordCharacterTokenizer.train(TEXTS, vocab_size=60, splitting="spaces")
    assert spaces.words_of(spaces("The cat's mat, (really)!")["character_ids"]) == [
        "The",
        "cat's",
        "mat,",
        "(really)!",
    ]


def test_given_words_need_no_new_backend_for_every_call_but_one_for_a_new_vocabulary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tok = WordCharacterTokenizer.train(TEXTS, vocab_size=60)
    made = []
    monkeypatch.setattr(
        word_character_tokenizer, "Tokenizer", lambda model: made.append(model) or tokenizers.Tokenizer(model)
    )
    calls = [tok(["cat", "zebra"], is_split_into_words=True, **more)["input_ids"] for more in ({}, {"max_length": 5})]
    assert len(made) == 1 and calls[0] == calls[1] == [tok.convert_tokens_to_ids("cat"), 2]
    assert tok(["cat"] * 3, is_split_into_words=True, truncation=True, max_length=2)["input_ids"] == calls[0][:1] * 2
    assert tok(["cat"] * 3, is_split_into_words=True)["input_ids"] == calls[0][:1] * 3
    remembered = pickle.loads(pickle.dumps(tok))._remembered
    assert not remembered.rows and remembered.whole is None, "what is only remembered is not handed on"
    tok.add_tokens(["zebra"])
    assert tok(["cat", "zebra"], is_split_into_words=True)["input_ids"] == [calls[0][0], len(tok) - 1]
    assert len(made) == 2
    again = copy.deepcopy(tok)
    again.add_tokens(["yak"])
    assert again(["yak"], is_split_into_words=True)["input_ids"] == [len(tok)]
    assert tok(["yak"], is_split_into_words=True)["input_ids"] == [2]


def test_numbers_are_those_of_a_softmax_sorted_by_frequency(tok: WordCharacterTokenizer) -> None:
    assert tok.convert_ids_to_tokens([0, 1, 2]) == ["<S>", "</S>", "<UNK>"]
    assert tok.convert_ids_to_tokens(3) in {"sat", "the"} and len(tok) == tok.vocab_size
    assert tok("zebra cat")["input_ids"] == [2, tok.convert_tokens_to_ids("cat")]
    assert tok.decode(tok("The cat sat")["input_ids"]) == "The cat sat"
    listed = WordCharacterTokenizer.from_words(["<S>", "</S>", "<UNK>", "the", "!"])
    assert listed("the ! x")["input_ids"] == [3, 4, 2]
    assert WordCharacterTokenizer.from_words()("any words")["input_ids"] == [2, 2]


def test_batches_are_padded_with_zeros_on_the_side_that_is_asked_for(tok: WordCharacterTokenizer) -> None:
    batch = tok(["The cat sat", "", "mat"], padding=True, return_tensors="pt")
    assert batch.character_ids.shape == (3, 3, 50) and batch.input_ids.shape == (3, 3)
    assert batch.attention_mask.tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert not batch.character_ids[1].any() and not batch.character_ids[2, 1:].any()
    again = tok.pad([tok("The cat sat"), tok(""), tok("mat")], return_tensors="pt")
    for name in batch:
        assert torch.equal(again[name], batch[name]), name
    left = tok(["The cat sat", "mat"], padding=True, return_tensors="pt", padding_side="left")
    assert left.attention_mask[1].tolist() == [0, 0, 1] and left.character_ids[1, 2].any()
    assert torch.equal(
        tok.pad([tok("The cat sat"), tok("mat")], padding_side="left", return_tensors="pt").character_ids,
        left.character_ids,
    )
    wide = tok(["mat"], padding="max_length", max_length=4, return_tensors="pt")
    assert wide.character_ids.shape == (1, 4, 50) and not wide.character_ids[0, 1:].any()


def test_empty_texts_are_a_pad_and_no_texts_are_nothing(tok: WordCharacterTokenizer) -> None:
    for empty in ("", "  \n", []):
        encoded = tok(empty, is_split_into_words=isinstance(empty, list))
        if isinstance(empty, list):
            assert not any(encoded["attention_mask"])
        else:
            assert encoded["character_ids"] == [[0] * 50] and encoded["attention_mask"] == [0]
    assert tok([])["input_ids"] == []
    assert tok("", return_tensors="pt").character_ids.shape == (1, 1, 50)


def test_labels_of_words_are_padded_beside_them_by_transformers_collator(tok: WordCharacterTokenizer) -> None:
    rows = [{**tok(["a", "b", "c"], is_split_into_words=True), "labels": [0, 1, 2]}]
    rows.append({**tok(["d"], is_split_into_words=True), "labels": [1]})
    batch = DataCollatorForTokenClassification(tok)(rows)
    assert batch["character_ids"].shape == (2, 3, 50) and batch["labels"].tolist() == [[0, 1, 2], [1, -100, -100]]


def test_truncation_and_overflow_keep_words_and_characters_together(tok: WordCharacterTokenizer) -> None:
    cut = tok("The cat sat on the mat", truncation=True, max_length=2)
    assert tok.words_of(cut["character_ids"]) == ["The", "cat"] and len(cut["input_ids"]) == 2
    parts = tok(["a b c d e", "f"], truncation=True, max_length=2, return_overflowing_tokens=True)
    assert [tok.words_of(part) for part in parts["character_ids"]] == [["a", "b"], ["c", "d"], ["e"], ["f"]]


def test_korean_survives_composed(tok: WordCharacterTokenizer) -> None:
    decomposed = unicodedata.normalize("NFD", "고양이 sat")
    assert tok(decomposed)["character_ids"] == tok("고양이 sat")["character_ids"]
    assert tok.decode(tok(decomposed)["input_ids"]) == "고양이 sat"
    assert [word.token for word in tok.surface(decomposed)] == ["고양이", "sat"]
    offsets = tok(decomposed, return_offsets_mapping=True)["offset_mapping"]
    assert [decomposed[start:end] for start, end in offsets] == decomposed.split()
    assert tok([decomposed.split()], is_split_into_words=True)["input_ids"] == [tok("고양이 sat")["input_ids"]]


def test_a_saved_tokenizer_comes_back_in_a_fresh_process(tok: WordCharacterTokenizer, tmp_path: Path) -> None:
    tok.save_pretrained(tmp_path)
    get_architecture("elmo").tiny_config().save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is WordCharacterTokenizer
    script = f"""
import json
import hf_attention_zoo
from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained({str(tmp_path)!r})
print(json.dumps([dict(tok("The 고양이, zebra <S>")), dict(tok("")), len(tok), tok.splitting, tok.max_characters]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    assert done.returncode == 0, done.stderr
    wanted = [dict(tok("The 고양이, zebra <S>")), dict(tok("")), len(tok), "marks", 50]
    assert json.loads(done.stdout.splitlines()[-1]) == wanted


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tok: tok("a", "b"), "single texts"),
        (lambda tok: tok(["a", ""], is_split_into_words=True), "word 1 of text 0 is empty"),
        (lambda tok: tok([["a"], "b"], is_split_into_words=True), "text 1 is 'b'"),
        (lambda tok: tok(3), "valid Unicode|text input must be"),
        (lambda tok: tok("\ud800"), "lone surrogate"),
        (lambda tok: tok.characters_of(["\ud800"]), "lone surrogate"),
        (lambda tok: WordCharacterTokenizer.train(["a"], splitting="letters"), "'marks', 'spaces'"),
        (lambda tok: WordCharacterTokenizer.train(["a"], max_characters=2), "at least 3"),
        (lambda tok: WordCharacterTokenizer.train(["  "]), "hold no text"),
    ],
)
def test_wrong_inputs_say_what_came_and_what_to_do(tok: WordCharacterTokenizer, call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(tok)
