"""Encoded text on disk: what is in it does not depend on how much is encoded together, however long documents are."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_attention_zoo.tasks.running_text import token_store
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.running_text.token_store import (
    DOCUMENTS as DOCUMENTS_FILE,
)
from hf_attention_zoo.tasks.running_text.token_store import (
    SENTENCES,
    STATE,
    TOKENS,
    TokenStore,
    build_token_store,
)

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


@pytest.fixture
def text(tmp_path: Path) -> DocumentSource:
    (tmp_path / "train.txt").write_text("a bb\n\nccc d e\nf f f\n\ngg h\n")
    return DocumentSource(str(tmp_path / "train.txt"))


class NamedLetters(Letters):
    """Letters with rules by which a store knows them again."""

    def get_vocab(self) -> dict[str, int]:
        return {chr(number): number for number in range(128)}


DAMAGES = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
    "changed": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
}


@pytest.mark.parametrize("name", [TOKENS, SENTENCES, DOCUMENTS_FILE, STATE])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_noticed_and_made_again(
    text: DocumentSource, tmp_path: Path, name: str, damage: str
) -> None:
    folder, tokenizer = tmp_path / "store", NamedLetters()
    whole = build_token_store(text, tokenizer, folder)
    held = {file: (folder / file).read_bytes() for file in (TOKENS, SENTENCES, DOCUMENTS_FILE)}
    tokenizer.given.clear()
    assert build_token_store(text, tokenizer, folder).state == whole.state and not tokenizer.given
    DAMAGES[damage](folder / name)
    if damage != "changed":
        with pytest.raises(ValueError, match=r"is damaged: .* bytes|holds no finished"):
            TokenStore(folder)
    build_token_store(text, tokenizer, folder)
    assert tokenizer.given and {file: (folder / file).read_bytes() for file in held} == held


def test_a_text_that_another_run_replaced_is_not_read_on(text: DocumentSource, tmp_path: Path) -> None:
    store = build_token_store(text, NamedLetters(), tmp_path / "store")
    sent = pickle.dumps(store)
    build_token_store([["other"]], NamedLetters(), tmp_path / "store")
    with pytest.raises(ValueError, match="replaced by another run"):
        store.document_ids(0)
    with pytest.raises(ValueError, match="replaced by another run"):
        pickle.loads(sent)
