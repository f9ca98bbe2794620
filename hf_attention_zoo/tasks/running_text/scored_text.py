"""Which text an evaluation scores: that which is given, or else that of the training, as the training read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.parting import check_sizes
from hf_attention_zoo.data.split_names import canonical_split
from hf_attention_zoo.folders.written_files import FACTS_FILE, recorded_arguments
from hf_attention_zoo.tasks.running_text.corpus_arguments import CorpusArguments
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.training.scored_data import same_place
from hf_attention_zoo.whole_files import json_if_any


@dataclass(frozen=True)
class ChosenText:
    """The text that is given, or else that of the training.

    Attributes:
        arguments: where it is and how it is read.
        parts: documents of each split, where the training parted them (`data.parting`).
    """

    arguments: CorpusArguments
    parts: Mapping[str, int] | None = None

    @property
    def name(self) -> str:
        """The text, for metrics and messages."""
        return str(self.arguments.dataset or self.arguments.train_file)

    def source(self, split: str, limit: int | None = None) -> DocumentSource:
        """The documents of a split.

        Raises:
            ValueError: there is no such text, or the parts are not those of the training.
        """
        data = self.arguments
        shared: dict[str, Any] = {"limit": limit, **data.reading()}
        wanted = canonical_split(split)
        if self.parts is not None and wanted in self.parts:
            whole = DocumentSource(self.name, **shared)
            check_sizes(whole.held_out().sizes, self.parts, self.name, "documents")
            return replace(whole, part=wanted)
        files = {"train": data.train_file, "validation": data.validation_file, "test": data.test_file}
        if files.get(wanted) is not None:
            return DocumentSource(files[wanted], **shared)
        if data.dataset is None:
            there = ", ".join(name for name, file in files.items() if file is not None)
            raise ValueError(
                f"the training named no {split} text, only files for: {there}; give --split with one of these, or "
                "other text with --dataset FILE --split train"
            )
        return DocumentSource(data.dataset, split=split, **shared)


def chosen_text(folder: str | Path, given: Mapping[str, Any]) -> ChosenText:
    """The text to score.

    Args:
        given: fields of `CorpusArguments`, None where they are not given; the data of the training may be named.

    Raises:
        ValueError: no text is known.
    """
    known = {item.name for item in fields(CorpusArguments)}
    wanted = {name: value for name, value in given.items() if value is not None}
    named = wanted.get("dataset")
    recorded = recorded_arguments(folder, check_dataset=named is None)
    trained = {name: value for name, value in recorded.items() if name in known}
    if named is not None and not same_place(named, trained.get("dataset") or trained.get("train_file")):
        return ChosenText(CorpusArguments(**wanted))
    if named is not None and trained.get("dataset") is None:
        del wanted["dataset"]  # it was named as a file
    arguments = CorpusArguments(**{**trained, **wanted})
    if arguments.dataset is None and arguments.train_file is None:
        raise ValueError("which data? Give --dataset (a file, a folder or a Hub id)")
    return ChosenText(arguments, json_if_any(Path(folder) / FACTS_FILE).get("parted"))
