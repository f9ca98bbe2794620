"""Folders of text files, a folder per class: `reviews/train/pos/17.txt`, or `reviews/pos/17.txt` without splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hf_attention_zoo.data.record_files import SPLIT_ALIASES, SPLITS, canonical_split


@dataclass(frozen=True)
class ClassFolder:
    """The text files of one class in one split."""

    label: str
    files: tuple[Path, ...]


def class_folders(folder: Path) -> dict[str, list[ClassFolder]] | None:
    """The class folders of each split, sorted by name; `None` if the folder holds no text files by class.

    Folders called like splits are splits; without any, all classes belong to the training split. Hidden files and
    folders without text files are passed over.
    """
    splits: dict[str, list[ClassFolder]] = {}
    for inner in _folders(folder):
        if inner.name.lower() in (*SPLITS, *SPLIT_ALIASES):
            classes = _classes(inner)
            if classes:
                splits.setdefault(canonical_split(inner.name), []).extend(classes)
    if splits:
        return {split: splits[split] for split in SPLITS if split in splits}
    classes = _classes(folder)
    return {"train": classes} if classes else None


def read_class_folders(folders: list[ClassFolder]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each file as a row with `id`, `text` and `label`, and its path as the place.

    Raises:
        ValueError: a file is not UTF-8 text.
    """
    for one in folders:
        for path in one.files:
            try:
                text = path.read_text(encoding="utf-8-sig")
            except UnicodeDecodeError as error:
                raise ValueError(f"{path} is not UTF-8 text ({error}); convert it first") from error
            yield str(path), {"id": f"{one.label}/{path.stem}", "text": text, "label": one.label}


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _classes(folder: Path) -> list[ClassFolder]:
    found = []
    for inner in _folders(folder):
        files = tuple(sorted(path for path in inner.glob("*.txt") if not path.name.startswith(".")))
        if files:
            found.append(ClassFolder(inner.name, files))
    return found
