"""The words of the entry that is used: a message names flags on the command line, and arguments in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_COMMAND: ContextVar[bool] = ContextVar("command", default=False)


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """While this is open, messages name flags."""
    before = _COMMAND.set(True)
    try:
        yield
    finally:
        _COMMAND.reset(before)


def said(arguments: str, flags: str) -> str:
    """One of two ways to say what to do: with arguments of a function, or with flags of the command."""
    return flags if _COMMAND.get() else arguments
