"""Contexts with several endings, from local files and data sets of the Hub."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping
from typing import Any

from datasets import Dataset, DatasetDict

from hf_attention_zoo.data.answer_rows import (
    CONTEXT_COLUMNS,
    answered_splits,
    column_of,
    row_sources,
    untold_number,
)
from hf_attention_zoo.data.columns import described_value, has_column, text_at, value_at
from hf_attention_zoo.data.delimited_files import as_list
from hf_attention_zoo.data.sources import DataFiles
from hf_attention_zoo.data.split_names import in_natural_order

CHOICE_COLUMNS = ("choices", "endings", "answers")


RIGHT_COLUMNS = ("label", "labels", "answer", "right")


def load_choices(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    context: str | None = None,
    choices: str | None = None,
    right: str | None = None,
    needed: Collection[str] = ("train",),
) -> DatasetDict:
    """Contexts with endings of which one is right: `context`, `choices` and `label` in a `DatasetDict`.

    The endings are a list in one column, or stand in columns `ending0`, `ending1`, ... as SWAG's; `right` numbers them
    from 0. What SWAG puts before every ending (`sent2`) goes there.

    Args:
        dataset, dataset_config, data_files: as for `load_data`.
        context, choices, right: the columns, with a dot into nested ones; left out, they are looked for.
        needed: splits that must say which choice is right; others that never do (column missing, empty or -1) are
            left out, with a warning.

    Raises:
        ValueError: no such data or column, a number that no ending has, or rows with different numbers of endings.
    """
    sources, what = row_sources(dataset, dataset_config, data_files), "right choices"
    splits = {}
    width = None
    for split, given in answered_splits(dataset, sources, right, RIGHT_COLUMNS, untold_number, needed, what):
        rows = []
        for place, row in given:
            read = _chosen(row, context, choices, right, place)
            width = width or len(read["choices"])
            if len(read["choices"]) != width:
                raise ValueError(f"{place} has {len(read['choices'])} choices, the rows before have {width}")
            rows.append(read)
        splits[split] = Dataset.from_list(rows)
    return DatasetDict(splits)


def _chosen(
    row: Mapping[str, Any], context: str | None, choices: str | None, right: str | None, place: str
) -> dict[str, Any]:
    text = text_at(row, column_of(row, context, CONTEXT_COLUMNS, "the context", place), place)
    if choices is None and has_column(row, "ending0"):
        numbered = in_natural_order(name for name in row if name.startswith("ending") and name[6:].isdigit())
        before = str(row.get("sent2") or "")
        endings = [f"{before} {text_at(row, name, place)}".strip() for name in numbered]
    else:
        endings = as_list(value_at(row, column_of(row, choices, CHOICE_COLUMNS, "the choices", place), place))
    if (
        not isinstance(endings, list | tuple)
        or len(endings) < 2
        or not all(isinstance(ending, str) for ending in endings)
    ):
        raise ValueError(f"{place}: the choices are {described_value(endings)}; a list of two texts or more is wanted")
    label = value_at(row, column_of(row, right, RIGHT_COLUMNS, "the right choice", place), place)
    if isinstance(label, str) and label.isdigit():
        label = int(label)
    if untold_number(label):
        raise ValueError(
            f"{place}: the right choice is {label!r}, which says that it is not told; name a split whose right "
            f"choices are, or give a number from 0 to {len(endings) - 1}"
        )
    if not isinstance(label, int) or isinstance(label, bool) or not 0 <= label < len(endings):
        raise ValueError(f"{place}: the right choice is {label!r}; a number from 0 to {len(endings) - 1} is wanted")
    if not text.strip():
        warnings.warn(f"{place}: the context is empty", UserWarning, stacklevel=3)
    return {"context": text, "choices": list(endings), "label": label}
