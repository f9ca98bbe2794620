"""What a misspelt name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names that a name is most like, nearest first; case, dashes and underscores make no difference."""
    spelt = {_plain(one): one for one in reversed(list(known))}
    return [spelt[one] for one in difflib.get_close_matches(_plain(name), spelt, n=most, cutoff=cutoff)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'rnnsearch'?)` for a message, or nothing where no known name is near."""
    near = near_names(name, known)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").strip("_")
