"""Tables of text: CSV, with commas, semicolons or tabs, and TSV as corpora and as pandas write it.

CSV quotes. A TSV file is quoted where it is as a program writes it: every field that begins with a quotation mark is a
whole quoted one, no other holds a mark, and each quoted field needs its marks (it holds a mark, a tab or a line break)
or all of the header line are quoted. Any other file is a corpus whose marks are part of its texts.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.likely_encoding import not_utf8
from hf_attention_zoo.data.unpacking import open_text

# The csv module stops at 131,072 characters otherwise; this is the most that every platform takes.
_LONGEST_FIELD = 2**31 - 1
_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_QUOTED = r'"(?:[^"]|"")*"'
_QUOTED_LINE = re.compile(rf'(?:{_QUOTED}|[^"\t]*)(?:\t(?:{_QUOTED}|[^"\t]*))*')
_NEEDS_MARKS = re.compile(r'""|[\t\r\n]')
_HOLDS_SENTENCES = re.compile(r"[.!?…。！？,;:](\s|$)|\S\s+\S+\s+\S")


def read_delimited(path: Path, kind: str, header: Sequence[str] | None = None) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV or TSV file by the names of its header line, each with its place.

    Args:
        kind: "csv" or "tsv".
        header: names of the columns of a file that has no header line.

    Raises:
        ValueError: a row does not have as many fields as the header line, or a quoted field has no end.
    """
    delimiter, quoted = format_of_table(path, kind)
    csv.field_size_limit(_LONGEST_FIELD)
    with open_text(path, newline="" if quoted else "\n") as stream:
        reader: Iterator[list[str]]
        if quoted:
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
        else:
            reader = (text.split(delimiter) if (text := line.rstrip("\r\n")) else [] for line in stream)
        number = 0
        try:
            names = list(header) if header is not None else next(reader, None)
            if names is None:
                return
            if header is None and len(set(names)) != len(names):
                raise ValueError(
                    f"{path} names a column twice in its header line: {names}; if that is a row, put a line with the "
                    "names of the columns before it"
                )
            for number, values in enumerate(reader, 1):
                if not values:
                    continue
                place = f"row {number} of {path}"
                if len(values) != len(names):
                    line = getattr(reader, "line_num", number + (header is None))
                    raise ValueError(
                        f"{place} (up to line {line}) has {len(values)} fields where the header line has "
                        f"{len(names)}: {names}; {_advice(delimiter, quoted, names)}"
                    )
                yield place, dict(zip(names, values, strict=True))
        except csv.Error as error:
            raise ValueError(
                f"line {getattr(reader, 'line_num', number)} of {path} cannot be read: {error}"
            ) from error


def _advice(delimiter: str, quoted: bool, names: Sequence[str]) -> str:
    if len(names) == 1 and "|" in names[0]:
        return "fields are parted by commas, semicolons or tabs, not by |; write the table so"
    if quoted:
        return f"quote fields that hold the separator (a {_SEPARATORS[delimiter]})"
    return "no field may hold a tab or a line break; write such tables as CSV or JSON lines"


def format_of_table(path: Path, kind: str) -> tuple[str, bool]:
    """What parts the fields of a file, and whether they are quoted."""
    if kind == "tsv":
        return "\t", _is_quoted(path)
    with open_text(path) as stream:
        header = re.sub(_QUOTED, "", stream.readline())
    return next((mark for mark in _SEPARATORS if mark in header), ","), True


def _is_quoted(path: Path) -> bool:
    """Whether a TSV file is quoted; see the top of this file. Read only up to the first line that decides."""
    some, all_needed, header_quoted, begun = False, True, False, ""
    with open_text(path) as stream:
        for number, line in enumerate(stream):
            if not begun and '"' not in line:
                continue
            begun += line
            if begun.count('"') % 2:
                continue  # a quoted field goes on in the next line
            text = begun.rstrip("\r\n")
            if _QUOTED_LINE.fullmatch(text) is None:
                return False
            fields = re.findall(_QUOTED, text)
            needed = all(_NEEDS_MARKS.search(field[1:-1]) for field in fields)
            if number == 0:
                header_quoted = len(fields) == len(re.sub(_QUOTED, "", text).split("\t"))
            some, all_needed, begun = True, all_needed and needed, ""
            if not all_needed and not header_quoted:
                return False
    return some and not begun


