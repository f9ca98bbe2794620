"""What the commands share that read a file of sentence pairs and write a line for each."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hf_attention_zoo.data.text_lines import STANDARD, is_blank, lines_of_file, typed_by_hand, write_answers


def read_pairs(given: str) -> Iterator[list[str]]:
    """The columns of each line of a file, or of standard input for "-": source, target, and what else there is.

    Raises ValueError for a file that is missing or not UTF-8 text, or a line without a tab that is not blank.
    """
    name = "standard input" if given == STANDARD else given
    for number, line in enumerate(lines_of_file(given), 1):
        columns = line.split("\t")
        if len(columns) < 2 and not is_blank(line):
            raise ValueError(f"line {number} of {name} has no tab; a source, a tab and a target are wanted")
        yield columns


def no_pair(columns: list[str]) -> bool:
    """Whether a line is blank, or has nothing but tabs."""
    return all(map(is_blank, columns))


def answer_pairs(
    given: str,
    output: str | None,
    size: int,
    load: Callable[[], Any],
    answer: Callable[[Any, list[list[str]]], Iterable[str]],
) -> None:
    """Write the answer to each pair on a line of its own; see `write_answers`.

    Args:
        given: as for `read_pairs`.
        output: file to write; None or "" for standard output.
        size: pairs that are read and answered together; typed ones are answered at once.
        load: gives the model.
        answer: what `load` gave and the columns of some pairs -> their lines.
    """
    size = 1 if typed_by_hand(given) else size
    write_answers(read_pairs(given), output, size=size, load=load, answer=answer, blank=no_pair)
