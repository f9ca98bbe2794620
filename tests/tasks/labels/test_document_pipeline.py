"""`pipeline("text-classification")` with documents of different shapes, one by one and in batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline
from transformers.pipelines import base

from hf_attention_zoo.tasks.labels.pipeline import pad_documents

TEXTS = [
    "It was good. Really good!",
    "Bad",
    "",
    "A much longer sentence of more words. Short.\n\nEnd",
    "이 영화는 좋았다.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_han: Callable[..., Any]) -> Path:
    folder = tmp_path_factory.mktemp("han")
    names = {0: "bad", 1: "good"}
    for part in tiny_han(TEXTS, seed=0, id2label=names, label2id={name: index for index, name in names.items()}):
        part.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("side", ["right", "left"])
def test_batches_of_documents_give_what_each_gives_alone(folder: Path, side: str) -> None:
    classify = pipeline("text-classification", model=str(folder))
    classify.tokenizer.padding_side = side
    alone = [classify(text)[0] for text in TEXTS]
    assert {"good", "bad"} >= {one["label"] for one in alone}
    for size in (1, 2, 5):
        together = classify(TEXTS, batch_size=size)
        assert [one["label"] for one in together] == [one["label"] for one in alone]
        assert [one["score"] for one in together] == pytest.approx([one["score"] for one in alone], abs=1e-6)


def test_all_labels_and_known_sentences_can_be_asked_for(folder: Path) -> None:
    classify = pipeline("text-classification", model=str(folder))
    scores = classify(TEXTS[0], top_k=None)
    assert {entry["label"] for entry in scores} == {"good", "bad"}
    assert sum(entry["score"] for entry in scores) == pytest.approx(1)
    known = classify({"text": [["It was good.", "Really good!"]]})
    assert known["score"] == pytest.approx(scores[0]["score"], abs=1e-6)


def test_features_are_the_sentences(folder: Path) -> None:
    extract = pipeline("feature-extraction", model=str(folder))
    (vectors,) = extract("It was good. Really good!")
    assert len(vectors) == 2 and len(vectors[0]) == 12


def test_padding_is_put_in_once_and_leaves_other_batches_alone() -> None:
    first = base._pad
    pad_documents()
    assert base._pad is first
    flat = [{"input_ids": torch.ones(1, n, dtype=torch.long), "other": torch.ones(1, 2, n)} for n in (2, 3)]
    assert base._pad(flat, "input_ids", 0, "right").tolist() == [[1, 1, 0], [1, 1, 1]]
    assert base._pad([{"input_ids": [1]}], "input_ids", 0, "right") == [[1]]
