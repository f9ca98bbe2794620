"""Texts and pairs of texts, in the forms in which people and pipelines give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Pair = tuple[str, str] | Mapping[str, str]


def as_pair(given: Any) -> tuple[str, str | None]:
    """A text and its partner, None for a single text."""
    if isinstance(given, Mapping) and "text" in given and given.keys() <= {"text", "text_pair"}:
        given = (given["text"], given.get("text_pair"))
    elif isinstance(given, str):
        given = (given, None)
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[0], str):
        raise ValueError(
            f"{given!r:.80} is no text; give strings, tuples of two strings, or {{'text': ..., 'text_pair': ...}}"
        )
    if given[1] is not None and not isinstance(given[1], str):
        raise ValueError(f"the second text is {given[1]!r:.60}; give a string, or None for a single text")
    return given


def given_texts(pair: tuple[str, str | None]) -> tuple[str, ...]:
    """The texts that there are: one or two."""
    return tuple(text for text in pair if text is not None)
