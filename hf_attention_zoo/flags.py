"""Flags of a command line: whatever is wrong with them is a ValueError of one line; a misspelt one is told."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn


def refused(word: str, known: Iterable[str], program: str) -> ValueError:
    """The error for an argument that a program does not know, with the nearest flag that it has."""
    if not word.startswith("-"):
        return ValueError(f"unexpected argument {word!r}; put a text of several words in quotes")
    flag = word.partition("=")[0]
    spelt = {name.replace("-", "_"): name for name in reversed(list(known))}
    near = difflib.get_close_matches(flag.replace("-", "_"), spelt, n=1)
    advice = f"did you mean {spelt[near[0]]}? " if near else ""
    return ValueError(f"unknown argument {flag!r}; {advice}`{program} --help` lists them all")


class FlagParser(argparse.ArgumentParser):
    """An argument parser whose errors are ValueErrors, so that the caller decides how they are shown."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong, where argparse would print it and end the process."""
        raise ValueError(f"{message} (`{self.prog} --help` tells more)")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The options. Raises ValueError for anything wrong."""
        options, unread = self.parse_known_args(args, namespace)
        if unread:
            flags = [word for word in unread if word.startswith("-") and word != "-"]
            raise refused((flags or unread)[0], self._option_string_actions, self.prog)
        return options
