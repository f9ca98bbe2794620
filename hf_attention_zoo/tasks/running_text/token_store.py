"""Encoded text on disk: ids of all documents in one file, with the bounds of sentences and documents beside it.

A corpus is encoded once, in passing, and read from the files piece by piece, so that neither needs memory for more
than the document at hand, whatever the size of the corpus. Any document can be reached at once, which the random
second texts of BERT need.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from transformers.utils import logging

from hf_attention_zoo.data.text_encoding import symbols_as_text
from hf_attention_zoo.tasks.running_text.rows import Document, DocumentSource
from hf_attention_zoo.whole_files import checksum, whole_file, write_json

logger = logging.get_logger(__name__)

TOKENS, SENTENCES, DOCUMENTS, STATE = "tokens.bin", "sentences.bin", "documents.bin", "store.json"
# A part of the identity of encoded text: what was encoded when symbols in texts were no text is encoded again.
READING = "symbols are text"
# Characters that are encoded together: the tokenizer needs some hundred times as many bytes while it does so.
_CHUNK = 2**18


class TokenStore:
    """Ids of documents, read from a folder that `build` filled.

    Sentences are numbered through all documents: sentence s has the ids `bounds[s]` to `bounds[s + 1]`, document d the
    sentences `documents[d]` to `documents[d + 1]`.

    Raises:
        ValueError: the folder holds no finished store, or a file of it was cut off.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        state = read_state(self.folder)
        if state is None:
            raise ValueError(f"{folder} holds no finished encoded text; build it first")
        self.state: dict[str, Any] = state
        wrong = wrong_length(self.folder, self.state)
        if wrong is not None:
            raise ValueError(f"the encoded text in {folder} is damaged: {wrong}; delete the folder and build it again")
        self.kind = np.dtype(self.state["kind"])
        self.num_documents: int = self.state["documents"]
        self.num_tokens: int = self.state["tokens"]
        self._file: FileIO | None = None
        self._owner = os.getpid()
        self._maps: dict[str, np.ndarray] = {}

    @property
    def bounds(self) -> np.ndarray:
        """First id of each sentence, and the number of ids behind the last, (S + 1,)."""
        return self._map(SENTENCES)

    @property
    def documents(self) -> np.ndarray:
        """First sentence of each document, and the number of sentences behind the last, (D + 1,)."""
        return self._map(DOCUMENTS)

    def sentence_lengths(self, document: int) -> list[int]:
        """Ids of each sentence of a document."""
        first, last = self.documents[document], self.documents[document + 1]
        return np.diff(self.bounds[first : last + 1]).tolist()

    def document_length(self, document: int) -> int:
        """Ids of a document."""
        return int(self.bounds[self.documents[document + 1]] - self.bounds[self.documents[document]])

    def sentence_ids(self, document: int, first: int, last: int) -> np.ndarray:
        """Ids of the sentences `first` to `last - 1` of a document as int64, (n,)."""
        start = self.documents[document]
        return self.read(int(self.bounds[start + first]), int(self.bounds[start + last]))

    def document_ids(self, document: int) -> np.ndarray:
        """Ids of a document as int64, (n,)."""
        return self.read(int(self.bounds[self.documents[document]]), int(self.bounds[self.documents[document + 1]]))

    def read(self, start: int, end: int) -> np.ndarray:
        """The ids `start` to `end - 1` of the whole text as int64."""
        if self._file is None or self._owner != os.getpid():  # a worker opens its own
            self._check_same()
            self._file, self._owner = (self.folder / TOKENS).open("rb", buffering=0), os.getpid()
        width = self.kind.itemsize
        read = os.pread(self._file.fileno(), (end - start) * width, start * width)
        if len(read) != (end - start) * width:
            raise ValueError(f"{self.folder / TOKENS} was cut off while it was read; start again")
        return np.frombuffer(read, self.kind).astype(np.int64)

    def _map(self, name: str) -> np.ndarray:
        if name not in self._maps:
            self._maps[name] = np.memmap(self.folder / name, dtype=np.int64, mode="r")
        return self._maps[name]

    def _check_same(self) -> None:
        """Raises ValueError if another run has put another text into the folder."""
        if read_state(self.folder) != self.state:
            raise ValueError(
                f"the encoded text in {self.folder} was replaced by another run; give each text a --cache_dir of its "
                "own"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "state": self.state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        TokenStore.__init__(self, state["folder"])
        self.state = state["state"]
        self._check_same()


def build_token_store(documents: Iterable[Document], tokenizer: Any, folder: str | Path) -> TokenStore:
    """Encode documents, or take what is in the folder if it is the same text under the same tokenizer.

    Sentences without ids and documents without sentences are left out. Python objects have no name, so they are
    encoded anew each time.

    Args:
        documents: lists of sentences, best a `DocumentSource`, which knows files from changed files.
        tokenizer: called with sentences, without special tokens.
        folder: is made; an unfinished or other store in it is overwritten.

    Raises:
        ValueError: there is no text.
    """
    folder = Path(folder)
    identity = identity_of(documents, tokenizer)
    found = read_state(folder)
    if found is not None and identity is not None and found["identity"] == identity:
        wrong = damage(folder, found)
        if wrong is None:
            return TokenStore(folder)
        logger.warning(f"the encoded text in {folder} is damaged ({wrong}); the text is encoded again")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STATE).unlink(missing_ok=True)
    kind = np.dtype(np.uint16 if len(tokenizer) <= 2**16 else np.uint32)
    tokens = sentences = texts = 0
    with ExitStack() as stack:
        ids_file, bounds_file, documents_file = (
            stack.enter_context(stack.enter_context(whole_file(folder / name)).open("wb"))
            for name in (TOKENS, SENTENCES, DOCUMENTS)
        )
        bounds_file.write(np.zeros(1, np.int64).tobytes())
        documents_file.write(np.zeros(1, np.int64).tobytes())
        begun = 0  # first sentence of the document at hand
        for chunk in _chunks(documents):
            bounds, ends = [], []
            for ids, (_, is_last) in zip(encode_sentences(tokenizer, [one for one, _ in chunk]), chunk, strict=True):
                if ids:
                    ids_file.write(np.asarray(ids, kind).tobytes())
                    tokens += len(ids)
                    sentences += 1
                    bounds.append(tokens)
                if is_last and sentences > begun:
                    ends.append(sentences)
                    begun, texts = sentences, texts + 1
            bounds_file.write(np.asarray(bounds, np.int64).tobytes())
            documents_file.write(np.asarray(ends, np.int64).tobytes())
    if not tokens:
        raise ValueError("the documents hold no text; check that the column and the split are the right ones")
    counts = {"documents": texts, "sentences": sentences, "tokens": tokens}
    state: dict[str, Any] = {"identity": identity, "kind": kind.name, **counts}
    state["files"] = {name: checksum(folder / name) for name in (TOKENS, SENTENCES, DOCUMENTS)}
    write_json(folder / STATE, state)
    return TokenStore(folder)


