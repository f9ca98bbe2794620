"""Texts with labels: embedded samples, local files, folders of text files by class, and data sets of the Hub."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict, Features, Value
from datasets import Sequence as ListOf

from hf_attention_zoo.data.columns import column_names, described_value, has_column, text_at, value_at
from hf_attention_zoo.data.delimited_files import as_list
from hf_attention_zoo.data.entry_words import said
from hf_attention_zoo.data.labels import (
    MULTI_LABEL,
    REGRESSION,
    SINGLE_LABEL,
    LabelInfo,
    PlacedLabel,
    check_problem_type,
    understand_labels,
)
from hf_attention_zoo.data.samples import LabelledSample, get_sample, is_sample
from hf_attention_zoo.data.sources import DataFiles, chosen_splits, fetch_from_hub, refuse_arguments
from hf_attention_zoo.data.split_names import SPLITS, canonical_split
from hf_attention_zoo.data.text_encoding import Text, joined
from hf_attention_zoo.tasks.labels.label_sources import HubSplit, LabelledFiles, PlacedRow, local_sources

logger = logging.getLogger(__name__)


# Names that columns go by where the caller names none, the first that is there counts.
PAIR_COLUMNS = (
    ("text", "text_pair"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("question", "sentence"),
)
TEXT_COLUMNS = ("text", "sentences", "paragraphs", "sentence", "document", "review", "content")
LABEL_COLUMNS = ("label", "labels", "class", "category", "gold_label")
# The column of SNLI and MultiNLI, and what stands in it where the annotators did not agree.
GOLD_COLUMN, NO_GOLD = "gold_label", "-"
# Endings of a column that names the classes which the label's column counts.
NAME_ENDINGS = ("_name", "_text")

ROLES = ("text", "text_pair", "label", "id")

LABEL_FEATURES: dict[str, Any] = {
    SINGLE_LABEL: Value("int64"),
    MULTI_LABEL: ListOf(Value("float32")),
    REGRESSION: Value("float32"),
}


@dataclass(frozen=True)
class LabelledColumns:
    """Names of the columns of a labelled text; a dot leads into a nested column unless a column is so called."""

    text: str
    text_pair: str | None
    labels: tuple[str, ...]
    id: str | None = None
    label_name: str | None = None

    def all(self) -> list[str]:
        """Every column that is read."""
        return [name for name in (self.text, self.text_pair, *self.labels, self.id, self.label_name) if name]


def load_labelled(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    problem_type: str | None = None,
    label_names: Sequence[str] | None = None,
    label_separator: str = ",",
    splits: Sequence[str] | None = None,
    needed: Collection[str] | None = None,
) -> tuple[DatasetDict, LabelInfo]:
    """Load texts with labels as a `DatasetDict` with the columns `text` and `label`, and what the labels are.

    Args:
        dataset: the name of an embedded sample; the path of a file (as for `load_data`), of a folder with train,
            validation and test files, or of a folder of text files by class (`train/pos/17.txt` or `pos/17.txt`);
            `"json"`, `"csv"`, `"tsv"` or `"parquet"` with `data_files`; or the id of a data set on the Hub.
        dataset_config: configuration of a Hub data set.
        data_files: file or files, or a mapping of splits to them.
        columns: names of columns for any of "text", "text_pair", "label" and "id"; several for "label" if each holds
            a class of its own or a number. What is left out is looked for: `text`, `sentences`, `sentence1` beside
            `sentence2` and the like; `label`, `labels`, `class`, `category`.
        problem_type: one of transformers' three; told from the labels if left out (`understand_labels`).
        label_names: the texts of the classes in their order. Left out: those of the sample or of the data set's own
            features, those of a column `label_name` or `label_text`, or the labels themselves, sorted. A class is its
            text, a number is no place in these names (the rule of `hf_attention_zoo.data.labels`).
        label_separator: between the classes in a text, for several classes at once.
        splits: only these splits; classes are collected from them alone.
        needed: splits that must have labels; others without any are left out, with a warning. Left out: no split must,
            but the training split must have their column.

    Returns:
        The splits and a `LabelInfo`. `text` is a string, or a list of sentences where the data hold lists (paragraphs,
        lists of lists, are joined). `text_pair` is there if the data hold pairs, `id` if they hold ids. `label` is a
        class number, a number, or a list of numbers: see `LabelInfo.problem_type`. Rows without text, and those on
        which the annotators of SNLI and MultiNLI did not agree, are dropped, with a warning that counts them; splits
        without labels (as the Hub's test splits often are) are left out, with a warning.

    Raises:
        ValueError: unknown sample, missing file, empty data, missing column, a text or label that is none, or a needed
            split without labels.
        ConnectionError: the Hub is needed and cannot be reached.
    """
    check_problem_type(problem_type)
    _check_columns(columns)
    name = os.fspath(dataset)
    splits = [splits] if isinstance(splits, str) else splits
    sources: Mapping[str, Iterable[PlacedRow]]
    if isinstance(dataset, str) and is_sample(name):
        refuse_arguments(name, "an embedded sample", dataset_config=dataset_config, data_files=data_files)
        sample = get_sample(name)
        if not isinstance(sample, LabelledSample):
            raise ValueError(f"sample {name} holds translations, not labels; load it with load_data")
        sources = {split: LabelledFiles([sample.file(split)]) for split in SPLITS}
        if label_names is None and not (columns or {}).get("label"):
            label_names = sample.label_names
    else:
        found = local_sources(name, data_files)
        if found is None and not isinstance(dataset, str):
            raise ValueError(f"{name} does not exist (looked from {Path.cwd()}); check the path")
        if found is None:
            raw = fetch_from_hub(name, dataset_config, data_files, streaming=False)
            named = {canonical_split(split): data for split, data in raw.items()}
            found = {
                split: HubSplit(data, f"{name}, split {split}")
                for split, data in (named if len(named) == len(raw) else raw).items()
            }
        else:
            refuse_arguments(name, "a local data set", dataset_config=dataset_config)
        sources = found
    return _Reader(name, columns, problem_type, label_names, label_separator, needed).read(
        chosen_splits(sources, splits, name)
    )


class _Reader:
    """Reads splits whose columns and labels are settled by what is found in them."""

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Any] | None,
        problem_type: str | None,
        label_names: Sequence[str] | None,
        label_separator: str,
        needed: Collection[str] | None,
    ) -> None:
        self.name = name
        self.columns = columns
        self.problem_type = problem_type
        self.label_names = label_names
        self.label_separator = label_separator
        self.with_column: Collection[str] = ("train",) if needed is None else needed
        self.with_labels: Collection[str] = needed or ()

    def read(self, sources: Mapping[str, Iterable[PlacedRow]]) -> tuple[DatasetDict, LabelInfo]:
        rows: dict[str, list[dict[str, Any]]] = {}
        labels: dict[str, list[PlacedLabel]] = {}
        named: dict[Any, str] = {}
        without: dict[str, Mapping[str, Any]] = {}  # splits without a column of labels, and their first rows
        found, listed = None, None
        for split, source in sources.items():
            where = f"{self.name}, split {split}"
            first = next(iter(source), None)
            if first is None:
                raise ValueError(f"{where}: no rows")
            if split not in self.with_column and not label_columns(first[1], self.columns):
                without[where] = first[1]
                continue
            found = resolve_labelled_columns(first[1], self.columns, where)
            if isinstance(source, HubSplit | LabelledFiles) and len(found.labels) == 1:
                listed = listed or source.class_names(found.labels[0])
            if isinstance(source, HubSplit):
                source.select(found.all())
            read, placed = self._read_split(source, found, where, named, split in self.with_labels)
            if placed is not None:
                rows[split], labels[split] = read, placed
        for where, row in without.items():
            if found is None:
                resolve_labelled_columns(row, self.columns, where)
            warnings.warn(f"{where}: left out, its rows have no labels", UserWarning, stacklevel=3)
        if found is None or not rows:
            raise ValueError(f"{self.name} has no labels: column {', '.join(found.labels if found else ())} is empty")
        info, values = understand_labels(
            labels,
            columns=found.labels,
            problem_type=self.problem_type,
            names=self.label_names,
            listed=listed,
            named=named,
            separator=self.label_separator,
            where=self.name,
        )
        self._warn_of_unseen(info, values)
        return DatasetDict({split: _table(rows[split], values[split], info) for split in rows}), info

    def _read_split(
        self, source: Iterable[PlacedRow], found: LabelledColumns, where: str, named: dict[Any, str], needed: bool
    ) -> tuple[list[dict[str, Any]], list[PlacedLabel] | None]:
        rows, labels, unlabelled = [], [], []
        dropped, first_dropped = 0, ""
        undecided: list[str] = []
        kinds: dict[str, type] = {}
        for place, row in source:
            texts = {"text": _text(row, found.text, place)}
            if found.text_pair is not None:
                texts["text_pair"] = _text(row, found.text_pair, place)
            if not all(joined(text).strip() for text in texts.values()):
                dropped, first_dropped = dropped + 1, first_dropped or place
                continue
            if found.labels == (GOLD_COLUMN,) and value_at(row, GOLD_COLUMN, place) == NO_GOLD:
                undecided.append(place)
                continue
            for column, text in texts.items():
                if kinds.setdefault(column, type(text)) is not type(text):
                    raise ValueError(
                        f"{place}: column '{column}' holds {described_value(text)} after rows with "
                        f"{'a text' if kinds[column] is str else 'a list of sentences'}; hold all the same way"
                    )
            if found.id is not None:
                texts["id"] = str(value_at(row, found.id, place))
            label = self._label(row, found, place, named)
            if label is None:
                unlabelled.append(place)
            rows.append(texts)
            labels.append((place, label))
        if dropped:
            warnings.warn(
                f"{where}: dropped {dropped} of {dropped + len(rows)} rows without text (first: {first_dropped})",
                UserWarning,
                stacklevel=4,
            )
        if undecided:
            warnings.warn(
                f"{where}: left out {len(undecided)} rows whose {GOLD_COLUMN} is {NO_GOLD!r}, on which the annotators "
                f"did not agree (first: {undecided[0]})",
                UserWarning,
                stacklevel=4,
            )
        if not rows:
            raise ValueError(
                f"{where}: no row is left, {dropped} rows have no text and {len(undecided)} no {GOLD_COLUMN}"
            )
        if unlabelled and (needed or len(unlabelled) < len(rows)):
            raise ValueError(
                f"{unlabelled[0]}: no label in column {', '.join(found.labels)} ({len(unlabelled)} of {len(rows)} "
                f"rows have none{self._none_said(found)}); correct or remove the rows"
            )
        if unlabelled:
            warnings.warn(f"{where}: left out, its rows have no labels", UserWarning, stacklevel=4)
            return rows, None
        return rows, labels

    def _label(self, row: Mapping[str, Any], found: LabelledColumns, place: str, named: dict[Any, str]) -> Any:
        values = [as_list(value_at(row, column, place), numbers=True) for column in found.labels]
        if values == [""] and self.problem_type == MULTI_LABEL:
            return []  # none of the classes
        if any(
            value is None or value == "" or (self._counts(found) and type(value) is int and value == -1)
            for value in values
        ):
            return None
        label = values[0] if len(values) == 1 else values
        if found.label_name is not None and has_column(row, found.label_name) and not isinstance(label, list):
            given = value_at(row, found.label_name, place)
            if isinstance(given, str) and named.setdefault(label, given) != given:
                raise ValueError(f"{place}: the label {label!r} is called {given!r} here and {named[label]!r} before")
        return label

    def _none_said(self, found: LabelledColumns) -> str:
        if self._counts(found):
            return "; -1 counts as none, as on the Hub: if it is a class, give it another number or a name"
        return ""

    def _counts(self, found: LabelledColumns) -> bool:
        """Whether -1 stands for a missing class, as it does on the Hub, and is no number to learn."""
        return self.problem_type in (None, SINGLE_LABEL) and len(found.labels) == 1

    def _warn_of_unseen(self, info: LabelInfo, values: Mapping[str, list[Any]]) -> None:
        if info.problem_type != SINGLE_LABEL or "train" not in values:
            return
        unseen = [name for index, name in enumerate(info.names) if index not in set(values["train"])]
        if unseen:
            warnings.warn(
                f"{self.name}: no training text has the label {', '.join(unseen[:10])}", UserWarning, stacklevel=4
            )


def label_columns(row: Mapping[str, Any], columns: Mapping[str, Any] | None) -> list[str]:
    """The columns of the label in a row: those named if all are there, or the first of the usual ones."""
    given = named_labels(columns)
    if given:
        return given if all(has_column(row, name) for name in given) else []
    return [name for name in LABEL_COLUMNS if name in row][:1]


def named_labels(columns: Mapping[str, Any] | None) -> list[str]:
    """The columns that the caller names for the label; none are an empty list."""
    given = (columns or {}).get("label")
    return [given] if isinstance(given, str) else list(given or [])


def resolve_labelled_columns(row: Mapping[str, Any], columns: Mapping[str, Any] | None, where: str) -> LabelledColumns:
    """Find the columns from the first row; the caller's win.

    Raises:
        ValueError: a named column is not there, or none can be told; the message lists the columns that are.
    """
    wanted = dict(columns or {})
    for name in (*(wanted.get(role) for role in ("text", "text_pair", "id")), *named_labels(columns)):
        if name is not None and not has_column(row, name):
            raise ValueError(f"{where} has no column '{name}'; it has {column_names(row)}")
    text, pair = wanted.get("text"), wanted.get("text_pair")
    if text is None:
        text, found_pair = next(
            ((one, other) for one, other in PAIR_COLUMNS if one in row and other in row),
            (next((name for name in TEXT_COLUMNS if name in row), None), None),
        )
        pair = pair or found_pair
    given = label_columns(row, columns)
    if text is None or not given:
        missing = f"text ({', '.join(TEXT_COLUMNS)})" if text is None else f"label ({', '.join(LABEL_COLUMNS)})"
        raise ValueError(f"{where} has the columns {column_names(row)}, none of them a {missing}; {how_to_name()}")
    name_column = None
    if len(given) == 1:
        name_column = next((given[0] + ending for ending in NAME_ENDINGS if has_column(row, given[0] + ending)), None)
    identity = wanted.get("id") or ("id" if row.get("id") is not None else None)
    return LabelledColumns(text, pair, tuple(given), identity, name_column)


def how_to_name() -> str:
    """What to do where no column is called as usual."""
    named = said(
        'name them with columns={"text": ..., "text_pair": ..., "label": ...}',
        "name them with --text_column, --text_pair_column and --label_column",
    )
    return f"{named}, or put a line with the names of the columns first if there is none"


def _check_columns(columns: Mapping[str, Any] | None) -> None:
    if columns is None:
        return
    if not isinstance(columns, Mapping) or not set(columns) <= set(ROLES):
        raise ValueError(f"columns={columns!r}: expected names for any of {', '.join(ROLES)}")
    for role, name in columns.items():
        names = [name] if isinstance(name, str) or role != "label" else name
        if not names or not all(isinstance(one, str) and one for one in names):
            raise ValueError(f"columns[{role!r}]={name!r}: expected the name of a column")


def _text(row: Mapping[str, Any], column: str, place: str) -> Text:
    """A string, or the sentences of a document; paragraphs are strung together, empty sentences left out."""
    value = as_list(value_at(row, column, place))
    if not isinstance(value, list | tuple):
        return text_at(row, column, place)
    sentences = [inner for part in value for inner in (part if isinstance(part, list | tuple) else [part])]
    for number, sentence in enumerate(sentences, 1):
        text_at({"sentence": sentence}, "sentence", f"{place}, column '{column}', item {number}")
    return [sentence for sentence in sentences if sentence.strip()]


def _table(rows: list[dict[str, Any]], values: list[Any], info: LabelInfo) -> Dataset:
    features: dict[str, Any] = {}
    for name in ("id", "text", "text_pair"):
        if name in rows[0]:
            features[name] = Value("string") if isinstance(rows[0][name], str) else ListOf(Value("string"))
    label = LABEL_FEATURES[info.problem_type]
    features["label"] = ListOf(label) if isinstance(values[0], list) and not isinstance(label, ListOf) else label
    table = {name: [row[name] for row in rows] for name in features if name != "label"}
    return Dataset.from_dict({**table, "label": values}, features=Features(features))
