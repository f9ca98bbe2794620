"""Folders of text files, a folder per class: `reviews/train/pos/17.txt`, or `reviews/pos/17.txt` without splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hf_attention_zoo.data.likely_encoding import not_utf8
from hf_attention_zoo.data.split_names import SPLITS, paths_in_order, split_of_name, warn_of_left_out

# Folders of texts that have no class, beside those of classes (IMDB's reviews).
WITHOUT_CLASS = ("unsup", "unsupervised", "unlabeled", "unlabelled")


@dataclass(frozen=True)
class ClassFolder:
    """The text files of one class in one split."""

    label: str
    files: tuple[Path, ...]


def class_folders(folder: Path) -> dict[str, list[ClassFolder]] | None:
    """The class folders of each split, sorted by name; `None` if the folder holds no text files by class.

    Folders called like splits are splits; without any, all classes belong to the training split. Hidden files are
    passed over; other files in the folder of a class, and folders of texts without a class, with a warning.
    """
    splits: dict[str, list[ClassFolder]] = {}
    others = []
    for inner in _folders(folder):
        split = split_of_name(inner.name)
        classes = _classes(inner) if split is not None else []
        if classes:
            splits.setdefault(str(split), []).extend(classes)
        elif any(inner.rglob("*.txt")):
            others.append(inner)
    if splits:
        warn_of_left_out(folder, others, "their names say no split (train, validation, test)")
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
                raise not_utf8(path, error) from error
            yield str(path), {"id": f"{one.label}/{path.stem}", "text": text, "label": one.label}


def _folders(folder: Path) -> list[Path]:
    return paths_in_order(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _classes(folder: Path) -> list[ClassFolder]:
    found = []
    for inner in _folders(folder):
        visible = [path for path in inner.glob("*") if not path.name.startswith(".")]
        files = tuple(paths_in_order(path for path in visible if path.suffix == ".txt"))
        if files and inner.name.lower() in WITHOUT_CLASS:
            warn_of_left_out(folder, [inner], "its texts have no class")
        elif files:
            warn_of_left_out(folder, set(visible) - set(files), "texts are read from .txt")
            found.append(ClassFolder(inner.name, files))
    return found
