"""Encoded text on disk: what is in it does not depend on how much is encoded together, however long documents are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_attention_zoo.tasks.running_text import token_store
from hf_attention_zoo.tasks.running_text.token_store import build_token_store

DOCUMENTS = [["a bb", "", "ccc d e"], [], [""], ["f"] * 7, ["", "gg h", ""], ["iii"]]


class Letters:
    """A tokenizer whose ids are letters; notes how many characters it is given together."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def __len__(self) -> int:
        return 128

    def __call__(self, sentences: list[str], **_: Any) -> dict[str, list[list[int]]]:
        self.given.append(sum(map(len, sentences)))
        return {"input_ids": [[ord(letter) for letter in sentence if letter != " "] for sentence in sentences]}


@pytest.mark.parametrize("characters", [1, 4, 9, 10_000])
def test_the_store_is_the_same_whatever_is_encoded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    monkeypatch.setattr(token_store, "_CHUNK", characters)
    store = build_token_store(DOCUMENTS, Letters(), tmp_path)
    held = [[one.replace(" ", "") for one in document if one] for document in DOCUMENTS]
    held = [document for document in held if document]
    assert store.num_documents == len(held) == len(store.documents) - 1
    for number, document in enumerate(held):
        assert store.sentence_lengths(number) == [len(one) for one in document]
        assert "".join(map(chr, store.document_ids(number))) == "".join(document)
    assert store.num_tokens == store.bounds[-1] == sum(len(one) for document in held for one in document)
    assert (np.diff(store.documents) > 0).all()


def test_a_long_document_is_encoded_in_parts(tmp_path: Path) -> None:
    tokenizer, sentence = Letters(), "word " * 20
    store = build_token_store([[sentence] * 12_000, ["end"]], tokenizer, tmp_path)
    assert max(tokenizer.given) < 2**18 + len(sentence) and len(tokenizer.given) > 3
    assert store.num_documents == 2 and len(store.sentence_lengths(0)) == 12_000
