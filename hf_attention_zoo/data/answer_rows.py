"""Rows of tasks whose answers are no label of a text: tags of words, spans of a context, one of several endings.

All read the same places as `load_labelled`: local files and folders by split, and data sets of the Hub. Test splits
are often given out without their answers; one that nobody needs is left out, with a warning.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hf_attention_zoo.data.columns import column_names, has_column, value_at
from hf_attention_zoo.data.delimited_files import as_list
from hf_attention_zoo.data.entry_words import said
from hf_attention_zoo.data.record_files import SplitFile, features_of_files, listed_classes, read_rows
from hf_attention_zoo.data.sources import DataFiles, fetch_from_hub, local_files, refuse_arguments
from hf_attention_zoo.data.split_names import canonical_split
from hf_attention_zoo.data.text_lines import split_words

CONTEXT_COLUMNS = ("context", "passage", "text", "sent1", "startphrase", "sentence")

# What stands where the answer is not told; for a number (of a choice, of a tag) -1 does, too, as on the Hub.
UNTOLD = (None, "")
UNTOLD_NUMBER = (*UNTOLD, -1, "-1")

PlacedRow = tuple[str, Mapping[str, Any]]


class RowSource:
    """Rows of a split, with their places; may be read again."""

    def __init__(self, rows: Callable[[], Iterator[PlacedRow]], features: Any = None) -> None:
        self.rows = rows
        self.features = features or {}

    def class_names(self, column: str | None, usual: Sequence[str]) -> list[str] | None:
        """The classes that a data set's own features list for a column."""
        listed = (listed_classes(self.features, name) for name in ((column,) if column is not None else usual))
        return next(filter(None, listed), None)


def _rows_of_files(paths: Sequence[SplitFile]) -> Iterator[PlacedRow]:
    return (row for path in paths for row in read_rows(path))


def row_sources(
    dataset: str | os.PathLike, dataset_config: str | None, data_files: DataFiles | None
) -> dict[str, RowSource]:
    """The splits of a local data set or one of the Hub.

    Raises:
        ValueError: there is no such place.
    """
    name = os.fspath(dataset)
    files = local_files(name, data_files, None, None)
    if files is not None:
        refuse_arguments(name, "a local data set", dataset_config=dataset_config)
        return {
            split: RowSource(partial(_rows_of_files, paths), features_of_files(paths))
            for split, paths in files.items()
        }
    found = {}
    for split, data in fetch_from_hub(name, dataset_config, data_files, streaming=False).items():

        def rows(data: Any = data, split: str = split) -> Iterator[PlacedRow]:
            for number, row in enumerate(data, 1):
                yield f"row {number} of {name}, split {split}", row

        found[canonical_split(split)] = RowSource(rows, data.features)
    return found


def column_of(row: Mapping[str, Any], named: str | None, usual: Sequence[str], what: str, place: str) -> str:
    """The column that was named, or the first of the usual ones that is there.

    Raises:
        ValueError: none is; the message lists those that are.
    """
    if named is not None:
        if not has_column(row, named):
            raise ValueError(f"{place} has no column '{named}'; it has {column_names(row)}")
        return named
    for name in usual:
        if has_column(row, name):
            return name
    raise ValueError(
        f"{place} has no column with {what} ({', '.join(usual)}); it has {column_names(row)}; "
        f"{said('name it', 'name it with the flag that ends in _column')}"
    )


def answered_splits(
    dataset: str | os.PathLike,
    sources: Mapping[str, RowSource],
    named: str | None,
    usual: Sequence[str],
    untold: Callable[[Any], bool],
    needed: Collection[str],
    what: str,
) -> Iterator[tuple[str, list[PlacedRow]]]:
    """The splits with their rows; those that tell no answer and are not needed are left out, with a warning.

    Args:
        named, usual: the column of the answers, as for `column_of`.
        untold: whether this stands where an answer is not told.

    Raises:
        ValueError: a split has no rows, or none has answers.
    """
    columns = usual if named is None else (named,)
    read, rows = 0, []
    for split, source in sources.items():
        rows = list(source.rows())
        if not rows:
            raise ValueError(f"{dataset}, split {split}: no rows")
        if split in needed or not all(untold(_first_of(row, columns)) for _, row in rows):
            read += 1
            yield split, rows
        else:
            warnings.warn(f"{dataset}, split {split}: left out, its rows have no {what}", UserWarning, stacklevel=3)
    if not read:
        raise ValueError(
            f"{dataset} has no {what} in a column {', '.join(columns)}; its rows have {column_names(rows[0][1])}"
        )


def _first_of(row: Mapping[str, Any], columns: Sequence[str]) -> Any:
    """What the first of the columns that is there holds; None without one."""
    return next((value_at(row, name, "") for name in columns if has_column(row, name)), None)


def untold(answer: Any) -> bool:
    return answer in UNTOLD


def untold_number(answer: Any) -> bool:
    return answer in UNTOLD_NUMBER


def parted(given: Any) -> Any:
    """A text as the list that it prints, or of what stands between blanks; anything else as it is."""
    given = as_list(given, numbers=True)
    return split_words(given) if isinstance(given, str) else given
