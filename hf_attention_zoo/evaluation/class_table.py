"""Scores class by class, as a table for a person to read."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

MOST_CLASSES = 40
_HEADER = ("precision", "recall", "F1", "support")


def class_lines(classes: Sequence[Mapping[str, Any]], kind: str = "class") -> list[str]:
    """A line for each class: precision, recall, F1 and support, how many of the rows have it.

    Args:
        classes: entries as `ClassScore.as_dict` makes them, in the order of the model's labels.
        kind: what one of them is called.

    Of more than `MOST_CLASSES` the most frequent are shown, and a line says how many are not.
    """
    if not classes:
        return []
    shown = sorted(range(len(classes)), key=lambda place: -classes[place]["texts"])[:MOST_CLASSES]
    rows = [classes[place] for place in sorted(shown)]
    width = max(_columns(kind), *(_columns(str(row["name"])) for row in rows))
    lines = ["  " + _padded(kind, width) + "".join(f"  {name:>9}" for name in _HEADER)]
    for row in rows:
        scores = "".join(f"  {row[name]:9.3f}" for name in ("precision", "recall", "f1"))
        lines.append(f"  {_padded(str(row['name']), width)}{scores}  {row['texts']:9,}")
    if len(rows) < len(classes):
        lines.append(f"  and {len(classes) - len(rows):,} less frequent ones, which the metrics file has")
    return lines


def _columns(text: str) -> int:
    """Columns that a text takes in a terminal: Korean, Chinese and Japanese characters take two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _columns(text))
