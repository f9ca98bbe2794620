"""Texts, pairs and documents as ids: what every task on texts shares."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from datasets import Dataset
from transformers.tokenization_utils_base import VERY_LARGE_INTEGER

Text = str | list[str]


def joined(text: Text) -> str:
    """A text as one string: the sentences of a document with spaces between them."""
    return text if isinstance(text, str) else " ".join(text)


LENGTH = "length"


def symbols_as_text(tokenizer: Any) -> Any:
    """The tokenizer as files are read with it: `[MASK]`, `</s>` and the like that stand in a text are text.

    All that encodes rows and lines of files calls this one, whatever the switch of the given tokenizer is, which goes
    on knowing symbols in texts: direct calls and pipelines follow transformers' convention. Its switch is a part of
    what `datasets` knows encoded rows by, so that none are taken that were encoded otherwise.

    Returns:
        A copy that shares the vocabulary.
    """
    reader = copy.copy(tokenizer)
    reader.split_special_tokens = True
    return reader


def raw_texts(rows: Dataset, limit: int | None = None) -> Iterator[Text]:
    """The texts of the rows, both of a pair, at most of so many rows."""
    names = [name for name in ("text", "text_pair") if name in rows.column_names]
    for row in islice(rows.select_columns(names), limit):
        yield from (row[name] for name in names)


def reads_sentences(tokenizer: Any) -> bool:
    """Whether a tokenizer takes a document as a list of sentences; others get the sentences as one text."""
    return hasattr(tokenizer, "sentences_of")


def encode_texts(tokenizer: Any, texts: list[Text], pairs: list[Text] | None = None, **options: Any) -> Any:
    """What `tokenizer` gives for a batch of texts, documents or pairs of texts, without padding.

    A tokenizer with a limit cuts what is longer, the longer text of a pair first.
    """
    if tokenizer.model_max_length < VERY_LARGE_INTEGER:
        options.setdefault("truncation", True)
    if not reads_sentences(tokenizer):
        texts = [joined(text) for text in texts]
        pairs = [joined(text) for text in pairs] if pairs is not None else None
    return tokenizer(texts, pairs, **options) if pairs is not None else tokenizer(texts, **options)


def drop_long_texts(rows: Dataset, limit: int | None) -> tuple[Dataset, int]:
    """Leave out texts with more tokens than allowed; returns what is left and how many went.

    Raises:
        ValueError: nothing is left.
    """
    if limit is None:
        return rows, 0
    keep = np.flatnonzero(np.asarray(rows[LENGTH]) <= limit)
    if not len(keep):
        raise ValueError(
            f"all {len(rows)} training texts are longer than max_source_length={limit} tokens; allow more"
        )
    return rows.select(keep), len(rows) - len(keep)


def longest_first(rows: Dataset) -> Dataset:
    """Like lengths share a batch, and a batch too large fails at once."""
    return rows.select(np.argsort(-np.asarray(rows[LENGTH]), kind="stable"))


def row_limit(tokenizer: Any) -> int | None:
    """Pieces that a row may have; None for any number."""
    return tokenizer.model_max_length if tokenizer.model_max_length < 1_000_000 else None
