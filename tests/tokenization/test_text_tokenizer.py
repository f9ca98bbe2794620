"""The tokenizer of texts and pairs: types, empty texts, NFC, surfaces, saving."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from transformers import AutoTokenizer, DataCollatorWithPadding

from hf_attention_zoo import TextTokenizer

TEXTS = ["흰 개가 달린다.", "A white dog runs (fast), it's state-of-the-art.", "Café für 3.50 €"] * 3


@pytest.fixture(params=["word", "subword"])
def tok(request: pytest.FixtureRequest) -> TextTokenizer:
    return TextTokenizer.train(TEXTS, kind=request.param, vocab_size=150)


def test_pads_and_unknown_words_are_the_first_rows_and_nothing_is_added_to_a_text(tok: TextTokenizer) -> None:
    assert (tok.pad_token_id, tok.unk_token_id) == (0, 1)
    first, second = tok("A white dog"), tok("fast")
    both = tok("A white dog", "fast")
    assert both["input_ids"] == first["input_ids"] + second["input_ids"]
    assert both["token_type_ids"] == [0] * len(first["input_ids"]) + [1] * len(second["input_ids"])
    assert set(first["token_type_ids"]) == {0} and set(both["attention_mask"]) == {1}
    assert tok("zzqq")["input_ids"].count(tok.unk_token_id) == 1


def test_a_text_without_tokens_is_one_pad_that_is_left_out(tok: TextTokenizer) -> None:
    for texts in (("",), ("   ",), ("", "")):
        assert tok(*texts) == {"input_ids": [0], "token_type_ids": [0], "attention_mask": [0]}
    assert tok("", "dog")["token_type_ids"] == [1] * len(tok("dog")["input_ids"])
    assert tok("dog", "") == tok("dog")
    alone = tok([""], return_tensors="pt")
    assert alone["input_ids"].tolist() == [[0]] and alone["attention_mask"].tolist() == [[0]]
    assert tok("", return_tensors="pt")["input_ids"].shape == (1, 1)
    mixed = tok(["", "white dog"], padding=True, return_tensors="pt")
    assert mixed["attention_mask"][0].sum() == 0 and mixed["attention_mask"][1].all()
    assert tok([]) == {"input_ids": [], "token_type_ids": [], "attention_mask": []}


def test_the_collator_pads_single_texts_pairs_and_empty_ones_together(tok: TextTokenizer) -> None:
    rows = [tok("dog"), tok(""), tok("a", "white dog")]
    batch = DataCollatorWithPadding(tok)([{**row, "label": label} for label, row in enumerate(rows)])
    assert batch["labels"].tolist() == [0, 1, 2]
    widths = [len(tok("dog")["input_ids"]), 0, len(tok("a", "white dog")["input_ids"])]
    assert batch["attention_mask"].sum(1).tolist() == widths and batch["input_ids"].shape[1] == max(widths)
    assert (batch["input_ids"][batch["attention_mask"] == 0] == 0).all()


def test_decomposed_letters_are_composed_first(tok: TextTokenizer) -> None:
    for text in TEXTS[:3]:
        assert tok(unicodedata.normalize("NFD", text)) == tok(text)
    assert tok([unicodedata.normalize("NFD", "흰 개가")], [TEXTS[2]]) == tok(["흰 개가"], [TEXTS[2]])


def test_surfaces_are_the_texts_in_order_and_there_is_one_for_each_id(tok: TextTokenizer) -> None:
    for texts in (("A (white) zzqq dog,  it's 3.50!",), ("흰 개가", "Café, für"), ("", "dog")):
        written = tok.surface(*texts)
        assert len(written) == len(texts)
        assert sum(map(len, written)) == sum(tok(*texts)["attention_mask"])
        for text, tokens in zip(texts, written, strict=True):
            assert all(text[t.start : t.end] in (t.token, "") for t in tokens)
            assert "".join(text[t.start : t.end] for t in tokens).replace(" ", "") == text.replace(" ", "")
            starts = [t.start for t in tokens]
            assert starts == sorted(starts)
    assert tok.surface(unicodedata.normalize("NFD", "개가")) == tok.surface("개가")


def test_words_are_spelled_as_files_of_word_vectors_spell_them() -> None:
    tok = TextTokenizer.train(TEXTS, vocab_size=150)
    vocabulary = tok.get_vocab()
    assert {"dog", "(", "state-of-the-art", "it's", "3.50", "흰", ","} <= vocabulary.keys()
    assert tok.decode(tok("A dog (fast)")["input_ids"]) == "a dog ( fast )"
    frequent = TextTokenizer.train(TEXTS, vocab_size=150, min_frequency=4)
    assert frequent.get_vocab().keys() == {"<pad>", "<unk>", "."}
    assert "A" in TextTokenizer.train([["A b", "c A"]], vocab_size=10, lowercase=False).get_vocab()


def test_truncation_is_of_one_call_and_cuts_the_longer_text(tok: TextTokenizer) -> None:
    cut = tok("white dog runs fast", "dog", truncation=True, max_length=3)
    assert len(cut["input_ids"]) == 3 and 1 in cut["token_type_ids"]
    assert sum(map(len, tok.surface("white dog runs fast", "dog", truncation=True, max_length=3))) == 3
    assert len(tok("white dog runs fast", "dog")["input_ids"]) > 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(["a", 3], r"text 1 is int \(3\)"), ("\ud800", "lone surrogate"), (["a", None], "text 1 is NoneType")],
)
def test_what_is_no_text_is_named(tok: TextTokenizer, wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tok(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"kind": "char"}, "kind='char' is not known"), ({"vocab_size": 2}, "vocab_size=2 leaves no room")],
)
def test_wrong_settings_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextTokenizer.train(TEXTS, **options)
    with pytest.raises(ValueError, match="hold no text"):
        TextTokenizer.train(["", " "])


def test_saving_what_was_loaded_writes_the_same_files(tok: TextTokenizer, tmp_path: Path) -> None:
    tok(TEXTS, padding=True, truncation=True, max_length=3)
    tok.save_pretrained(tmp_path / "first")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "first")
    loaded(TEXTS, padding="max_length", truncation=True, max_length=5)
    loaded.save_pretrained(tmp_path / "second")
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("first", "second"))
    assert first == second
    assert (loaded.kind, loaded.lowercase) == (tok.kind, True)


def test_a_fresh_process_loads_the_same_tokenizer(tmp_path: Path) -> None:
    tok = TextTokenizer.train(TEXTS, vocab_size=150)
    tok.save_pretrained(tmp_path)
    script = """
