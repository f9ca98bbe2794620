"""What the labels of a data set are: classes, several classes at once, or numbers; and their values for a model.

The three kinds go by transformers' names of `problem_type`. Labels of a class become whole numbers that count from 0,
several classes at once a list of 0.0 and 1.0, numbers stay numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SINGLE_LABEL = "single_label_classification"
MULTI_LABEL = "multi_label_classification"
REGRESSION = "regression"
PROBLEM_TYPES = (SINGLE_LABEL, MULTI_LABEL, REGRESSION)

# A label as the data have it, and the place of its row for messages.
PlacedLabel = tuple[str, Any]


@dataclass(frozen=True)
class LabelInfo:
    """Names and kind of a data set's labels.

    Attributes:
        names: a name per class, or per number of a regression ("label" where it is one).
        problem_type: as in transformers' configs.
    """

    names: tuple[str, ...]
    problem_type: str

    @property
    def num_labels(self) -> int:
        return len(self.names)

    @property
    def id2label(self) -> dict[int, str]:
        return dict(enumerate(self.names))

    @property
    def label2id(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def config_fields(self) -> dict[str, Any]:
        """The fields of a model's config that say this."""
        return {"problem_type": self.problem_type, "id2label": self.id2label, "label2id": self.label2id}


def label_info_of(config: Any) -> LabelInfo:
    """Names and kind of the labels that a saved classifier gives, from its config."""
    names = tuple(str(config.id2label[index]) for index in range(config.num_labels))
    kind = config.problem_type or (REGRESSION if len(names) == 1 else SINGLE_LABEL)
    return LabelInfo(names, kind)


def check_problem_type(problem_type: str | None) -> None:
    """Raise a ValueError for a kind that does not exist."""
    if problem_type is not None and problem_type not in PROBLEM_TYPES:
        raise ValueError(f"problem_type={problem_type!r}: it is one of {', '.join(PROBLEM_TYPES)}")


def understand_labels(
    splits: Mapping[str, Sequence[PlacedLabel]],
    *,
    columns: Sequence[str] = ("label",),
    problem_type: str | None = None,
    names: Sequence[str] | None = None,
    named: Mapping[Any, str] | None = None,
    separator: str = ",",
    where: str = "the data set",
) -> tuple[LabelInfo, dict[str, list[Any]]]:
    """Settle what the labels are and turn them into what a model is trained with.

    Args:
        splits: the labels of each split with their places; a list for a row with several.
        columns: the columns that they come from. Several: a class or a number each.
        problem_type: `None` to tell it from the values: fractions are a regression, lists several classes at once,
            anything else one class.
        names: the classes in order, where the caller or the data set says so.
        named: names of the values, from a second column.
        separator: between the classes in a text, for several classes at once.
        where: the data set, for messages.

    Raises:
        ValueError: values that do not fit the kind or the names; the message names the row.
    """
    check_problem_type(problem_type)
    everything = [placed for split in splits.values() for placed in split]
    if not everything:
        raise ValueError(f"{where} has no labels")
    kind = problem_type or _kind_of([value for _, value in everything])
    read = {SINGLE_LABEL: _read_classes, MULTI_LABEL: _read_class_sets, REGRESSION: _read_numbers}[kind]
    found, values = read(everything, list(columns), list(names) if names else None, dict(named or {}), separator)
    if len(set(found)) != len(found):
        raise ValueError(f"{where}: two classes have the same name: {', '.join(found)}")
    if kind == SINGLE_LABEL and len(found) < 2:
        raise ValueError(
            f"{where} has a single class, {found[0]!r}: there is nothing to tell apart. For numbers say "
            f"problem_type={REGRESSION}"
        )
    result, start = {}, 0
    for split, placed in splits.items():
        result[split] = values[start : start + len(placed)]
        start += len(placed)
    return LabelInfo(tuple(found), kind), result


