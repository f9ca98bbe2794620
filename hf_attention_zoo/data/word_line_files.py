"""Tagged sentences as CoNLL's tasks and Universal Dependencies give them out: a word a line, blank lines between.

In `.conllu` the columns have the names of the format: `tokens` (FORM), `lemmas`, `upos`, `xpos`, `deprel`; the lines
of multiword tokens and empty nodes are left out, as they hold no word of the sentence. In `.conll`, `.bio`, `.iob` and
the like the first column is `tokens`, the last `tags`, and those between them are `column_2`, `column_3`, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.text_lines import split_words
from hf_attention_zoo.data.unpacking import open_text

WORD_LINE_ENDINGS = (".conll", ".bio", ".iob", ".iob2", ".iobes", ".bioes")
_UNIVERSAL = {1: "tokens", 2: "lemmas", 3: "upos", 4: "xpos", 7: "deprel"}


def read_word_lines(path: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each sentence as a row of lists, with the place where it begins.

    Raises:
        ValueError: a line has another number of columns than the first.
    """
    words: list[list[str]] = []
    begun, width = 0, None
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            text = line.rstrip("\r\n")
            if not text.strip():
                if words:
                    yield f"line {begun} of {path}", _columns(words, kind)
                    words = []
                continue
            if (kind == "conllu" and text.startswith("#")) or text.startswith("-DOCSTART-"):
                continue
            # A word may hold blanks where tabs part the columns.
            fields = text.split("\t") if "\t" in text else split_words(text)
            width = width or len(fields)
            if len(fields) != width or width < 2 or (kind == "conllu" and width != 10):
                wanted = "10 columns with tabs between them" if kind == "conllu" else f"{max(width, 2)} columns"
                raise ValueError(f"line {number} of {path} has {len(fields)} columns; {wanted} are wanted")
            if kind == "conllu" and not fields[0].isdecimal():
                continue
            begun = begun if words else number
            words.append(fields)
    if words:
        yield f"line {begun} of {path}", _columns(words, kind)


def _columns(words: list[list[str]], kind: str) -> dict[str, Any]:
    columns = [list(column) for column in zip(*words, strict=True)]
    if kind == "conllu":
        return {name: columns[place] for place, name in _UNIVERSAL.items()}
    between = {f"column_{place}": column for place, column in enumerate(columns[1:-1], 2)}
    return {"tokens": columns[0], **between, "tags": columns[-1]}
