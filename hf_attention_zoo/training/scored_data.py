"""Which data an evaluation scores: those that are given, or else those of the training, as the training read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.parting import parted_as_trained
from hf_attention_zoo.folders.written_files import FACTS_FILE, recorded_arguments
from hf_attention_zoo.training.arguments import DataArguments
from hf_attention_zoo.whole_files import json_if_any


@dataclass(frozen=True)
class ChosenData:
    """What is scored: the data that are given, or else what the model was trained on.

    Attributes:
        arguments: with the columns, languages, separators and files of the training, where the data are its own.
        parts: rows of each split, where the training parted them (`data.parting`).
    """

    arguments: DataArguments
    parts: dict[str, int] | None = None

    @property
    def name(self) -> str:
        """The data set, for metrics and messages."""
        return str(self.arguments.dataset or self.arguments.train_file)

    def rows(self, splits: Mapping[str, Any]) -> Mapping[str, Any]:
        """The splits as the training had them.

        Raises:
            ValueError: see `parted_as_trained`.
        """
        return parted_as_trained(splits, self.parts, self.name)


def chosen_data(folder: str | Path, given: dict[str, Any]) -> ChosenData:
    """The data to score.

    Args:
        given: fields of `DataArguments`, None where they are not given; the data set of the training may be named.

    Raises:
        ValueError: no data set is known.
    """
    known = {item.name for item in fields(DataArguments)}
    wanted = {name: value for name, value in given.items() if value is not None}
    named = wanted.get("dataset")
    recorded = recorded_arguments(folder, check_dataset=named is None)
    trained = {name: value for name, value in recorded.items() if name in known}
    if named is not None and not same_place(named, trained.get("dataset")):
        return ChosenData(DataArguments(**wanted))
    arguments = DataArguments(**{**trained, **wanted})
    if arguments.dataset is None and arguments.train_file is None:
        raise ValueError("which data? Give --dataset (a sample, a file, a folder or a Hub id)")
    return ChosenData(arguments, json_if_any(Path(folder) / FACTS_FILE).get("parted"))


def same_place(one: str, other: str | None) -> bool:
    """Whether two names of data are those of the same file or folder."""
    return other is not None and (one == other or Path(one).expanduser().resolve() == Path(other).resolve())
