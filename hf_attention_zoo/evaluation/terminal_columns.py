"""Tables in a terminal, where Korean, Chinese and Japanese characters are two columns wide."""

from __future__ import annotations

import unicodedata


def columns_of(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def filled_up(text: str, width: int) -> str:
    """A text with blanks behind it, so many columns wide."""
    return text + " " * (width - columns_of(text))
