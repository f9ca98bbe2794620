"""One loader for sentence pairs: embedded samples, local files and folders, and data sets of the Hugging Face Hub."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Dataset, DatasetDict, Features, IterableDataset, IterableDatasetDict, Value

from hf_attention_zoo.data.columns import (
    PairColumns,
    check_column_argument,
    choose_languages,
    resolve_columns,
)
from hf_attention_zoo.data.delimited_files import fields_of_first_line, is_row_of_texts
from hf_attention_zoo.data.record_files import SplitFile, format_of, read_rows
from hf_attention_zoo.data.samples import (
    TranslationSample,
    get_sample,
    is_sample,
)
from hf_attention_zoo.data.sources import (
    DataFiles,
    chosen_splits,
    fetch_from_hub,
    first_row,
    local_files,
    refuse_arguments,
    warn_of_empty,
)
from hf_attention_zoo.data.split_names import SPLITS, canonical_split

logger = logging.getLogger(__name__)


# Pairs per chunk of an Arrow table while a file is read.
_CHUNK = 10_000


def load_data(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    streaming: bool = False,
    columns: Mapping[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    max_words: int | None = None,
    splits: Sequence[str] | None = None,
) -> DatasetDict | IterableDatasetDict:
    """Load sentence pairs as a `datasets.DatasetDict` with the text columns `source` and `target`, and `id` if given.

    Args:
        dataset: the name of an embedded sample (`list_samples`); the path of a file (`.jsonl`, `.json`, `.csv`,
            `.tsv`, each also gzipped, or `.parquet`) or of a folder with train, validation and test files (or parallel
            text, `train.de` beside `train.en`); `"json"`, `"csv"`, `"tsv"` or `"parquet"` with `data_files`; or the id
            of a data set on the Hub. A sample comes before a path of the same name: write `./name` for the path.
        dataset_config: configuration of a Hub data set.
        data_files: file or files, or a mapping of splits to them; relative to the folder if `dataset` is one.
        streaming: read while iterating instead of at once. Without it, local files are held in memory.
        columns: `{"source": ..., "target": ...}` and perhaps `"id"`: names of columns, `"translation.de"` for nested
            ones. Left out, they are `source` and `target`, or the languages of a `translation` column, or columns
            called like the languages.
        source_lang, target_lang: direction; for samples one of them is enough.
        max_words: keep pairs of at most so many words a side. A word is what stands between white space.
        splits: only these splits. `dev`, `val` and `valid` are called `validation`, in the files too.

    Pairs with an empty side are dropped, with a warning that counts them.

    Raises:
        ValueError: unknown sample, missing file, empty data, missing column, or something else than text where text is
            wanted; the message names what is there.
        ConnectionError: the Hub is needed and cannot be reached.
    """
    check_column_argument(columns)
    if max_words is not None and (isinstance(max_words, bool) or not isinstance(max_words, int) or max_words < 1):
        raise ValueError(f"max_words={max_words!r}: expected a whole number of at least 1, or None for no limit")
    if isinstance(splits, str):
        splits = [splits]
    name = os.fspath(dataset)
    wish = _Wish(name, columns, source_lang, target_lang, max_words)

    if isinstance(dataset, str) and is_sample(name):
        refuse_arguments(
            name, "an embedded sample", dataset_config=dataset_config, data_files=data_files, columns=columns
        )
        sample = get_sample(name)
        if not isinstance(sample, TranslationSample):
            raise ValueError(
                f"sample {name} holds texts with labels, not pairs of languages; load it with load_labelled"
            )
        wish.source_lang, wish.target_lang = choose_languages(
            sample.languages, source_lang, target_lang, where=f"sample {name}", default=sample.default_direction
        )
        files: dict[str, list[SplitFile]] = {split: [sample.file(split)] for split in SPLITS}
    else:
        local = local_files(name, data_files, source_lang, target_lang)
        if local is None and not isinstance(dataset, str):
            raise ValueError(f"{name} does not exist (looked from {Path.cwd()}); check the path")
        if local is None:
            return _load_from_hub(wish, dataset_config, data_files, streaming, splits)
        refuse_arguments(name, "a local data set", dataset_config=dataset_config)
        files = local

    files = chosen_splits(files, splits, name)
    load_split = _stream_files if streaming else _read_files
    collection = IterableDatasetDict if streaming else DatasetDict
    return collection({split: load_split(paths, split, wish) for split, paths in files.items()})


class _Wish:
    """What the caller wants of every split."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, str] | None,
        source_lang: str | None,
        target_lang: str | None,
        max_words: int | None,
    ) -> None:
        self.name = name
        self.columns = columns
        self.source_lang = source_lang
        self.target_lang = target_lang
        self.max_words = max_words

    def resolve(self, first_row: Mapping[str, Any], where: str) -> PairColumns:
        return resolve_columns(
            first_row,
            columns=self.columns,
            source_lang=self.source_lang,
            target_lang=self.target_lang,
            where=where,
        )

    def fits(self, pair: Mapping[str, str]) -> bool:
        limit = self.max_words
        return limit is None or (len(pair["source"].split()) <= limit and len(pair["target"].split()) <= limit)


