"""What may be left out in general, in a place where it may not."""

from __future__ import annotations

from typing import TypeVar

Value = TypeVar("Value")


def needed(value: Value | None, name: str, advice: str) -> Value:
    """The value; ValueError with its name and the advice if it is not given."""
    if value is None:
        raise ValueError(f"{name} is not given; {advice}")
    return value
