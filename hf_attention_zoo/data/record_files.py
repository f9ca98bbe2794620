"""Reading rows from local files, one at a time and with their place, so that a bad row can be named.

Formats: JSON lines (`.jsonl`, `.json`), a JSON array of objects or one object (`.json`), CSV and TSV with a header
line (`.txt` with tabs is TSV), sentences with a word a line (`.conllu`, `.conll`), Parquet, and parallel text (two
files with a sentence per line). All but Parquet may be packed with gzip or xz.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from hf_attention_zoo.data.delimited_files import read_delimited
from hf_attention_zoo.data.entry_words import said
from hf_attention_zoo.data.likely_encoding import not_utf8
from hf_attention_zoo.data.split_names import (
    SPLIT_WORDS,
    SPLITS,
    files_by_split,
    paths_in_order,
    split_of_name,
    split_of_path,
    stem_of,
    warn_of_left_out,
)
from hf_attention_zoo.data.unpacking import PACKED, open_binary, open_text
from hf_attention_zoo.data.word_line_files import WORD_LINE_ENDINGS, read_word_lines

FORMATS = {
    **dict.fromkeys(WORD_LINE_ENDINGS, "conll"),
    ".conllu": "conllu",
    ".jsonl": "json",
    ".json": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
FORMATS_SAID = ".jsonl, .json, .csv, .tsv, .conllu, .conll, .txt with tabs (each also with .gz or .xz) and .parquet"

# Files of a split: one file, or the sentences of each language in a file of its own.
SplitFile = Path | Mapping[str, Path]


def format_of(path: Path) -> str | None:
    """Format that a file's name stands for, `None` if it is not one that can be read."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes = suffixes[:-1]
        if suffixes and suffixes[-1] == ".parquet":
            return None
    if suffixes and suffixes[-1] == ".txt":
        return "tsv" if path.is_file() and _first_line_has_a_tab(path) else None
    return FORMATS.get(suffixes[-1]) if suffixes else None


def is_table(path: Path) -> bool:
    """Whether a path is a file of rows."""
    return path.is_file() and not path.name.startswith(".") and format_of(path) is not None


def _first_line_has_a_tab(path: Path) -> bool:
    """Whether a text file is a table, as the film reviews of NSMC are."""
    with open_binary(path) as stream:
        return b"\t" in stream.readline(1 << 16)


def split_files_of_folder(
    folder: Path, source_lang: str | None, target_lang: str | None, prefix: str = ""
) -> dict[str, list[SplitFile]]:
    """Files of the train, validation and test split in a folder, its `data` or `annotations`, or folders of splits.

    Names tell the split by the rule of `split_names`. A single table without a word of a split is for training. With
    both languages given, parallel text counts, too: `train.de` beside `train.en`.

    Args:
        prefix: where files have names that begin so, only these.

    Raises:
        ValueError: there are none, or a split has files of several formats.
    """
    for place in (folder, folder / "data", folder / "annotations"):
        found = _tabular_files(place, prefix) or _parallel_files(place, source_lang, target_lang)
        if found:
            return found
    parts = {split: part for part in folder.iterdir() if part.is_dir() and (split := split_of_name(part.name))}
    below = {split: tables for split, part in parts.items() if (tables := [*filter(is_table, part.rglob("*"))])}
    if below:
        return {split: list(paths_in_order(below[split])) for split in SPLITS if split in below}
    there = sorted(path.name for path in folder.iterdir())
    listed = ", ".join(there[:10]) + (", ..." if len(there) > 10 else "")
    raise ValueError(
        f"folder {folder} has no train, validation or test file ({FORMATS_SAID}; or parallel text such as train.de "
        f"and train.en, with {said('source_lang and target_lang', '--source_lang and --target_lang')}); "
        f"it holds: {listed or 'nothing'}. "
        "Rename the files or name them with "
        + said('data_files={"train": ...}', "--train_file, --validation_file and --test_file")
    )


def read_rows(file: SplitFile, header: Sequence[str] | None = None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of a file, each with its place ("line 7 of train.jsonl").

    Args:
        header: names of the columns of a table without a header line.

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
        if not file.stat().st_size:
            raise ValueError(f"file {file} is empty; files that can be read: {FORMATS_SAID}")
        raise ValueError(f"file {file} is of no known format; files that can be read: {FORMATS_SAID}")
    try:
        if kind in ("csv", "tsv"):
            yield from read_delimited(file, kind, header)
        elif kind in ("conll", "conllu"):
            yield from read_word_lines(file, kind)
        else:
            yield from (_read_json if kind == "json" else _read_parquet)(file)
    except UnicodeDecodeError as error:
        raise not_utf8(file, error) from error
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


def _tabular_files(folder: Path, prefix: str) -> dict[str, list[SplitFile]]:
    if not folder.is_dir():
        return {}
    readable = [path for path in folder.glob("*") if not path.name.startswith(".") and is_table(path)]
    readable = [path for path in readable if path.name.startswith(prefix)] or readable
    if not any(split_of_path(path, folder) for path in readable):
        # A single table needs no name; of several nobody knows which belong together.
        return {"train": list(readable)} if len(readable) == 1 else {}
    worded = [path for path in readable if split_of_path(path, folder)]
    warn_of_left_out(folder, set(readable) - set(worded), "their names say no split (train, validation, test)")
    found = files_by_split(worded, folder)
    for split, paths in found.items():
        # `train.csv` is the split, `train_full.csv` and `train_results.json` beside it are something else.
        plain = [path for path in paths if re.sub("(-of-)?[-._ 0-9]", "", stem_of(path).lower()) in SPLIT_WORDS[split]]
        if plain and len(plain) < len(paths):
            warn_of_left_out(folder, set(paths) - set(plain), f"{plain[0].name} is the split '{split}'")
            found[split] = paths = plain
        # Shards of one file differ in their numbers; anything else that claims the split is a rival.
        shards = {re.sub("[0-9]+", "0", path.name) for path in paths}
        if len(shards) > 1:
            names = ", ".join(path.name for path in paths)
            how = said(
                f"choose with data_files={{'{split}': ...}}",
                "choose with --train_file, --validation_file, --test_file",
            )
            raise ValueError(
                f"folder {folder} has several candidates for the split '{split}': {names}; keep one of them or {how}"
            )
    return {split: list(paths) for split, paths in found.items()}


def _parallel_files(folder: Path, source_lang: str | None, target_lang: str | None) -> dict[str, list[SplitFile]]:
    if source_lang is None or target_lang is None or not folder.is_dir():
        return {}
    sides: dict[str, dict[str, Path]] = {}
    for path in paths_in_order(folder.glob("*")):
        for language in (source_lang, target_lang):
            for ending in (f".{language}", f".{language}.txt"):
                name = path.name
                for packing in PACKED:
                    name = name.removesuffix(packing)
                if path.is_file() and name.endswith(ending):
                    sides.setdefault(name.removesuffix(ending), {})[language] = path
    pairs = {stem: both for stem, both in sides.items() if len(both) == 2}
    named = {stem: split for stem in pairs if (split := split_of_name(stem))}
    if not named:
        return {"train": [next(iter(pairs.values()))]} if len(pairs) == 1 else {}
    left = [path for stem, both in pairs.items() if stem not in named for path in both.values()]
    warn_of_left_out(folder, left, "their names say no split (train, validation, test)")
    found: dict[str, list[SplitFile]] = {}
    for stem, split in named.items():
        both = pairs[stem]
        found.setdefault(split, []).append({language: both[language] for language in (source_lang, target_lang)})
    return {split: found[split] for split in SPLITS if split in found}


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