def encode_sentences(tokenizer: Any, sentences: list[str]) -> list[list[int]]:
    """Ids of each sentence without special tokens: those that stand in a sentence are text."""
    if not sentences:
        return []
    reader = symbols_as_text(tokenizer)
    return reader(sentences, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]


def identity_of(documents: Iterable[Document], tokenizer: Any) -> str | None:
    """A digest of text and tokenizer; None for Python objects, which have no name."""
    source = documents.identity() if isinstance(documents, DocumentSource) else None
    if source is None:
        return None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab(), sort_keys=True)
    return hashlib.sha256(json.dumps([source, rules, READING], sort_keys=True, default=str).encode()).hexdigest()


def read_state(folder: Path) -> dict[str, Any] | None:
    """What a finished store says of itself; None if there is none."""
    try:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    wanted = {"identity", "kind", "documents", "sentences", "tokens"}
    return state if isinstance(state, dict) and wanted <= state.keys() else None


def wrong_length(folder: Path, state: dict[str, Any]) -> str | None:
    """Which file has another length than the store says of itself; None if all are right."""
    lengths = {
        TOKENS: state["tokens"] * np.dtype(state["kind"]).itemsize,
        SENTENCES: (state["sentences"] + 1) * 8,
        DOCUMENTS: (state["documents"] + 1) * 8,
    }
    for name, wanted in lengths.items():
        there = (folder / name).stat().st_size if (folder / name).is_file() else 0
        if there != wanted:
            return f"{name} has {there:,} bytes of {wanted:,}"
    return None


def damage(folder: Path, state: dict[str, Any]) -> str | None:
    """What is wrong with the files of a store, by length and by content; None if they are whole."""
    wrong = wrong_length(folder, state)
    changed = (name for name, known in state.get("files", {}).items() if wrong or checksum(folder / name) != known)
    return wrong or next((f"{name} is not what was written" for name in changed), None)


def _chunks(documents: Iterable[Document]) -> Iterator[list[tuple[str, bool]]]:
    """Sentences of about so many characters, each with whether it is the last of its document."""
    chunk: list[tuple[str, bool]] = []
    size = 0
    for document in documents:
        for number, sentence in enumerate(document, 1):
            chunk.append((sentence, number == len(document)))
            size += len(sentence)
            if size >= _CHUNK:
                yield chunk
                chunk, size = [], 0
    if chunk:
        yield chunk
