"""What a misspelt name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


def near_names(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names that a name is most like, nearest first; case, dashes and underscores make no difference."""
    spelt = {_plain(one): one for one in reversed(list(known))}
    return [spelt[one] for one in difflib.get_close_matches(_plain(name), spelt, n=most, cutoff=cutoff)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'rnnsearch'?)` for a message, or nothing where no known name is near."""
    near = near_names(name, known)
    return f" (did you mean {near[0]!r}?)" if near else ""


def did_you_mean_folder(folder: Path) -> str:
    """The same for a folder that is not there, among those beside it."""
    beside = [other.name for other in folder.parent.iterdir() if other.is_dir()] if folder.parent.is_dir() else []
    near = near_names(folder.name, sorted(beside))
    return f" (did you mean {folder.parent / near[0]}?)" if near else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").strip("_")
