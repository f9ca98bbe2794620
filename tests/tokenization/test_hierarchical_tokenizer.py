"""Documents to ids: sentences, words, both limits, both paddings, saving."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, DataCollatorWithPadding

from hf_attention_zoo import HierarchicalTokenizer

DOCUMENTS = [
    "Dr. Smith paid $3.50 for it. Was it good? It was!\n\nA new\nparagraph",
    "이 영화는 정말 좋았습니다. 배우들의 연기가 훌륭했어요! 다시 보고 싶나요?",
    "One sentence only",
    "",
]


@pytest.fixture(scope="module", params=["word", "subword"])
def tok(request: pytest.FixtureRequest) -> HierarchicalTokenizer:
    return HierarchicalTokenizer.train(DOCUMENTS, vocab_size=150, kind=request.param)


def test_a_text_is_split_where_sentences_and_paragraphs_end(tok: HierarchicalTokenizer) -> None:
    assert tok.sentences_of(DOCUMENTS[0]) == [
        "Dr. Smith paid $3.50 for it.",
        "Was it good?",
        "It was!",
        "A new\nparagraph",
    ]
    assert tok.sentences_of(DOCUMENTS[1]) == [
        "이 영화는 정말 좋았습니다.",
        "배우들의 연기가 훌륭했어요!",
        "다시 보고 싶나요?",
    ]
    assert tok.sentences_of("  \n\n ") == tok.sentences_of("") == tok.sentences_of(["", "  "]) == []


def test_known_sentences_stay_as_they_are(tok: HierarchicalTokenizer) -> None:
    assert tok.sentences_of(["One. Two.", "", "Three"]) == ["One. Two.", "Three"]
    (nested,) = tok([["Was it good?", " ", "It was!"]])["input_ids"]
    assert nested == tok("Was it good? It was!")["input_ids"]


def test_one_text_is_a_document_and_a_list_of_texts_a_batch(tok: HierarchicalTokenizer) -> None:
    one, batch = tok(DOCUMENTS[0]), tok(DOCUMENTS)
    assert len(one["input_ids"]) == 4 and one["input_ids"] == batch["input_ids"][0]
    assert batch["input_ids"][3] == batch["attention_mask"][3] == []
    assert [len(s) for s in one["attention_mask"]] == [len(s) for s in one["input_ids"]]
    assert tok([])["input_ids"] == []


def test_tensors_are_padded_on_both_axes(tok: HierarchicalTokenizer) -> None:
    made = tok(DOCUMENTS, return_tensors="pt")
    ids, mask = made.input_ids, made.attention_mask
    assert ids.shape == mask.shape and ids.shape[:2] == (4, 4)
    for row, document in enumerate(tok(DOCUMENTS)["input_ids"]):
        for line, sentence in enumerate(document):
            assert ids[row, line, : len(sentence)].tolist() == sentence
            assert mask[row, line].tolist() == [1] * len(sentence) + [0] * (ids.shape[2] - len(sentence))
        assert not mask[row, len(document) :].any() and not ids[row, len(document) :].any()
    left = tok(DOCUMENTS, return_tensors="pt", padding_side="left")
    assert torch.equal(left.input_ids[left.attention_mask.bool()], ids[mask.bool()])
    assert left.attention_mask[2, -1, -1] == 1 and left.attention_mask[2, 0].sum() == 0


def test_an_empty_document_is_a_row_of_pads(tok: HierarchicalTokenizer) -> None:
    assert tok("")["input_ids"] == []
    made = tok("", return_tensors="pt")
    assert made.input_ids.tolist() == [[[0]]] and made.attention_mask.tolist() == [[[0]]]


def test_the_padding_collator_keeps_labels_and_pads_documents(tok: HierarchicalTokenizer) -> None:
    rows = [{**tok(document), "label": number} for number, document in enumerate(DOCUMENTS)]
    batch = DataCollatorWithPadding(tok)(rows)
    wanted = tok(DOCUMENTS, return_tensors="pt")
    assert torch.equal(batch["input_ids"], wanted.input_ids)
    assert torch.equal(batch["attention_mask"], wanted.attention_mask)
    assert batch["labels"].tolist() == [0, 1, 2, 3]


def test_pad_takes_one_document_a_batch_and_tensors(tok: HierarchicalTokenizer) -> None:
    one = tok.pad(tok(DOCUMENTS[0]))
    assert len({len(sentence) for sentence in one["input_ids"]}) == 1
    batch = tok.pad(tok(DOCUMENTS), return_tensors="pt", pad_to_multiple_of=16)
    assert batch.input_ids.shape[2] % 16 == 0
    again = tok.pad([{"input_ids": batch.input_ids[0]}, {"input_ids": batch.input_ids[1]}], return_tensors="pt")
    assert again.input_ids.shape[0] == 2
    for empty in (tok(["", ""]), {"input_ids": [[], []]}):
        assert tok.pad(empty, return_tensors="pt").input_ids.shape == (2, 1, 1)
    with pytest.raises(ValueError, match="input_ids are wanted"):
        tok.pad([{"ids": [[1]]}])


def test_limits_cut_both_axes_and_the_log_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    tok = HierarchicalTokenizer.train(DOCUMENTS, vocab_size=150, max_sentences=2, max_words=3)
    with caplog.at_level(logging.WARNING):
        made = tok(DOCUMENTS)
        tok(DOCUMENTS)
    assert [len(document) for document in made["input_ids"]] == [2, 2, 1, 0]
    assert max(len(sentence) for document in made["input_ids"] for sentence in document) == 3
    assert [record.message for record in caplog.records if "said once" in record.message] == [
        "documents of up to 4 sentences and sentences of up to 9 words are cut to max_sentences=2 and max_words=3; "
        "this is said once"
    ]
    assert tok.surface(DOCUMENTS[0]) == [["Dr", ".", "Smith"], ["Was", "it", "good"]]
    assert len(tok(DOCUMENTS[0], max_sentences=3)["input_ids"]) == 3
    fixed = tok(DOCUMENTS[2], padding="max_length", return_tensors="pt", max_words=9)
    assert fixed.input_ids.shape == (1, 2, 9)


def test_nothing_is_cut_without_limits(tok: HierarchicalTokenizer) -> None:
    long = [["word " * 700] * 300]
    (document,) = tok(long)["input_ids"]
    assert len(document) == 300 and len(document[0]) >= 700


def test_the_surface_is_the_text_of_each_id(tok: HierarchicalTokenizer) -> None:
    text = "Was Ünknown it? 다시 보고"
    ids, surface = tok(text)["input_ids"], tok.surface(text)
    assert [len(sentence) for sentence in ids] == [len(sentence) for sentence in surface]
    assert surface[0][0] == "Was" if tok.kind == "word" else "".join(surface[0]).startswith("Was")
    if tok.kind == "word":
        assert surface == [["Was", "Ünknown", "it", "?"], ["다시", "보고"]]


def test_decoding_gives_the_document_back_in_words(tok: HierarchicalTokenizer) -> None:
    text = "Was it good? It was!"
    made = tok.decode(tok(text)["input_ids"])
    assert made.replace(" ", "") == text.lower().replace(" ", "")
    assert tok.batch_decode(tok([text, ""], return_tensors="pt").input_ids, skip_special_tokens=True) == [made, ""]
    assert tok.tokenize(text)[0].lstrip("▁") == "was"
    assert tok.tokenize(text, None, True) == tok.tokenize(text)  # as transformers has its arguments


def test_decomposed_hangul_is_composed(tok: HierarchicalTokenizer) -> None:
    loose = unicodedata.normalize("NFD", DOCUMENTS[1])
    assert tok(loose)["input_ids"] == tok(DOCUMENTS[1])["input_ids"]
    assert tok.surface(loose) == tok.surface(DOCUMENTS[1])


def test_pads_and_unknown_words_have_the_first_ids(tok: HierarchicalTokenizer) -> None:
    assert (tok.pad_token_id, tok.unk_token_id) == (0, 1)
    assert tok("𓂀")["input_ids"][0][-1] == 1


def test_a_fresh_process_encodes_the_same(tok: HierarchicalTokenizer, tmp_path: Path) -> None:
    tok.max_words = 5
    try:
        tok.save_pretrained(tmp_path)
        wanted = tok(DOCUMENTS, return_tensors="pt").input_ids
    finally:
        tok.max_words = None
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is HierarchicalTokenizer
    assert (again.max_words, again.language, again.kind, again.lowercase) == (5, "en", tok.kind, True)
    assert torch.equal(again(DOCUMENTS, return_tensors="pt").input_ids, wanted)
    if tok.kind == "subword":
        return
    script = (
        "import hf_attention_zoo\nfrom transformers import AutoTokenizer\n"
        f"tok = AutoTokenizer.from_pretrained({str(tmp_path)!r})\nprint(tok({DOCUMENTS!r})['input_ids'])"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == str(again(DOCUMENTS)["input_ids"])


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        (("a", "b"), {}, "not pairs of texts"),
        (("a",), {"max_length": 5}, "two lengths; give max_sentences and max_words"),
        (("a",), {"max_words": 0}, "max_words=0; give a whole number of 1 or more"),
        (("a",), {"padding": "max_length"}, "set both, or use padding=True"),
        (("a",), {"return_offsets_mapping": True}, "surface"),
        ((3,), {}, "the text is int"),
        (([3],), {}, "a document is a text or a list of sentences, got 3"),
        (([["a"]],), {"is_split_into_words": True}, "give sentences as strings"),
        (("\ud800",), {}, "lone surrogate"),
    ],
)
def test_what_cannot_be_encoded_is_refused(arguments: tuple, options: dict[str, Any], message: str) -> None:
    tok = HierarchicalTokenizer.train(DOCUMENTS, vocab_size=150)
    with pytest.raises(ValueError, match=message):
        tok(*arguments, **options)


@pytest.mark.parametrize(
    "texts, options, message",
    [
        (["a"], {"kind": "letters"}, "kind='letters' is not known"),
        (["a"], {"vocab_size": 2}, "vocab_size=2"),
        (["a"], {"max_sentences": 1.5}, "max_sentences=1.5"),
        (["", []], {}, "hold no text"),
    ],
)
def test_what_cannot_be_trained_is_refused(texts: list, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HierarchicalTokenizer.train(texts, **{"vocab_size": 50, **options})


def test_rare_words_are_left_out_of_the_vocabulary() -> None:
    tok = HierarchicalTokenizer.train([["good good bad"], "good bad rare"], vocab_size=50, min_frequency=2)
    assert tok("good bad rare")["input_ids"] == [[2, 3, 1]]
