"""Lines in, lines out: how every command and reader of plain text takes a text apart, and how a file is written.

A line ends with a line feed, or a carriage return and a line feed, and with nothing else: a lone carriage return and
the other separators of Unicode (U+0085, U+2028, ...) are white space inside a line, as `wc -l` and `cut` see it. So
line 7 of what comes out belongs to line 7 of what went in. A byte order mark is no text.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from hf_attention_zoo.data.likely_encoding import not_utf8
from hf_attention_zoo.data.unpacking import open_text

STANDARD = "-"
BYTE_ORDER_MARK = "\ufeff"
_BLANKS = re.compile(r"\s+", re.ASCII)
TEXT_SUFFIXES = (".txt", ".tsv", ".csv", ".json", ".jsonl", ".gz")


def split_lines(text: str) -> list[str]:
    """The lines of a text, without their ends."""
    lines = text.removeprefix(BYTE_ORDER_MARK).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def file_lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 file, packed or not, without their ends, one at a time.

    Raises:
        ValueError: there is no such file, or it is not UTF-8 text.
    """
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder; give a file with a text on each line")
    if not os.path.exists(path):
        raise ValueError(f"no such file: {path}")
    with open_text(Path(path)) as file:
        yield from _without_ends(file, str(path))


def standard_lines() -> Iterator[str]:
    """The lines of standard input, which is read as UTF-8 whatever the system's own encoding is.

    Raises:
        ValueError: it is not UTF-8 text.
    """
    raw = getattr(sys.stdin, "buffer", None)
    yield from _without_ends(sys.stdin if raw is None else (line.decode() for line in raw), "standard input")


def _without_ends(lines: Iterable[str], name: str) -> Iterator[str]:
    try:
        for number, line in enumerate(lines, 1):
            if "\0" in line:
                raise ValueError(f"{name} is not UTF-8 text (there is a NUL in line {number}); convert it first")
            text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            yield text.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise (
            ValueError(f"{name} is not UTF-8 text ({error}); convert it first")
            if name == "standard input"
            else not_utf8(Path(name), error)
        ) from None


def lines_of_file(given: str) -> Iterator[str]:
    """The lines of a file, or of standard input for "-"."""
    return standard_lines() if given == STANDARD else file_lines(given)


def typed_by_hand(given: str) -> bool:
    """Whether lines come from a keyboard, so that each wants its answer at once."""
    return given == STANDARD and sys.stdin.isatty()


def given_lines(given: str) -> Iterator[str]:
    """The lines of a file, those of standard input for "-", otherwise those of the text itself.

    Raises:
        ValueError: what is given can only be the name of a file, and there is none; or a file is not UTF-8 text.
    """
    # os.path answers False for a text that is too long for a name, where pathlib raises
    if given == STANDARD or os.path.isfile(given):
        return lines_of_file(given)
    if given.lower().endswith(TEXT_SUFFIXES) and not any(char.isspace() for char in given):
        raise ValueError(f"no such file: {given}; a text that looks like a file's name is given on standard input (-)")
    return iter(split_lines(given) or [""])


def split_words(text: str) -> list[str]:
    """The words of a text that is parted already: what stands between blanks, tabs and line ends.

    Other spaces of Unicode, such as U+00A0 in "10 000", are a part of a word.
    """
    return [word for word in _BLANKS.split(text) if word]


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: it is empty, white space, or characters without a shape."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in text)


def one_line(text: str) -> str:
    """A text without line ends and without more than one blank in a row, so that it is one line of a file."""
    return " ".join(text.split())


def chunks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """The items in lists of at most `size`, as soon as they are there."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def answer_rows(
    rows: list[Any], answer: Callable[[list[Any]], Iterable[str]], blank: Callable[[Any], bool] = is_blank
) -> list[str]:
    """One line for each row: nothing for a blank one, which the model does not see, else its answer."""
    places = [index for index, row in enumerate(rows) if not blank(row)]
    lines = [""] * len(rows)
    if places:
        for index, line in zip(places, answer([rows[index] for index in places]), strict=True):
            lines[index] = line
    return lines


def check_apart(output: str | Path, given: str | Path) -> None:
    """Raise a ValueError if something else than lines would be written over the file that was read."""
    if os.path.isfile(given) and os.path.exists(output) and os.path.samefile(given, output):
        raise ValueError(f"{given} is read, and would be written over; give another --output than {output}")


@contextmanager
def written_file(output: str | Path) -> Iterator[IO[str]]:
    """A text file that is written beside its place and moved there when all is written.

    What was there stays if anything fails, and may be read while the new text is written, so that the file may be the
    input under this or another name. A link stays a link; what is no file, such as /dev/stdout, is written to at once.

    Raises:
        ValueError: `output` is a folder, or is to lie in a folder that does not exist.
    """
    target = Path(os.path.realpath(output))
    if target.is_dir():
        raise ValueError(f"{output} is a folder; give the name of a file to write")
    if not target.parent.is_dir():
        raise ValueError(f"{output} cannot be written: there is no folder {target.parent}; make it first")
    if target.exists() and not target.is_file():
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    unfinished = target.with_name(f".attention-zoo-{secrets.token_hex(4)}.tmp")
    try:
        with open(unfinished, "x", encoding="utf-8", newline="\n") as file:
            yield file
        if target.exists():
            unfinished.chmod(target.stat().st_mode & 0o7777)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def written_lines(output: str | Path | None) -> Iterator[IO[str]]:
    """Where lines go: a file as `written_file` has it, or standard output as UTF-8; that is for None and ""."""
    if output:
        with written_file(output) as file:
            yield file
        return
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and not sys.stdout.isatty():
        reconfigure(encoding="utf-8", newline="\n")
    yield sys.stdout


def write_answers(
    rows: Iterable[Any],
    output: str | Path | None,
    *,
    size: int,
    load: Callable[[], Any],
    answer: Callable[[Any, list[Any]], Iterable[str]],
    blank: Callable[[Any], bool] = is_blank,
) -> None:
    """Write one line for each row that was read, in its order.

    Args:
        rows: lines, or the columns of lines.
        output: see `written_lines`. That it can be written is found before anything is computed.
        size: rows that are answered together.
        load: gives the model; called behind the first rows, so that a file that cannot be read is found before.
        answer: what `load` gave and some rows -> their lines, in which line ends are not allowed.
        blank: rows whose line stays empty.
    """
    parts = chunks(rows, size)
    first = next(parts, [])
    with written_lines(output) as out:
        model = load()
        for part in chain([first], parts):
            out.writelines(f"{line}\n" for line in answer_rows(part, lambda some: answer(model, some), blank))
            out.flush()
