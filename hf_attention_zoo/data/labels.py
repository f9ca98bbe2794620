"""What the labels of a data set are: classes, several classes at once, or numbers; and their values for a model.

The three kinds go by transformers' names of `problem_type`. Labels of a class become whole numbers that count from 0,
several classes at once a list of 0.0 and 1.0, numbers stay numbers.

The one rule for classes, of texts as of words: **a class is its text.** `1` in JSON and `1` in CSV are the class "1";
`011` and `11` are two classes. A number is the place of a class only where the data set's own features say so
(`ClassLabel` of `datasets`); it is never a place in the names that a caller or a model gives. What is not a known
class is refused, with its row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hf_attention_zoo.data.entry_words import said

SINGLE_LABEL = "single_label_classification"
MULTI_LABEL = "multi_label_classification"
REGRESSION = "regression"
PROBLEM_TYPES = (SINGLE_LABEL, MULTI_LABEL, REGRESSION)

_NUMBER = re.compile(r"[-+]?[0-9]+")

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
    listed: Sequence[str] | None = None,
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
        names: the classes in order, where the caller says so; left out, those of `listed`, or those that occur.
        listed: the classes in the order of their numbers, where the data set's own features list them.
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
    if kind == REGRESSION:
        found, values = _read_numbers(everything, list(columns), list(names) if names else None)
    else:
        classes = Classes(names, listed, named)
        if kind == SINGLE_LABEL:
            found, values = _read_classes(everything, classes)
        else:
            found, values = _read_class_sets(everything, list(columns), classes, separator)
    if len(set(found)) != len(found):
        raise ValueError(f"{where}: two classes have the same name: {', '.join(found)}")
    if kind == SINGLE_LABEL and len(found) < 2:
        raise ValueError(
            f"{where} has a single class, {found[0]!r}: there is nothing to tell apart. For numbers say "
            f"{_kind_said(REGRESSION)}"
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
    if isinstance(value, str) and "_" not in value:  # float() reads 1_000
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


class Classes:
    """The classes of a data set by their texts; see the rule at the top of this file.

    Args:
        names: the classes in order, where the caller says so.
        listed: the classes in the order of their numbers, by the data set's own features.
        named: names of values, from a second column.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        listed: Sequence[str] | None = None,
        named: Mapping[Any, str] | None = None,
    ) -> None:
        self.listed = list(listed) if listed else None
        self.named = {class_text(value): name for value, name in (named or {}).items()}
        self.names = list(names) if names else self.listed
        self.numbers = {name: number for number, name in enumerate(self.names or ())}

    def text(self, value: Any, place: str) -> str:
        """The class that a value is.

        Raises:
            ValueError: it is none: nothing, a list, a fraction, or a number that the features do not list.
        """
        if self.listed is not None and isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < len(self.listed):
                raise ValueError(
                    f"{place}: the class has the number {value}; the data set lists {len(self.listed)} classes from 0"
                )
            return self.listed[value]
        text = class_text(value)
        if text is None:
            raise ValueError(f"{place}: the label is {value!r}; a name or a whole number is wanted for a class")
        return text

    def settle(self, texts: Sequence[str]) -> list[str]:
        """The names in order; unless they are given, from the texts that occur."""
        if self.names is None:
            order = in_order(texts)
            self.numbers = {text: number for number, text in enumerate(order)}
            self.names = [self.named.get(text, text) for text in order]
            self.named = {}  # numbers go by the texts now
        return self.names

    def number(self, text: str, place: str, said: str = "the label is") -> int:
        """The number of a class, by its text or by the name that a second column gives it.

        Raises:
            ValueError: it is no known class.
        """
        number = self.numbers.get(self.named.get(text, text), self.numbers.get(text))
        if number is None:
            known = self.names or []
            number_too = "; a number is not taken for the place of a class" if _NUMBER.fullmatch(text) else ""
            raise ValueError(f"{place}: {said} {text!r}; the classes are {', '.join(known)}{number_too}")
        return number


def class_text(value: Any) -> str | None:
    """The text that a value is as a class; `None` if it can be none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int):
        return str(value)
    # A column of whole numbers becomes one of fractions where a table has a gap.
    return str(int(value)) if isinstance(value, float) and _whole(value) is not None else None


def in_order(texts: Sequence[str]) -> list[str]:
    """Different classes, numbers by their value before names by the alphabet."""

    def key(text: str) -> tuple[bool, int, str]:
        number = _NUMBER.fullmatch(text) is not None
        return not number, int(text) if number else 0, text

    return sorted(set(texts), key=key)


def known_names(info: LabelInfo) -> tuple[str, ...]:
    """The texts of a saved model's classes: those of transformers' LABEL_0, LABEL_1, ... are their numbers."""
    unnamed = info.names == tuple(f"LABEL_{index}" for index in range(info.num_labels))
    return tuple(str(index) for index in range(info.num_labels)) if unnamed else info.names


def _kind_said(kind: str) -> str:
    return said(f"problem_type={kind}", f"--problem_type {kind}")


def _read_classes(placed: Sequence[PlacedLabel], classes: Classes) -> tuple[list[str], list[int]]:
    for place, value in placed:
        if isinstance(value, list | tuple):
            raise ValueError(
                f"{place}: the label is {value!r}, a list; one class a row is wanted, or {_kind_said(MULTI_LABEL)}"
            )
    texts = [classes.text(value, place) for place, value in placed]
    names = classes.settle(texts)
    return names, [classes.number(text, place) for text, (place, _) in zip(texts, placed, strict=True)]


def _read_class_sets(
    placed: Sequence[PlacedLabel], columns: list[str], classes: Classes, separator: str
) -> tuple[list[str], list[list[float]]]:
    rows: list[list[Any]] = []
    for _, value in placed:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(separator) if part.strip()]
        rows.append(list(value) if isinstance(value, list | tuple) else [value])
    if len(columns) > 1 or _are_marks(rows, classes):
        names = classes.names or (columns if len(columns) > 1 else [str(index) for index in range(len(rows[0]))])
        values = []
        for (place, value), row in zip(placed, rows, strict=True):
            found = [mark for part in row if (mark := _mark(part)) is not None]
            if not len(found) == len(row) == len(names):
                raise ValueError(
                    f"{place}: the labels are {value!r}; {len(names)} marks of 0 or 1 are wanted, one for each of "
                    f"{', '.join(names)}"
                )
            values.append(found)
        return names, values
    texts = [[classes.text(part, place) for part in row] for (place, _), row in zip(placed, rows, strict=True)]
    names = classes.settle([text for row in texts for text in row])
    values = []
    for (place, _), row in zip(placed, texts, strict=True):
        marked = [0.0] * len(names)
        for text in row:
            marked[classes.number(text, place, "one of the labels is")] = 1.0
        values.append(marked)
    return names, values


def _are_marks(rows: Sequence[Sequence[Any]], classes: Classes) -> bool:
    """Whether lists mark each of the classes with 0 or 1, and do not name those that a row has.

    They do if all are as long as there are classes and hold nothing but the numbers 0 and 1.
    """
    width = len(rows[0])
    if width < 2 or classes.listed is not None or (classes.names is not None and len(classes.names) != width):
        return False
    return all(
        len(row) == width and all(not isinstance(part, str) and _mark(part) is not None for part in row)
        for row in rows
    )


def _mark(value: Any) -> float | None:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return float(value.strip().lower() == "true")
    number = as_number(value)
    return number if number in (0.0, 1.0) else None


def _read_numbers(
    placed: Sequence[PlacedLabel], columns: list[str], names: list[str] | None
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
