"""The text of model cards: numbers, tables and lists in Markdown that no value can break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metric:
    """How one entry of `metrics.json` is called on the Hub and in a table."""

    hub_id: str
    name: str
    percent: bool = False
    falls: bool = False  # less is better
    digits: int = 2
    package: str = ""  # that computes it, where there are several ways and no signature

    def shown(self, value: float | None) -> str:
        """The value as a table has it."""
        if value is None:
            return "-"
        return f"{100 * value:.1f} %" if self.percent else number(value, self.digits)


def measured(entry: Any) -> tuple[float | None, str | None]:
    """Value and signature of a result, written either as a bare number or as {"value", "signature"}."""
    value, signature = (entry.get("value"), entry.get("signature")) if isinstance(entry, Mapping) else (entry, None)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, None
    return float(value), signature


def settings(values: Mapping[str, Any] | None) -> str:
    """`name = value` pairs as code, in one line."""
    shown = {key: value for key, value in (values or {}).items() if value is not None}
    return ", ".join(f"`{key}={value}`" for key, value in shown.items())


def described(value: Any) -> str:
    """Text as it is; a mapping as `name value` pairs; a list joined."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items() if item is not None)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return one_line(str(value))


def names_of(authors: str | Iterable[str]) -> str:
    """Authors in running text: all of them up to three, otherwise the first "and others"."""
    people = [authors] if isinstance(authors, str) else list(authors)
    if len(people) > 3:
        return f"{people[0]} and others"
    return " and ".join([", ".join(people[:-1]), people[-1]] if len(people) > 1 else people)


def duration(seconds: float) -> str:
    """Seconds in the units a reader thinks in."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def size_in_bytes(size: int) -> str:
    """Bytes as megabytes, or as kilobytes below one."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def number(value: Any, digits: int = 2) -> str:
    """A number for a table; a dash where there is none."""
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else "-"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table whose cells cannot break it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def listed(heading: str, texts: str | list[str] | None) -> str:
    """A section with one text as a paragraph or several as a list; nothing for none."""
    items = [one_line(text) for text in as_list(texts)]
    if not items:
        return ""
    return f"## {heading}\n\n" + (items[0] if len(items) == 1 else "\n".join(f"- {item}" for item in items))


def as_list(texts: str | list[str] | None) -> list[str]:
    """None, one text or several, always as a list of non-empty texts."""
    items = [texts] if isinstance(texts, str) else list(texts or [])
    return [text for text in items if text.strip()]


def one_line(text: Any) -> str:
    """White space of any kind as single spaces."""
    return " ".join(str(text).split())


def quoted(text: str) -> str:
    """A Python string literal in double quotes."""
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def slug(name: str) -> str:
    """A name as the Hub writes ids."""
    return re.sub(r"\s+", "-", name.strip()).lower() if "/" not in name else name.strip()
