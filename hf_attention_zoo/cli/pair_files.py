"""What the commands share that read a file of sentence pairs and write a line for each."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from hf_attention_zoo.cli.translate_text import chunks


def read_pairs(given: str) -> Iterator[list[str]]:
    """The columns of each line of a file, or of standard input for "-": source, target, and what else there is.

    Raises ValueError for a file that is missing or not UTF-8 text, or a line without a tab.
    """
    if given != "-" and not Path(given).is_file():
        raise ValueError(f"no such file: {given}; give a file with a source, a tab and a target on each line, or -")
    try:
        with nullcontext(sys.stdin) if given == "-" else open(given, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                columns = line.rstrip("\r\n").split("\t")
                if len(columns) < 2:
                    raise ValueError(f"line {number} of {given} has no tab; a source, a tab and a target are wanted")
                yield columns
    except UnicodeDecodeError:
        raise ValueError(f"{given} is not UTF-8 text") from None


def answer_pairs(
    given: str,
    output: str | None,
    size: int,
    load: Callable[[], Any],
    answer: Callable[[Any, list[list[str]]], Iterable[str]],
) -> None:
    """Write the answer to each pair on a line of its own.

    Args:
        given: as for `read_pairs`.
        output: file to write; None or "" for standard output.
        size: pairs that are read and answered together.
        load: gives the model; called behind the first pairs, so that a file that cannot be read is found before.
        answer: what `load` gave and the columns of some pairs -> their lines.
    """
    pairs = chunks(read_pairs(given), size)
    first = next(pairs, None)
    model = load()
    with nullcontext(sys.stdout) if not output else open(output, "w", encoding="utf-8") as out:
        for rows in chain([] if first is None else [first], pairs):
            out.writelines(f"{line}\n" for line in answer(model, rows))
            out.flush()