def fields_of_first_line(path: Path, kind: str) -> list[str]:
    """The fields of the first line, be it a header or a row.

    Raises:
        ValueError: the file is not UTF-8.
    """
    try:
        delimiter, quoted = format_of_table(path, kind)
        with open_text(path, newline="" if quoted else "\n") as stream:
            if quoted:
                return next(csv.reader(stream, delimiter=delimiter), [])
            return stream.readline().rstrip("\r\n").split(delimiter)
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error


def is_row_of_texts(fields: Sequence[str]) -> bool:
    """Whether the first line of a table is a row, not a header: a field holds a sentence."""
    return any(_HOLDS_SENTENCES.search(field.strip()) for field in fields)


def as_list(value: Any, *, numbers: bool = False) -> Any:
    """The list that a cell of a table holds as text; anything else as it is.

    Read are lists as JSON and Python print them (`["EU", "rejects"]`, `['EU', 'rejects']`, lists in lists too), and
    as numpy does (`['EU' 'rejects']`), which is how `datasets` and pandas put them into CSV. In brackets stands a list
    where all of its items are quoted texts, or numbers where `numbers` are wanted: "[Applause]" is a text.

    Raises:
        ValueError: a list that has been shortened ("...") or is printed in another way.
    """
    if not isinstance(value, str) or not (text := value.strip()).startswith("[") or not text.endswith("]"):
        return value
    found, end = _list_at(text, 0, numbers)
    if found is not None and end == len(text):
        return found
    if re.match(r"\[\s*(\[|'|\"|array\(|list\()", text) and ("..." in text or "array(" in text or "list(" in text):
        raise ValueError(
            f"a cell holds a list that was shortened or printed by a program, {text[:40]!r}; write the data as JSON "
            "lines or Parquet"
        )
    return value


_ITEM = re.compile(
    r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)""", re.DOTALL
)
_GAP = re.compile(r"\s*,?\s*")


def _behind_gap(text: str, place: int) -> int:
    """The place behind white space and a comma, or the same place where there is neither."""
    gap = _GAP.match(text, place)
    return place if gap is None else gap.end()


def _list_at(text: str, start: int, numbers: bool) -> tuple[list[Any] | None, int]:
    """The list that begins at a place and the place behind it; None if there is none."""
    import json

    items: list[Any] = []
    place = _behind_gap(text, start + 1) if text[start + 1 : start + 2] != "," else start + 1
    while place < len(text) and text[place] != "]":
        if text[place] == "[":
            inner, place = _list_at(text, place, numbers)
            if inner is None:
                return None, place
            items.append(inner)
        elif match := _ITEM.match(text, place):
            single, double, number = match.groups()
            if number is not None and not numbers:
                return None, place
            if number is not None:
                items.append(json.loads(number.rstrip(".").lstrip("+")))
            else:
                items.append(_unescaped(single if single is not None else double))
            place = match.end()
        else:
            return None, place
        after = _behind_gap(text, place)
        if after == place and text[place : place + 1] != "]":
            return None, place  # two items without anything between them
        place = after
    return (items, place + 1) if place < len(text) else (None, place)


def _unescaped(text: str) -> str:
    """A quoted text without the escapes that JSON and Python share."""
    import ast

    if "\\" not in text:
        return text
    body = text.replace('\\"', '"').replace("\\'", "'").replace("\\/", "/")
    try:
        return ast.literal_eval('"""' + body.replace('"', '\\"') + '"""')
    except (SyntaxError, ValueError):
        return text
