"""Flags of a command line: whatever is wrong with them is a ValueError of one line; a misspelt one is told."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from hf_attention_zoo.near_names import did_you_mean, near_names


def refused(word: str, known: Iterable[str], program: str, listing: str = "--help") -> ValueError:
    """The error for an argument that a program does not know, with the nearest flag that it has.

    Args:
        listing: the flag that lists all flags of the program.
    """
    if not word.startswith("-"):
        return ValueError(f"unexpected argument {word!r}; put a text of several words in quotes")
    flag = word.partition("=")[0]
    near = near_names(flag, known)
    advice = f"did you mean {near[0]}? " if near else ""
    return ValueError(f"unknown argument {flag!r}; {advice}`{program} {listing}` lists them all")


FIRST = "flags that matter first"
MOST_FIRST = 10


class FlagFormatter(argparse.HelpFormatter):
    """Help that shows each flag by its first spelling, with underscores."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.option_strings[0] == "-h":
            return super()._format_action_invocation(action)
        value = "" if action.nargs == 0 else f" {self._format_args(action, 'VALUE')}"
        return f"{action.option_strings[0]}{value}"


class FlagParser(argparse.ArgumentParser):
    """An argument parser whose errors are ValueErrors, so that the caller decides how they are shown.

    Its help begins with one short line of usage and shows flags by group: a command with more than `MOST_FIRST` flags
    puts those that matter first into the first group (`flags_by_group`).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": FlagFormatter, **options})

    def flags_by_group(self, groups: Mapping[str, Sequence[str]], rest: str = "further flags") -> None:
        """Put the flags under titles, in this order; what no group names comes last, under `rest`.

        Args:
            groups: title -> flags, as they are spelt first (`--num_beams`).

        Raises:
            ValueError: a flag that the parser does not have.
        """
        known = {action.option_strings[0]: action for action in self._actions if action.option_strings}
        unknown = [flag for flags in groups.values() for flag in flags if flag not in known]
        if unknown:
            raise ValueError(f"no flags {', '.join(unknown)}; there are {', '.join(known)}")
        beside = {title: [*flags, *map(_negated, flags)] for title, flags in groups.items()}  # with what turns one off
        moved = {flag for flags in beside.values() for flag in flags}
        left = [flag for flag in known if flag not in moved and flag != "-h"]
        for group in list(self._action_groups):
            group._group_actions = [action for action in group._group_actions if _stays(action)]
            if not group._group_actions:
                self._action_groups.remove(group)
        for title, flags in {**beside, **({rest: left} if left else {})}.items():
            self.add_argument_group(title)._group_actions.extend(known[flag] for flag in flags if flag in known)

    def format_usage(self) -> str:
        """One line: what must be given, and that there are flags."""
        formatter = self._get_formatter()
        formatter.add_usage(self._short_usage(), self._actions, self._mutually_exclusive_groups)
        return formatter.format_help()

    def format_help(self) -> str:
        """The help, with the short usage at its head."""
        given, self.usage = self.usage, self._short_usage()
        try:
            return super().format_help()
        finally:
            self.usage = given

    def _short_usage(self) -> str:
        if self.usage is not None:
            return self.usage
        words = [self.prog.replace("%", "%%")]
        for action in self._actions:
            if not action.option_strings:
                name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
                words.append(f"[{name}]" if action.nargs in ("?", "*") else name)
            elif action.required:
                words.append(f"{action.option_strings[0]} {action.dest.upper()}")
        return " ".join([*words, "[flags]"])

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong, where argparse would print it and end the process."""
        raise ValueError(f"{message} (`{self.prog} --help` tells more)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """argparse's own refusal of a value that is none of the choices, with the nearest of them."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(str(value), map(str, action.choices or ()))
            raise

    # argparse has overloads, for namespaces of any class
    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The options. Raises ValueError for anything wrong."""
        options, unread = self.parse_known_args(args, namespace)
        if unread:
            flags = [word for word in unread if word.startswith("-") and word != "-"]
            raise refused((flags or unread)[0], self._option_string_actions, self.prog)
        return options


def _stays(action: argparse.Action) -> bool:
    """Whether an argument is in no group of flags: it is given without a name, or asks for this help."""
    return not action.option_strings or action.option_strings[0] == "-h"


def _negated(flag: str) -> str:
    return f"--no_{flag.removeprefix('--')}"
