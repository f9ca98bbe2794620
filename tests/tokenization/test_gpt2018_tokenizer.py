"""GPT's byte pairs: words with and without the text packages, task formats, the release's files, saving."""

import json
import random
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from datasets.fingerprint import Hasher
from transformers import AutoTokenizer

from hf_attention_zoo import GPT2018Config, GPT2018ForCausalLM, GPT2018Tokenizer
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tokenization import english_words
from hf_attention_zoo.tokenization.old_text_rules import original_words, plain_words, standardised

TEXTS = [
    "A white dog runs fast.",
    "흰 개가 달린다.",
    'He said: "I don\'t know" -- so what?\nNew line',
    "lower low lowest",
] * 4


@pytest.fixture(scope="module")
def tok() -> GPT2018Tokenizer:
    return GPT2018Tokenizer.train(TEXTS, vocab_size=200, text_packages=False)


def test_dashes_dots_and_runs_of_marks_are_words_and_so_is_a_line_end() -> None:
    assert plain_words("Wait—what…  (A) x--y\n\n b ´s") == [
        "wait", "-", "what", "...", "(", "a", ")", "x", "--", "y", "\n", "b", "'", "s",
    ]  # fmt: skip
    assert plain_words("The end. 3.50 e.g. 'a'") == ["the", "end", ".", "3.50", "e.g", ".", "'", "a", "'"]
    assert plain_words("") == plain_words(" \t ") == []


def test_the_packages_cut_words_as_the_authors_had_them() -> None:
    assert original_words("I don't know--he said…\nOK.") == [
        "i", "do", "n't", "know", "--", "he", "said", "...", "\n", "ok", ".",
    ]  # fmt: skip
    assert original_words("sch\u00c3\u00b6n") == ["schön"]
    trained = GPT2018Tokenizer.train(TEXTS, vocab_size=200)
    assert trained.text_packages and trained.words("I don't") == ["i", "do", "n't"]


@pytest.mark.parametrize("cut", [plain_words, original_words])
def test_a_backslash_stays_in_its_word_and_every_other_mark_of_the_list_leaves_it(
    cut: Callable[[str], list[str]],
) -> None:
    for text in ("C:\\dir\\file", "a\\b", "\\\\", "x\\", "\\section"):
        assert cut(f"see {text} here") == ["see", text.lower(), "here"] and standardised(text) == text
    for mark in '-~!";?+,)(/*[]}{|_':
        words = cut(f"cat{mark}{mark}\\dog")
        assert (words[0], "".join(words[1:-1]), words[-1]) == ("cat", mark * 2, "\\dog")


def test_words_are_lower_cased_and_end_with_their_mark(tok: GPT2018Tokenizer) -> None:
    assert tok("LOW Lower")["input_ids"] == tok("low lower")["input_ids"]
    pieces = tok.tokenize("low lowest")
    assert [piece for piece in pieces if piece.endswith("</w>")] == [pieces[len(tok.tokenize("low")) - 1], pieces[-1]]
    assert "".join(pieces).split("</w>") == ["low", "lowest", ""]
    assert tok.decode(tok("A white dog\nruns.")["input_ids"]) == "a white dog \n runs ."
    assert tok("日")["input_ids"] == [0] == [tok.unk_token_id]
    assert tok("")["input_ids"] == []


def test_korean_survives(tok: GPT2018Tokenizer) -> None:
    text = "흰 개가 달린다"
    for given in (text, unicodedata.normalize("NFD", text)):
        ids = tok(given)["input_ids"]
        assert tok.unk_token_id not in ids and tok.decode(ids) == text


def test_without_merges_a_word_is_its_letters(tmp_path: Path) -> None:
    vocabulary, merges = tmp_path / "encoder.json", tmp_path / "vocab.bpe"
    pieces = ["<unk>", "l", "o", "w", "w</w>", "lo"]
    vocabulary.write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    merges.write_text("#version: 0.2\n")
    tok = GPT2018Tokenizer.from_release(vocabulary, merges, text_packages=False)
    assert tok.tokenize("low") == ["l", "o", "w</w>"] and tok.pad_token is None
    merges.write_text("#version: 0.2\nl o\n")
    tok = GPT2018Tokenizer.from_release(vocabulary, merges, text_packages=False)
    assert tok("LOW")["input_ids"] == [5, 4]
    with pytest.raises(ValueError, match="no symbols for tasks"):
        tok.use_task_format()