class _Tally:
    """Counts what a split loses, and says so."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.kept = 0
        self.empty = 0
        self.first_empty = ""
        self.too_long = 0

    def report(self, max_words: int | None) -> None:
        if self.empty:
            warn_of_empty(self.empty, self.kept + self.too_long + self.empty, self.where, self.first_empty)
        if self.too_long:
            logger.info("%s: %d pairs are longer than %s words and left out", self.where, self.too_long, max_words)


# Local files


def _pairs(
    files: Sequence[SplitFile], found: PairColumns, fits: Callable[[Mapping[str, str]], bool], tally: _Tally
) -> Iterator[dict[str, str]]:
    for file in files:
        for place, row in read_rows(file, found.header):
            pair = found.pick(row, place)
            if _is_empty(pair):
                tally.empty += 1
                tally.first_empty = tally.first_empty or place
            elif not fits(pair):
                tally.too_long += 1
            else:
                tally.kept += 1
                yield pair


def _is_empty(pair: Mapping[str, str]) -> bool:
    return not pair["source"].strip() or not pair["target"].strip()


def _columns_of_files(files: Sequence[SplitFile], wish: _Wish) -> PairColumns:
    """The columns of the pair; a table of two columns whose first line is a pair of texts has no header line."""
    file = files[0]
    kind = format_of(file) if isinstance(file, Path) and file.is_file() else None
    if wish.columns is None and isinstance(file, Path) and kind in ("csv", "tsv"):
        fields = fields_of_first_line(file, kind)
        if len(fields) == 2 and is_row_of_texts(fields):
            warnings.warn(
                f"{file} has no header line: its columns are read as source and target, in this order",
                UserWarning,
                stacklevel=3,
            )
            return PairColumns("source", "target", header=("source", "target"))
    where, first = first_row(files)
    return wish.resolve(first, where)


def _read_files(files: Sequence[SplitFile], split: str, wish: _Wish) -> Dataset:
    found = _columns_of_files(files, wish)
    schema = _features(found).arrow_schema
    tally = _Tally(f"{wish.name}, split {split}")
    tables = [schema.empty_table()]
    chunk: list[dict[str, str]] = []
    for pair in _pairs(files, found, wish.fits, tally):
        chunk.append(pair)
        if len(chunk) == _CHUNK:
            tables.append(pa.Table.from_pylist(chunk, schema=schema))
            chunk = []
    tables.append(pa.Table.from_pylist(chunk, schema=schema))
    tally.report(wish.max_words)
    if not tally.kept:
        raise ValueError(_nothing_left(tally.where, tally.empty, tally.too_long, wish.max_words))
    return Dataset(pa.concat_tables(tables).combine_chunks())


def _stream_files(files: Sequence[SplitFile], split: str, wish: _Wish) -> IterableDataset:
    found = _columns_of_files(files, wish)
    return IterableDataset.from_generator(
        _stream_pairs,
        features=_features(found),
        # The list of files is what datasets shards over worker processes.
        gen_kwargs={"files": list(files), "found": found, "wish": wish, "where": f"{wish.name}, split {split}"},
    )


def _stream_pairs(files: list[SplitFile], found: PairColumns, wish: _Wish, where: str) -> Iterator[dict[str, str]]:
    tally = _Tally(where)
    yield from _pairs(files, found, wish.fits, tally)
    tally.report(wish.max_words)
    if not tally.kept:
        # Another shard may hold pairs, so this is no error here.
        warnings.warn(_nothing_left(where, tally.empty, tally.too_long, wish.max_words), UserWarning, stacklevel=2)


def _features(found: PairColumns) -> Features:
    names = ["source", "target"] if found.id is None else ["id", "source", "target"]
    return Features({name: Value("string") for name in names})


def _nothing_left(where: str, empty: int, too_long: int, max_words: int | None) -> str:
    reasons = []
    if empty:
        reasons.append(f"{empty} rows have an empty side")
    if too_long:
        reasons.append(f"{too_long} are longer than max_words={max_words}")
    return f"{where}: no pair is left, {' and '.join(reasons) or 'there are no rows'}"


# The Hub


def _load_from_hub(
    wish: _Wish,
    dataset_config: str | None,
    data_files: DataFiles | None,
    streaming: bool,
    splits: Sequence[str] | None,
) -> DatasetDict | IterableDatasetDict:
    raw = fetch_from_hub(wish.name, dataset_config, data_files, streaming)
    named = {canonical_split(split): data for split, data in raw.items()}
    chosen = chosen_splits(named if len(named) == len(raw) else raw, splits, wish.name)
    if streaming:
        return IterableDatasetDict({split: _stream_hub_split(data, split, wish) for split, data in chosen.items()})
    return DatasetDict({split: _read_hub_split(data, split, wish) for split, data in chosen.items()})


def _read_hub_split(data: Dataset, split: str, wish: _Wish) -> Dataset:
    where = f"{wish.name}, split {split}"
    if not len(data):
        raise ValueError(f"{where}: no rows")
    found = wish.resolve(data[0], where)
    data = needed_columns(data, found)
    pairs = data.map(
        _PickBatch(found, where),
        batched=True,
        with_indices=True,
        remove_columns=data.column_names,
        features=_features(found),
        desc=f"Reading {split}",
    )
    empty = len(data) - len(pairs)
    if empty:
        # map answers from its cache too, so the first place is looked up here.
        first = next(i for i, row in enumerate(data) if _is_empty(found.pick(row, "")))
        warn_of_empty(empty, len(data), where, f"row {first + 1}")
    kept = (
        pairs
        if wish.max_words is None
        else pairs.filter(wish.fits, desc=f"Limiting {split} to {wish.max_words} words")
    )
    if not len(kept):
        raise ValueError(_nothing_left(where, empty, len(pairs) - len(kept), wish.max_words))
    return kept


def _stream_hub_split(data: IterableDataset, split: str, wish: _Wish) -> IterableDataset:
    where = f"{wish.name}, split {split}"
    first = next(iter(data), None)
    if first is None:
        raise ValueError(f"{where}: no rows")
    found = wish.resolve(first, where)
    if data.column_names is not None:
        data = needed_columns(data, found)
    picked = data.map(
        _PickBatch(found, where, warn=True),
        batched=True,
        with_indices=True,
        remove_columns=data.column_names or list(first),
    )
    return picked.filter(wish.fits).cast(_features(found))  # typed last: datasets 4.0 filters no rows with types


def needed_columns(data: Any, found: PairColumns) -> Any:
    """Leave out columns that the pair does not need, so that they are not read (pictures, sounds)."""
    names = data.column_names
    wanted = [
        path if path in names else path.partition(".")[0] for path in (found.source, found.target, found.id) if path
    ]
    return data.select_columns(list(dict.fromkeys(wanted)))


class _PickBatch:
    """Turns a batch of raw columns into columns of pairs without empty ones; a class so that `map` can hash it."""

    def __init__(self, found: PairColumns, where: str, warn: bool = False) -> None:
        self.found = found
        self.where = where
        self.warn = warn

    def __call__(self, batch: Mapping[str, list[Any]], indices: Iterable[int]) -> dict[str, list[str]]:
        rows = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
        places = [index + 1 for index in indices]
        pairs = [self.found.pick(row, f"row {place} of {self.where}") for row, place in zip(rows, places, strict=True)]
        empty = [place for pair, place in zip(pairs, places, strict=True) if _is_empty(pair)]
        if empty and self.warn:
            warn_of_empty(len(empty), len(rows), f"{self.where}, rows {places[0]} to {places[-1]}", f"row {empty[0]}")
        full = [pair for pair in pairs if not _is_empty(pair)]
        return {name: [pair[name] for pair in full] for name in _features(self.found)}
