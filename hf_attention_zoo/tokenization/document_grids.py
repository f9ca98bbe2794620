"""Ids of documents, sentences of words, as lists of their own lengths and as grids padded on both axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Ids = list[list[int]]  # of a document: sentences of words


def depth(values: Any) -> int:
    """How many lists stand around the first number; an empty list counts for itself."""
    if not isinstance(values, list | tuple):
        return 0
    return 1 + max((depth(value) for value in values), default=0)


def is_one_document(values: Any) -> bool:
    """Whether these are the ids of one document; empty lists in a list are documents, since sentences have words."""
    return depth(values) < 3 and not (len(values) and all(isinstance(v, list | tuple) and not v for v in values))


def as_lists(columns: Mapping[str, Any], single: bool) -> dict[str, Any]:
    """The columns without arrays, of a single document without the axis of documents."""
    lists = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    return {name: values[0] for name, values in lists.items()} if single else lists


def grid(documents: list[Ids], height: int, width: int, fill: int, side: str) -> np.ndarray:
    """Documents as a grid (documents, height, width) with `fill` at the end, or at the beginning, of both axes."""
    padded = np.full((len(documents), height, width), fill, dtype=np.int64)
    for number, document in enumerate(documents):
        first = height - len(document) if side == "left" else 0
        for line, sentence in enumerate(document, first):
            start = width - len(sentence) if side == "left" else 0
            padded[number, line, start : start + len(sentence)] = sentence
    return padded
