"""Reading rows from local files, one at a time and with their place, so that a bad row can be named.

Formats: JSON lines (`.jsonl`, `.json`), a JSON array of objects or one object (`.json`), CSV and TSV with a header
line, Parquet, and parallel text (two files with a sentence per line). All but Parquet may be packed with gzip or xz.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from hf_attention_zoo.data.unpacking import PACKED, open_binary

FORMATS = {".jsonl": "json", ".json": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
FORMATS_SAID = ".jsonl, .json, .csv, .tsv (each also with .gz or .xz) and .parquet"

SPLIT_ALIASES = {"training": "train", "valid": "validation", "val": "validation", "dev": "validation"}
SPLITS = ("train", "validation", "test")

# Files of a split: one file, or the sentences of each language in a file of its own.
SplitFile = Path | Mapping[str, Path]

# The csv module stops at 131,072 characters otherwise; this is the most that every platform takes.
_LONGEST_FIELD = 2**31 - 1

_SPLIT_FILE = re.compile(r"(train|training|validation|valid|val|dev|test)([-_.]\d+(-of-\d+)?)?", re.IGNORECASE)


def canonical_split(name: str) -> str:
    """The usual name of a split: `dev`, `val` and `valid` are `validation`."""
    lower = name.lower()
    return SPLIT_ALIASES.get(lower, lower if lower in SPLITS else name)


def format_of(path: Path) -> str | None:
    """Format that a file's name stands for, `None` if it is not one that can be read."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes = suffixes[:-1]
        if suffixes and suffixes[-1] == ".parquet":
            return None
    return FORMATS.get(suffixes[-1]) if suffixes else None


def split_files_of_folder(
    folder: Path, source_lang: str | None, target_lang: str | None
) -> dict[str, list[SplitFile]]:
    """Files of the train, validation and test split in a folder or its `data` folder.

    Looks for `train.jsonl` and the like (shards: `train-00000-of-00004.parquet`), else, with both languages given, for
    parallel text: `train.de` beside `train.en`.

    Raises:
        ValueError: there are none, or a split has files of several formats.
    """
    for place in (folder, folder / "data"):
        found = _tabular_files(place) or _parallel_files(place, source_lang, target_lang)
        if found:
            return {split: found[split] for split in SPLITS if split in found}
    there = sorted(path.name for path in folder.iterdir())
    listed = ", ".join(there[:10]) + (", ..." if len(there) > 10 else "")
    raise ValueError(
        f"folder {folder} has no train, validation or test file ({FORMATS_SAID}; or parallel text such as train.de "
        f"and train.en, with source_lang and target_lang); it holds: {listed or 'nothing'}. "
        'Rename the files or name them with data_files={"train": ...}'
    )


