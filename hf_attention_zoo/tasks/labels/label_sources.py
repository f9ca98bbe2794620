"""Where labelled texts come from: files of rows, folders of classes, and splits of the Hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.record_files import features_of_files, listed_classes, read_rows
from hf_attention_zoo.data.sources import DataFiles, local_files
from hf_attention_zoo.data.text_folders import class_folders, read_class_folders

PlacedRow = tuple[str, Mapping[str, Any]]


class LabelledFiles:
    """Rows of local files; iterating again reads again."""

    def __init__(self, files: Sequence[Any]) -> None:
        self.files = files

    def __iter__(self) -> Iterator[PlacedRow]:
        for file in self.files:
            yield from read_rows(file)

    def class_names(self, column: str) -> list[str] | None:
        """The classes that the files themselves list for a column, as Parquet of `datasets` does."""
        return listed_classes(features_of_files(self.files), column)


class ClassFolders:
    def __init__(self, folders: list[Any]) -> None:
        self.folders = folders

    def __iter__(self) -> Iterator[PlacedRow]:
        yield from read_class_folders(self.folders)


class HubSplit:
    """Rows of a split of the Hub; only the needed columns are read once they are known."""

    def __init__(self, data: Any, where: str) -> None:
        self.data = data
        self.where = where

    def select(self, names: Sequence[str]) -> None:
        there = self.data.column_names
        wanted = [name if name in there else name.partition(".")[0] for name in names]
        self.data = self.data.select_columns(list(dict.fromkeys(wanted)))

    def class_names(self, column: str) -> list[str] | None:
        """The classes that the data set itself lists for a column."""
        return listed_classes(self.data.features or {}, column)

    def __iter__(self) -> Iterator[PlacedRow]:
        for number, row in enumerate(self.data, 1):
            yield f"row {number} of {self.where}", row


def local_sources(name: str, data_files: DataFiles | None) -> dict[str, Iterable[PlacedRow]] | None:
    path = Path(name).expanduser()
    if data_files is None and path.is_dir():
        folders = class_folders(path)
        if folders is not None:
            return {split: ClassFolders(classes) for split, classes in folders.items()}
    files = local_files(name, data_files, None, None)
    return None if files is None else {split: LabelledFiles(paths) for split, paths in files.items()}
