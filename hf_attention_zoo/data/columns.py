"""Which columns of a data set hold the two sides of a pair, and the checks on what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hf_attention_zoo.data.entry_words import said

Row = Mapping[str, Any]


def _how_to_name() -> str:
    return said(
        'name them with columns={"source": ..., "target": ...}; a dot goes into nested columns: "translation.de"',
        "name them with --source_column and --target_column; a dot goes into nested columns: translation.de",
    )


@dataclass(frozen=True)
class PairColumns:
    """Names of the columns of a pair; a dot in a name leads into a nested column unless a column is so called.

    Attributes:
        header: names of the columns of a file that has no header line.
    """

    source: str
    target: str
    id: str | None = None
    header: tuple[str, ...] | None = None

    def pick(self, row: Row, place: str) -> dict[str, str]:
        """The pair of a row as `{"source", "target"[, "id"]}`.

        Args:
            row: the row as the file or the Hub gives it; without an id it gets an empty one.
            place: where it stands, for messages: "row 7 of train.csv".

        Raises:
            ValueError: a column is missing in this row, or does not hold text.
        """
        pair = {
            "source": text_at(row, self.source, place),
            "target": text_at(row, self.target, place),
        }
        if self.id is not None:
            value = value_at(row, self.id, place) if has_column(row, self.id) else None
            pair["id"] = "" if value is None else str(value)
        return pair


def resolve_columns(
    row: Row,
    *,
    columns: Mapping[str, str] | None,
    source_lang: str | None,
    target_lang: str | None,
    where: str,
) -> PairColumns:
    """Find the columns of the pair from the first row of a data set.

    The caller's `columns` win. Otherwise `source` and `target` are looked for, then a `translation` column that holds
    one text per language, then columns named like the languages.

    Raises:
        ValueError: a named column is not there, or none can be told; the message lists the columns that are.
    """
    if columns is not None:
        return _resolve_named(row, columns, where)
    id_column = "id" if row.get("id") is not None else None
    if "source" in row and "target" in row:
        return PairColumns("source", "target", id_column)
    translation = row.get("translation")
    if isinstance(translation, Mapping):
        source, target = choose_languages(list(translation), source_lang, target_lang, where=where)
        return PairColumns(f"translation.{source}", f"translation.{target}", id_column)
    if source_lang is not None and target_lang is not None and source_lang in row and target_lang in row:
        return PairColumns(source_lang, target_lang, id_column)
    wanted = "'source' and 'target'"
    if source_lang or target_lang:
        wanted += f", 'translation', or the languages '{source_lang}' and '{target_lang}'"
    raise ValueError(
        f"{where} has the columns {column_names(row)}, not {wanted}; {_how_to_name()}; where the "
        "first line is a pair and no header, put one before it: source and target"
    )


def check_column_argument(columns: Mapping[str, str] | None) -> None:
    """Raise a ValueError unless `columns` names both sides (and at most the id) as text."""
    if columns is None:
        return
    allowed = {"source", "target", "id"}
    if not isinstance(columns, Mapping) or not {"source", "target"} <= set(columns) <= allowed:
        given = ", ".join(map(str, columns)) if isinstance(columns, Mapping) else columns
        which = said(
            f'columns={columns!r}: expected "source" and "target", and "id" if there is one',
            f"a column is named for {given} alone; the two sides are named together",
        )
        raise ValueError(f"{which}; {_how_to_name()}")
    for side, name in columns.items():
        if not isinstance(name, str) or not name:
            how = said(f"columns[{side!r}]={name!r}", f"--{side}_column {name!r}")
            raise ValueError(f"{how}: expected the name of a column")


def choose_languages(
    languages: Sequence[str],
    source_lang: str | None,
    target_lang: str | None,
    *,
    where: str,
    default: tuple[str, str] | None = None,
) -> tuple[str, str]:
    """Settle the direction among the languages that a data set has.

    A side that is not given comes from `default`, or is the only other language of a pair.

    Raises:
        ValueError: a language is not there, both sides are the same, or the direction is left open.
    """
    listed = ", ".join(languages)
    for side, language in (("source_lang", source_lang), ("target_lang", target_lang)):
        if language is not None and language not in languages:
            raise ValueError(f"{side}={language!r}: {where} has the languages {listed}")
    if source_lang is not None and source_lang == target_lang:
        raise ValueError(f"source_lang and target_lang are both {source_lang!r}: choose two of {listed}")
    if source_lang is not None and target_lang is not None:
        return source_lang, target_lang
    if default is not None and source_lang is None and target_lang is None:
        return default
    given = source_lang if source_lang is not None else target_lang
    others = [language for language in languages if language != given]
    if default is not None and given is not None:
        # Prefer the default of the open side, else what the given side has taken from the other end.
        preferred = default[1] if source_lang is not None else default[0]
        other = preferred if preferred != given else default[0] if source_lang is not None else default[1]
    elif given is not None and len(others) == 1:
        other = others[0]
    else:
        raise ValueError(
            f"{where} has the languages {listed}: say which way with "
            f"{said('source_lang and target_lang', '--source_lang and --target_lang')}"
        )
    return (given, other) if source_lang is not None else (other, given)


def text_at(row: Row, path: str, place: str) -> str:
    """Text of a (nested) column; raises a ValueError that says what is there instead."""
    value = value_at(row, path, place)
    if not isinstance(value, str):
        raise ValueError(
            f"{place}: column '{path}' holds {described_value(value)} where text is wanted; "
            "correct or remove the row, or name another column "
            f"{said('with columns=', '(a flag that ends in _column)')}"
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{place}: column '{path}' holds text that is not valid Unicode ({error})") from error
    return value


def column_names(row: Row) -> list[str]:
    """Names of the columns of a row, nested ones with a dot."""
    names = []
    for name, value in row.items():
        names += [f"{name}.{inner}" for inner in value] if isinstance(value, Mapping) else [str(name)]
    return names


def _resolve_named(row: Row, columns: Mapping[str, str], where: str) -> PairColumns:
    check_column_argument(columns)
    for name in columns.values():
        if not has_column(row, name):
            raise ValueError(f"{where} has no column '{name}'; it has {column_names(row)}")
    return PairColumns(columns["source"], columns["target"], columns.get("id"))


def has_column(row: Row, path: str) -> bool:
    """Whether a row has a (nested) column."""
    try:
        value_at(row, path, "")
    except ValueError:
        return False
    return True


def value_at(row: Row, path: str, place: str) -> Any:
    """What a (nested) column holds; raises a ValueError if the row has no such column."""
    if path in row:
        return row[path]
    value: Any = row
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise ValueError(f"{place}: column '{path}' is missing; the row has {column_names(row)}")
        value = value[name]
    return value


def described_value(value: Any) -> str:
    """A value for messages: its kind and its beginning."""
    if value is None:
        return "nothing (null)"
    kind = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "nested columns"}
    text = repr(value)
    return f"{kind.get(type(value), type(value).__name__)}, {text if len(text) <= 40 else text[:37] + '...'},"