def read_rows(file: SplitFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of a file, each with its place ("line 7 of train.jsonl").

    Raises:
        ValueError: the file is missing, of an unknown format, damaged, or a row is not a set of named columns.
    """
    if isinstance(file, Mapping):
        yield from _read_parallel(file)
        return
    if not file.is_file():
        raise ValueError(f"file {file} does not exist; check the path")
    kind = format_of(file)
    if kind is None:
        raise ValueError(f"file {file} is of no known format; files that can be read: {FORMATS_SAID}")
    reader = {"json": _read_json, "csv": _read_csv, "tsv": _read_tsv, "parquet": _read_parquet}[kind]
    try:
        yield from reader(file)
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error}); convert it first") from error
    except RecursionError as error:
        raise ValueError(f"{file} holds JSON that is nested too deeply to be rows; flatten it first") from error


def features_of_files(files: Sequence[SplitFile]) -> Mapping[str, Any]:
    """The features that `datasets` wrote into the first of some files; only Parquet holds them."""
    first = files[0] if files else None
    if not isinstance(first, Path) or format_of(first) != "parquet" or not first.is_file():
        return {}
    import pyarrow
    from datasets import Features
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(first)
    except pyarrow.ArrowInvalid:
        return {}  # named by who reads the rows
    return Features.from_arrow_schema(schema) if b"huggingface" in (schema.metadata or {}) else {}


def listed_classes(features: Mapping[str, Any], column: str) -> list[str] | None:
    """The classes in the order of their numbers, where a data set's own features list them for a column."""
    from datasets import ClassLabel

    feature = features.get(column)
    feature = getattr(feature, "feature", feature)
    return list(feature.names) if isinstance(feature, ClassLabel) else None


def described(file: SplitFile) -> str:
    """A file's name for messages."""
    return str(file) if isinstance(file, Path) else " and ".join(str(path) for path in file.values())


def _tabular_files(folder: Path) -> dict[str, list[SplitFile]]:
    found: dict[str, list[SplitFile]] = {}
    families: dict[str, set[tuple[str, str, bool]]] = {}
    for path in sorted(folder.glob("*")):
        kind = format_of(path) if path.is_file() else None
        if kind is None:
            continue
        stem, _, ending = path.name.removesuffix(".gz").removesuffix(".xz").rpartition(".")
        match = _SPLIT_FILE.fullmatch(stem)
        if match:
            split = canonical_split(match[1])
            found.setdefault(split, []).append(path)
            # Shards of one file belong together; anything else that claims the split is a rival.
            sharded = match[2] is not None
            families.setdefault(split, set()).add((match[1], ending if sharded else path.name, sharded))
    for split, family in families.items():
        if len(family) > 1:
            names = ", ".join(path.name for path in found[split])
            raise ValueError(
                f"folder {folder} has several candidates for the split '{split}': {names}; keep one of them or choose "
                f"with data_files={{'{split}': ...}}"
            )
    return found


def _parallel_files(folder: Path, source_lang: str | None, target_lang: str | None) -> dict[str, list[SplitFile]]:
    found: dict[str, list[SplitFile]] = {}
    if source_lang is None or target_lang is None:
        return found
    for name in (*SPLITS, *SPLIT_ALIASES):
        sides = {}
        for language in (source_lang, target_lang):
            for candidate in (folder / f"{name}.{language}", folder / f"{name}.{language}.gz"):
                if candidate.is_file():
                    sides[language] = candidate
        if len(sides) == 2:
            found.setdefault(canonical_split(name), []).append(sides)
    return found


def open_text(path: Path, newline: str = "\n") -> TextIO:
    """Open a text file, packed or not; by default only a line feed ends a line, as texts may hold other breaks."""
    # utf-8-sig: spreadsheets put a byte order mark in front of the first column's name.
    return io.TextIOWrapper(open_binary(path), encoding="utf-8-sig", newline=newline)


def _lines(stream: TextIO) -> Iterator[str]:
    for line in stream:
        yield line.rstrip("\r\n")


def _read_json(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with open_text(path) as stream:
        first = stream.read(1)
        while first.isspace():
            first = stream.read(1)
        stream.seek(0)
        if first == "[":
            yield from _read_json_array(path, stream)
            return
        begun = False
        for number, line in enumerate(_lines(stream), 1):
            if not line.strip():
                continue
            place = f"line {number} of {path}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                whole = None if begun or first != "{" else _whole_object(stream)
                if whole is None:
                    raise ValueError(
                        f"{place} is not JSON ({error}); expected one object per line, or one array of objects"
                    ) from error
                yield str(path), whole
                return
            begun = True
            yield place, _object(row, place)


def _whole_object(stream: TextIO) -> dict[str, Any] | None:
    """The one object that a file holds over several lines, such as a printed SQuAD file; None if it holds others."""
    stream.seek(0)
    try:
        return json.load(stream)
    except json.JSONDecodeError:
        return None


def _read_json_array(path: Path, stream: TextIO) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        rows = json.load(stream)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON ({error})") from error
    for number, row in enumerate(rows, 1):
        place = f"row {number} of {path}"
        yield place, _object(row, place)


def _object(row: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"{place} is {type(row).__name__} {str(row)[:40]!r}; expected an object with named columns")
    return row


def _read_csv(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from _read_delimited(path, delimiter=",", quoting=csv.QUOTE_MINIMAL)


def _read_tsv(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    # Tab-separated corpora do not quote; a lone quotation mark would swallow lines.
    yield from _read_delimited(path, delimiter="\t", quoting=csv.QUOTE_NONE)


def _read_delimited(path: Path, delimiter: str, quoting: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    csv.field_size_limit(_LONGEST_FIELD)
    with open_text(path, newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, quoting=quoting, strict=quoting == csv.QUOTE_MINIMAL)
        try:
            header = next(reader, None)
            if header is None:
                return
            if len(set(header)) != len(header):
                raise ValueError(f"{path} names a column twice in its header line: {header}")
            for number, values in enumerate(reader, 1):
                if not values:
                    continue
                place = f"row {number} of {path}"
                if len(values) != len(header):
                    raise ValueError(
                        f"{place} (up to line {reader.line_num}) has {len(values)} fields where the header line has "
                        f"{len(header)}: {header}; quote fields that hold the separator"
                    )
                yield place, dict(zip(header, values, strict=True))
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num} of {path} cannot be read: {error}") from error


def _read_parquet(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=4096):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number} of {path}", row
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is not a whole Parquet file ({error})") from error


def _read_parallel(sides: Mapping[str, Path]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    names = list(sides)
    for path in sides.values():
        if not path.is_file():
            raise ValueError(f"file {path} does not exist; check the path")
    with open_text(sides[names[0]]) as one, open_text(sides[names[1]]) as other:
        streams = (_lines(one), _lines(other))
        number = 0
        while True:
            number += 1
            lines: Sequence[str | None] = [next(stream, None) for stream in streams]
            if lines[0] is None and lines[1] is None:
                return
            place = f"line {number} of {described(sides)}"
            if lines[0] is None or lines[1] is None:
                ended = sides[names[0] if lines[0] is None else names[1]]
                raise ValueError(
                    f"{place}: {ended} ends before the other; parallel text has as many lines on both sides"
                )
            yield place, dict(zip(names, lines, strict=True))
