"""Scores of parts of a split that are told apart, as a table in a model card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_attention_zoo.folders.card_text import measured, table
from hf_attention_zoo.folders.task_card import TaskCard


def results_by_group(metrics: Mapping[str, Any], card: TaskCard) -> str:
    """A row for each group of rows, with those of the baselines; nothing where no groups were scored."""
    groups = metrics.get("groups") or []
    shown = [key for key in card.metrics if any(measured(group.get(key))[0] is not None for group in groups)]
    rows: list[list[str]] = []
    for group in groups:
        for said, scores in (("this checkpoint", group), *(group.get("baselines") or {}).items()):
            cells = (card.metrics[key].shown(measured(scores.get(key))[0]) for key in shown)
            rows.append([str(group["group"]), f"{group['rows']:,}", card.baselines.get(said, said), *cells])
    if not rows:
        return ""
    head = ["group", "rows", "", *(card.metrics[key].name for key in shown)]
    return "## Group by group\n\n" + table(head, rows)