def as_number(value: Any) -> float | None:
    """The number that a value or a text stands for; `None` if it is none."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _whole(value: Any) -> int | None:
    number = as_number(value)
    return int(number) if number is not None and math.isfinite(number) and number == int(number) else None


def _is_float(value: Any) -> bool:
    """Whether a value is a number that is not meant to be counted: 1.0 of JSON, "1.5" of CSV; not "1" and not 1."""
    if isinstance(value, str):
        return as_number(value) is not None and _whole(value) is None
    return isinstance(value, float)


def _all_numbers(values: Sequence[Any]) -> bool:
    return all(as_number(value) is not None for value in values)


def _kind_of(values: Sequence[Any]) -> str:
    if any(isinstance(value, list | tuple) for value in values):
        inner = [part for value in values if isinstance(value, list | tuple) for part in value]
        fractions = any(_is_float(part) and _whole(part) not in (0, 1) for part in inner)
        return REGRESSION if fractions and _all_numbers(inner) else MULTI_LABEL
    return REGRESSION if any(_is_float(value) for value in values) and _all_numbers(values) else SINGLE_LABEL


def _read_classes(
    placed: Sequence[PlacedLabel],
    columns: list[str],
    names: list[str] | None,
    named: dict[Any, str],
    separator: str,
) -> tuple[list[str], list[int]]:
    for place, value in placed:
        if isinstance(value, list | tuple):
            raise ValueError(
                f"{place}: the label is {value!r}, a list; one class a row is wanted, or problem_type={MULTI_LABEL}"
            )
    keys = [_class_key(place, value) for place, value in placed]
    if names is None:
        names_of_keys = {key: named.get(value, named.get(key)) for key, (_, value) in zip(keys, placed, strict=True)}
        order = sorted(names_of_keys, key=lambda key: (isinstance(key, str), key))
        index = {key: position for position, key in enumerate(order)}
        return [str(names_of_keys[key] or key) for key in order], [index[key] for key in keys]
    by_name = {name: position for position, name in enumerate(names)}
    values = []
    for key, (place, value) in zip(keys, placed, strict=True):
        position = by_name.get(str(value).strip(), by_name.get(str(key)))
        if position is None and isinstance(key, int) and 0 <= key < len(names):
            position = key
        if position is None:
            raise ValueError(f"{place}: the label is {value!r}; the classes are {', '.join(names)}")
        values.append(position)
    return names, values


def _class_key(place: str, value: Any) -> int | str:
    if isinstance(value, bool):
        return str(value).lower()
    whole = _whole(value)
    if whole is not None:
        return whole
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise ValueError(f"{place}: the label is {value!r}; a name or a whole number is wanted for a class")


def _read_class_sets(
    placed: Sequence[PlacedLabel],
    columns: list[str],
    names: list[str] | None,
    named: dict[Any, str],
    separator: str,
) -> tuple[list[str], list[list[float]]]:
    rows: list[list[Any]] = []
    for _, value in placed:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(separator) if part.strip()]
        rows.append(list(value) if isinstance(value, list | tuple) else [value])
    width = len(rows[0])
    marks = len(columns) > 1 or (
        width > 1 and all(len(row) == width and all(_mark(part) is not None for part in row) for row in rows)
    )
    if marks:
        names = names or (columns if len(columns) > 1 else [str(index) for index in range(width)])
        values = []
        for (place, value), row in zip(placed, rows, strict=True):
            found = [_mark(part) for part in row]
            if None in found or len(row) != len(names):
                raise ValueError(
                    f"{place}: the labels are {value!r}; {len(names)} marks of 0 or 1 are wanted, one for each of "
                    f"{', '.join(names)}"
                )
            values.append([float(mark) for mark in found])
        return names, values
    keys = [[_class_key(place, part) for part in row] for (place, _), row in zip(placed, rows, strict=True)]
    if names is None:
        order = sorted({key for row in keys for key in row}, key=lambda key: (isinstance(key, str), key))
        names, index = [str(named.get(key, key)) for key in order], {key: i for i, key in enumerate(order)}
    else:
        index = {**dict(enumerate(range(len(names)))), **{name: i for i, name in enumerate(names)}}
    values = []
    for (place, value), row in zip(placed, keys, strict=True):
        marked = [0.0] * len(names)
        for key in row:
            if key not in index:
                raise ValueError(f"{place}: the labels are {value!r}; the classes are {', '.join(names)}")
            marked[index[key]] = 1.0
        values.append(marked)
    return names, values


def _mark(value: Any) -> float | None:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return float(value.strip().lower() == "true")
    number = as_number(value)
    return number if number in (0.0, 1.0) else None


def _read_numbers(
    placed: Sequence[PlacedLabel],
    columns: list[str],
    names: list[str] | None,
    named: dict[Any, str],
    separator: str,
) -> tuple[list[str], list[Any]]:
    values: list[Any] = []
    several = len(columns) > 1 or isinstance(placed[0][1], list | tuple)
    for place, value in placed:
        row = list(value) if isinstance(value, list | tuple) else [value]
        numbers = [as_number(part) for part in row]
        if any(number is None or not math.isfinite(number) for number in numbers):
            raise ValueError(f"{place}: the label is {value!r}; a regression wants finite numbers")
        values.append(numbers if several else numbers[0])
    width = len(values[0]) if several else 1
    for (place, value), row in zip(placed, values, strict=True):
        if several and len(row) != width:
            raise ValueError(f"{place}: the label {value!r} has {len(row)} numbers, the first row has {width}")
    default = columns if len(columns) == width else [f"number_{index}" for index in range(width)]
    if names is not None and len(names) != width:
        raise ValueError(f"{len(names)} label names for {width} numbers a row: {', '.join(names)}")
    return names or default, values