import json, sys
from transformers import AutoTokenizer
import hf_attention_zoo
tok = AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps([type(tok).__name__, dict(tok(*sys.argv[2:])), dict(tok("")), tok.surface(sys.argv[2])]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), TEXTS[0], TEXTS[2]],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    name, pair, empty, surface = json.loads(done.stdout.splitlines()[-1])
    assert name == "TextTokenizer" and pair == dict(tok(TEXTS[0], TEXTS[2])) and empty == dict(tok(""))
    assert [tuple(map(tuple, one)) for one in surface] == [tuple(map(tuple, one)) for one in tok.surface(TEXTS[0])]


def test_characters_are_read_and_written_as_they_are(tmp_path: Path) -> None:
    texts = ["흰 개가  달린다.\n", "A white dog\tRuns"]
    tok = TextTokenizer.train(texts, kind="character", vocab_size=60, lowercase=False)
    for text in texts:
        ids = tok(text)["input_ids"]
        assert len(ids) == len(text) and tok.decode(ids) == text
        assert "".join(token.token for token in tok.surface(text)[0]) == text
        assert tok(unicodedata.normalize("NFD", text))["input_ids"] == ids
    assert tok("z")["input_ids"] == [tok.unk_token_id] and not tok.begins_word(ids[0])
    tok.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again.kind == "character" and again(texts)["input_ids"] == tok(texts)["input_ids"]
