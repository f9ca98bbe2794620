"""Which split a file belongs to, by the words of its name: the rule that `datasets` has.

A word is what stands between anything but letters: `train.jsonl`, `wiki.valid.raw`, `captions_val2017.json`,
`en_ewt-ud-dev.conllu`, `train-00000-of-00004.parquet`; `newstest2014` has none. A folder's name counts as a file's
does, and before it. No file is passed over without a word: what lies beside named splits is named in a warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path

from hf_attention_zoo.data.unpacking import PACKED

SPLITS = ("train", "validation", "test")
SPLIT_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
SPLIT_ALIASES = {word: split for split, words in SPLIT_WORDS.items() for word in words if word != split}

_BETWEEN = re.compile(r"[-._ 0-9]+")
_DIGITS = re.compile(r"([0-9]+)")


def canonical_split(name: str) -> str:
    """The usual name of a split: `dev`, `val` and `valid` are `validation`."""
    lower = name.lower()
    return SPLIT_ALIASES.get(lower, lower if lower in SPLITS else name)


def in_natural_order(names: Iterable[str]) -> list[str]:
    """Names as a person sorts them: `ending2` before `ending10`."""
    return sorted(names, key=natural_key)


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """What sorts names by the value of the numbers in them."""
    parts = (part for part in _DIGITS.split(name) if part)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts)


def paths_in_order(paths: Iterable[Path]) -> list[Path]:
    """Paths in natural order, folder by folder."""
    return sorted(paths, key=lambda path: tuple(natural_key(part) for part in path.parts))


def split_of_name(name: str) -> str | None:
    """The split that the words of a name say; `None` if none does.

    Raises:
        ValueError: they say two.
    """
    said = {canonical_split(word) for word in _BETWEEN.split(name.lower())} & set(SPLITS)
    if len(said) > 1:
        raise ValueError(f"the name {name} has the words of two splits, {' and '.join(sorted(said))}; rename it")
    return said.pop() if said else None


def stem_of(path: Path) -> str:
    """A file's name without the ending of its format and of its packing."""
    name = path.name
    for ending in PACKED:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name.rpartition(".")[0] or name


def split_of_path(path: Path, root: Path) -> str | None:
    """The split of a file below a folder: by the folders on the way, else by its name.

    Raises:
        ValueError: a name has the words of two splits.
    """
    for part in (*path.relative_to(root).parts[:-1], stem_of(path)):
        split = split_of_name(part)
        if split is not None:
            return split
    return None


def files_by_split(paths: Iterable[Path], root: Path) -> dict[str, list[Path]]:
    """The files of each split in natural order; without any words, all of them are for training.

    Files without a word beside a validation or test split are left out, with a warning that names them. Where the
    words name training alone there is nothing to tell apart, so all are for training, with a warning, too.
    """
    found: dict[str | None, list[Path]] = {}
    for path in paths_in_order(paths):
        found.setdefault(split_of_path(path, root), []).append(path)
    wordless = found.pop(None, [])
    if not found:
        return {"train": wordless} if wordless else {}
    if wordless and set(found) == {"train"}:
        _warn(root, wordless, "read for training, too, though their names do not say so")
        return {"train": paths_in_order([*found["train"], *wordless])}
    if wordless:
        _warn(root, wordless, "left out, their names say no split (train, validation, test)")
    return {split: found[split] for split in SPLITS if split in found}


def warn_of_left_out(root: Path, paths: Iterable[Path], why: str) -> None:
    """Warn that files or folders of a data set are left out; nothing is said of none."""
    left = paths_in_order(paths)
    if left:
        _warn(root, left, f"left out, {why}")


def _warn(root: Path, paths: list[Path], what: str) -> None:
    named = ", ".join(str(path.relative_to(root)) for path in paths[:5])
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    warnings.warn(
        f"folder {root}: {named}{more} {'is' if len(paths) == 1 else 'are'} {what}", UserWarning, stacklevel=4
    )
