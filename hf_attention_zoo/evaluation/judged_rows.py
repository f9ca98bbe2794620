"""Held-out rows with what a saved model says of them, and whether that is right: the examples of cards are such rows.

A task that knows right from wrong has a `held_out.py` with `held_out_rows(folder, split=..., dataset=...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class JudgedRow:
    """One row.

    Attributes:
        given: the text that the model read; nothing where it saw a picture.
        said: what it answers, in words.
        expected: what the data say.
        right: whether the two are the same; None where they differ and it may still not be wrong.
        pair: the second text, of models that read pairs.
        picture: a PIL picture, of models that see.
    """

    given: str
    said: str
    expected: str
    right: bool | None
    pair: str | None = None
    picture: Any = None


@dataclass(frozen=True)
class HeldOut:
    """The rows of a split that a saved model can be asked for.

    Attributes:
        words: of each row, as many as decide whether it is short enough to be shown.
        judge: indices of rows -> these, judged.
    """

    words: list[int]
    judge: Callable[[Sequence[int]], list[JudgedRow]]