def test_symbols_for_tasks_are_added_with_rows_of_the_first_distribution(tmp_path: Path) -> None:
    vocabulary, merges = tmp_path / "encoder.json", tmp_path / "vocab.bpe"
    vocabulary.write_text(json.dumps({"<unk>": 0, "a</w>": 1, "b</w>": 2}))
    merges.write_text("#version: 0.2\n")
    tok = GPT2018Tokenizer.from_release(vocabulary, merges, text_packages=False)
    model = GPT2018ForCausalLM(
        GPT2018Config(vocab_size=3, hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    )
    before = model.get_input_embeddings().weight.detach().clone()
    tok.add_task_symbols(model)
    table = model.get_input_embeddings().weight
    assert len(tok) == 7 == len(table) and model.lm_head.weight is table
    assert torch.equal(table[:3], before) and 0.01 < table[3:].std() < 0.03
    assert (model.config.pad_token_id, model.config.delimiter_token_id) == (3, tok.delimiter_token_id)
    assert tok.use_task_format()("a", "b")["input_ids"] == [4, 1, 5, 2, 6]


def test_tasks_are_written_as_in_the_paper_and_plain_texts_get_nothing(tok: GPT2018Tokenizer, tmp_path: Path) -> None:
    plain = tok("a dog")["input_ids"]
    task = GPT2018Tokenizer.train(TEXTS, vocab_size=200, text_packages=False, task_format=True)
    start, delimiter, extract = (task.convert_tokens_to_ids(t) for t in ("_start_", "_delimiter_", "_classify_"))
    assert task("a dog")["input_ids"] == [start, *plain, extract]
    assert task("a dog", "low")["input_ids"] == [start, *plain, delimiter, *tok("low")["input_ids"], extract]
    cut = task("a dog " * 20, "low", truncation=True, max_length=9)["input_ids"]
    assert len(cut) == 9 and cut[0] == start and cut[-1] == extract and delimiter in cut
    task.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is GPT2018Tokenizer and again.task_format
    assert again("a dog", "low") == task("a dog", "low")
    assert again.use_task_format(False)("a dog")["input_ids"] == plain


def test_written_symbols_stay_whole(tok: GPT2018Tokenizer) -> None:
    ids = tok("_start_ a_b _delimiter_ dog")["input_ids"]
    assert ids[0] == tok.convert_tokens_to_ids("_start_") and tok.delimiter_token_id in ids


def test_many_written_symbols_are_read_one_after_the_other(tok: GPT2018Tokenizer) -> None:
    ids = tok("<unk> dog " * 1500)["input_ids"]
    assert ids.count(tok.unk_token_id) == 1500 and ids == tok("<unk> dog ")["input_ids"] * 1500
    other = GPT2018Tokenizer.train(TEXTS, vocab_size=200, text_packages=False)
    before = other("low<new>low")["input_ids"]
    other.add_tokens(["<new>"])
    after = other("low<new>low")["input_ids"]
    assert after != before and other.convert_tokens_to_ids("<new>") in after
    key = Hasher.hash(other)
    other("a _start_ dog")
    assert Hasher.hash(other) == key  # of the caches of data sets


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "text",
    ["A white dog runs…  low--LOW.\n\n New “line”", " 흰 개가_delimiter_ 달린다, İ ΣΑΣ ´x´ ", "\n", "", "so what?"],
)
def test_offsets_point_at_the_characters_of_the_text(tok: GPT2018Tokenizer, form: str, text: str) -> None:
    text = unicodedata.normalize(form, text)
    made = tok([text, text], return_offsets_mapping=True)
    for ids, offsets in zip(made["input_ids"], made["offset_mapping"], strict=True):
        pieces = [piece.removesuffix("</w>") for piece in tok.convert_ids_to_tokens(ids)]
        for piece, (start, end) in zip(pieces, offsets, strict=True):
            covered = unicodedata.normalize("NFC", text[start:end])
            assert start < end and (piece == "<unk>" or piece in "".join(plain_words(covered)) or piece == covered)
        shown = {place for start, end in offsets for place in range(start, end)}
        assert all(letter.isspace() for place, letter in enumerate(text) if place not in shown)


def test_offsets_in_a_mended_text_are_refused() -> None:
    tok = GPT2018Tokenizer.train(TEXTS, vocab_size=200, text_packages=True)
    text = "I don't know…"
    offsets = tok(text, return_offsets_mapping=True)["offset_mapping"]
    assert "".join(text[start:end] for start, end in offsets if end - start).startswith("Idon't")
    with pytest.raises(ValueError, match="mended before it was cut"):
        tok("sch\u00c3\u00b6n", return_offsets_mapping=True)
    assert tok("sch\u00c3\u00b6n")["input_ids"]


def test_the_kept_rules_are_those_of_spacy(load_script: Callable[[str], ModuleType]) -> None:
    spacy = pytest.importorskip("spacy", reason="the rules were copied from it")
    kept, made = english_words.rules(), load_script("build_english_rules").rules_of_spacy()
    if spacy.__version__ == "3.8.18":  # others may have other rules, and ids must not follow them
        assert [pattern.pattern for pattern in made[:4]] == [pattern.pattern for pattern in kept[:4]]
        assert made.exceptions == kept.exceptions


def test_words_are_cut_as_spacy_cuts_them() -> None:
    """The same rules in both, on texts of the samples and on nonsense of marks and exceptions."""
    spacy = pytest.importorskip("spacy", reason="what is compared with")
    kept, cut = english_words.rules(), spacy.blank("en").tokenizer
    cut.prefix_search, cut.suffix_search = kept.prefix.search, kept.suffix.search
    cut.infix_finditer, cut.url_match = kept.infix.finditer, kept.url.match
    cut.rules = {text: [{"ORTH": part} for part in parts] for text, parts in kept.exceptions.items()}
    drawn = random.Random(0)
    letters = [
        *"ab A1.,;:'\"-/()[]{}!?$%&*+=<>@#_^~`|\\\n \u2026\u2014\u2019\u201c\u201d\u20ac\u00b0\u00b5\uac00\u00e9",
        *kept.exceptions,
    ]
    texts = ["".join(drawn.choices(letters, k=drawn.randint(1, 25))) for _ in range(1500)]
    texts += [row["text"] for row in load_labelled("sent_vader")[0]["test"]][:300]
    for text in map(standardised, texts):
        wanted = ["\n" if word.is_space else word.text for word in cut(text) if not word.is_space or "\n" in word.text]
        assert english_words.english_words(text) == wanted, text


def test_no_package_but_the_base_ones_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tok = GPT2018Tokenizer.train(TEXTS, vocab_size=200)
    assert tok.text_packages
    tok.save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert AutoTokenizer.from_pretrained(tmp_path)(TEXTS[2])["input_ids"] == tok(TEXTS[2])["input_ids"]
    assert original_words("I don't know: e.g. 3.5km.") == ["i", "do", "n't", "know", ":", "e.g.", "3.5", "km", "."]
