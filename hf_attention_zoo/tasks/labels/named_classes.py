"""What the data call the classes of a model whose own names say more, such as "1-2 of 10 stars" for 0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hf_attention_zoo.data.labels import REGRESSION, LabelInfo, known_names
from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.whole_files import json_if_any

Read = TypeVar("Read")


def names_in_data(folder: str | Path, info: LabelInfo) -> list[str] | None:
    """The classes as the training's data called them (training.json), where the model calls them otherwise now."""
    names, recorded = known_names(info), json_if_any(Path(folder) / FACTS_FILE).get("labels")
    if not isinstance(recorded, list) or names is None or len(recorded) != len(names) or recorded == list(names):
        return None
    return [str(name) for name in recorded]


def read_with_names(folder: str | Path, info: LabelInfo, read: Callable[[list[str] | None], Read]) -> Read:
    """Read labelled data whose classes go by the names that the training's data had, or by the model's own.

    Args:
        read: names of the classes in their order (None for numbers) -> the data.

    Raises:
        ValueError: the labels are neither.
    """
    earlier = names_in_data(folder, info) if info.problem_type != REGRESSION else None
    if earlier is not None:
        try:
            return read(earlier)
        except ValueError:  # said of the names that a reader of the model sees
            pass
    names = known_names(info) if info.problem_type != REGRESSION else None
    return read(None if names is None else list(names))
