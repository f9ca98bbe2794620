"""How a command fails: one clear line and exit code 2 for what the user can mend, no traceback."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hf_attention_zoo.cli.argument_names import in_flags
from hf_attention_zoo.data.entry_words import on_the_command_line

TRACEBACK_VARIABLE = "ATTENTION_ZOO_TRACEBACK"
USER_ERROR = 2
INTERRUPTED = 130
_JOINERS = "\u200c\u200d"  # part of Persian words and of emoji, no control of the terminal


def printable(text: str) -> str:
    """A text in one line whose control characters are written out: names of files may hold any."""
    line = " ".join(text.split())
    return "".join(
        char if char.isprintable() or char in _JOINERS else char.encode("unicode_escape").decode() for char in line
    )


def exit_code(run: Callable[[], int | None], argv: Sequence[str] = ()) -> int:
    """Run a command and turn its errors into a line on stderr and an exit code.

    Args:
        argv: the words of the command line, for messages that name flags.

    Wrong values, missing files, missing packages, a network that is not there and too little memory give 2; Ctrl-C
    gives 130. With ATTENTION_ZOO_TRACEBACK=1 in the environment the traceback is shown instead.
    """
    try:
        with _warnings_in_one_line(), on_the_command_line():
            return run() or 0
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (kept open until the process ends)
        return 0
    except (ValueError, OSError, ImportError) as error:
        if os.environ.get(TRACEBACK_VARIABLE) == "1":
            raise
        said = in_flags(printable(str(error)), argv) or type(error).__name__
        print(f"attention-zoo: {said}", file=sys.stderr)
        return USER_ERROR


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Warnings for users are shown as what they say, without the line of code that they come from."""
    usual = warnings.formatwarning

    def formatted(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
        if category is not UserWarning:
            return usual(message, category, *place, **more)
        return f"attention-zoo: {printable(str(message))}\n"

    warnings.formatwarning = formatted
    try:
        yield
    finally:
        warnings.formatwarning = usual
