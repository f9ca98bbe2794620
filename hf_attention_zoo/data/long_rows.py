"""Rows that are far longer than the others: a file that was pasted into a cell, a missing line break or quote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset

TIMES = 1000
"""A row is far longer than the others with so many times the characters of the middle one."""


def characters_of(rows: Any) -> np.ndarray | None:
    """Characters of all texts of each row, (N); None for streams and what holds no texts.

    Args:
        rows: a `datasets.Dataset`, or anything with `captions`, a list of texts a row.
    """
    captions = getattr(rows, "captions", None)
    if captions is not None:
        return np.array([sum(map(len, texts)) for texts in captions])
    if not isinstance(rows, Dataset) or not len(rows):
        return None
    found = np.zeros(len(rows), dtype=np.int64)
    table = rows.with_format("arrow")[:]
    for column in table.columns:
        found += _characters(column.combine_chunks())
    return found


def _characters(column: Any) -> np.ndarray:
    """Characters of each entry of an Arrow column: texts, and lists of them at any depth."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(pc.utf8_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.concatenate([[0], np.cumsum(_characters(column.flatten()))])
        counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        places = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return ends[places[1:]] - ends[places[:-1]]
    return np.zeros(len(column), dtype=np.int64)


def said_of_long_rows(rows: Any, name: str) -> str | None:
    """A line about the longest row, if it is at least `TIMES` as long as the middle one; else None."""
    found = characters_of(rows)
    if found is None or len(found) < 2:
        return None
    middle, longest = max(1.0, float(np.median(found))), int(found.argmax())
    many = int((found >= TIMES * middle).sum())
    if not many:
        return None
    others = f" ({many - 1:,} more are like it)" if many > 1 else ""
    return (
        f"row {longest + 1:,} of the {name} rows has {found[longest]:,} characters, {found[longest] / middle:,.0f} "
        f"times as many as the middle row{others}: look whether a quotation mark or line break is missing there"
    )
