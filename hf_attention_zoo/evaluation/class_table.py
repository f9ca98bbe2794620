"""Scores class by class, as a table for a person to read: in a terminal, and in a model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_attention_zoo.evaluation.terminal_columns import columns_of, filled_up
from hf_attention_zoo.folders.card_text import table
from hf_attention_zoo.folders.task_card import TaskCard

MOST_CLASSES = 40
_HEADER = ("precision", "recall", "F1", "support")


def class_lines(classes: Sequence[Mapping[str, Any]], kind: str = "class") -> list[str]:
    """A line for each class: precision, recall, F1 and support, how many of the rows have it.

    Args:
        classes: entries as `ClassScore.as_dict` makes them, in the order of the model's labels.
        kind: what one of them is called.

    Of more than `MOST_CLASSES` the most frequent are shown, and a line says how many are not. A dash stands for what
    would be divided by nothing: the precision of a class that was never predicted, the recall of one that no row has.
    """
    if not classes:
        return []
    shown = sorted(range(len(classes)), key=lambda place: -classes[place]["texts"])[:MOST_CLASSES]
    rows = [classes[place] for place in sorted(shown)]
    width = max(columns_of(kind), *(columns_of(str(row["name"])) for row in rows))
    lines = ["  " + filled_up(kind, width) + "".join(f"  {name:>9}" for name in _HEADER)]
    for row in rows:
        scores = "".join(f"  {'-' if value is None else f'{value:.3f}':>9}" for value in _scores(row))
        lines.append(f"  {filled_up(str(row['name']), width)}{scores}  {row['texts']:9,}")
    if len(rows) < len(classes):
        lines.append(f"  and {len(classes) - len(rows):,} less frequent ones, which the metrics file has")
    return lines


def class_section(
    heading: str, kind: str = "class", rows: str = "texts", entry: str = "classes"
) -> Callable[[Mapping[str, Any], TaskCard], str]:
    """A section of a card: precision, recall and F1 of each class, and what it was most often taken for.

    Args:
        heading: of the section.
        kind: what one of them is called.
        rows: what is counted.
        entry: of the metrics; `confusion` belongs to `classes`.
    """

    def section(metrics: Mapping[str, Any], card: TaskCard) -> str:
        classes = metrics.get(entry) or []
        if not classes:
            return ""
        confusion = metrics.get("confusion") if entry == "classes" else None
        cells = []
        for index, one in enumerate(classes):
            scores = ("-" if value is None else f"{100 * value:.1f} %" for value in _scores(one))
            row = [one["name"], f"{one['texts']:,}", *scores]
            if confusion:
                others = ((count, other) for other, count in enumerate(confusion[index]) if count and other != index)
                wrong = sorted(others, reverse=True)[:2]
                row.append(", ".join(f"{classes[other]['name']} ({count})" for count, other in wrong) or "-")
            cells.append(row)
        head = [kind, rows, "precision", "recall", "F1", *(["most often taken for"] if confusion else [])]
        return f"## {heading}\n\n" + table(head, cells)

    return section


def _scores(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Precision, recall and F1; None where nothing was predicted, or nothing is there."""
    predicted, there = row["predicted"], row["texts"]
    return (
        row["precision"] if predicted else None,
        row["recall"] if there else None,
        row["f1"] if predicted or there else None,
    )
