"""What every evaluation does around its scores: the rows of a split, metrics.json, a line for each prediction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.text_lines import written_file
from hf_attention_zoo.evaluation.evaluation_flags import METRICS_FILE
from hf_attention_zoo.folders.privacy import public_facts
from hf_attention_zoo.folders.written_files import note_files
from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.whole_files import write_json


def rows_of_split(splits: Mapping[str, Any], split: str, max_samples: int | None, kind: str = "") -> Any:
    """The rows of a split, or the first `max_samples` of them.

    Args:
        kind: what the message adds to the name of a split that is missing, such as " with labels".

    Raises:
        ValueError: there is no such split; the message has those that are there.
    """
    if split not in splits:
        meant = did_you_mean(split, splits)
        raise ValueError(f"the data set has no split {split!r}{kind}{meant}; it has: {', '.join(splits)}")
    return splits[split] if max_samples is None else splits[split].take(max_samples)


def write_metrics(metrics: dict[str, Any], folder: str | Path, output: str | Path | None) -> None:
    """Write the metrics where they were wanted, or into the folder; for a Hub id nowhere.

    They go along when the folder is published: tokens and the machine's folders stay out.
    """
    inside = output is None and Path(folder).is_dir()
    if inside:
        output = Path(folder) / METRICS_FILE
    if output is not None:
        write_json(Path(output), public_facts(metrics))
    if inside:
        note_files(Path(folder), METRICS_FILE)


def write_predictions(path: str | Path | None, entries: Iterable[dict[str, Any]]) -> None:
    """A JSON line for each entry; nothing without a path, and then no entry is made."""
    if path is not None:
        with written_file(path) as file:
            file.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
