"""How a data set that has training rows alone is parted into train, validation and test: a fixed rule.

Rows with the same input (source text, text, words, context, picture, or document) stay together, so nothing that is
scored has been trained on. The inputs stand in the order of the SHA-256 of their text; the first tenth of them is the
test split, the next tenth the validation split, each of at least one and at most 2,000 inputs. So the same rows give
the same parts, in whatever order they come, on every machine, with no seed.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SHARE, MOST = 10, 2000
# The column with the input of a row; the first that is there. Pictures have names in the place of columns.
INPUTS = ("source", "words", "context", "text")


def parted(rows: Any, where: str) -> dict[str, Any]:
    """The training, validation and test rows of one split, each in the order in which they came.

    Args:
        rows: a `Dataset`, or others with `names` and `select`.
        where: the data set, for messages.

    Raises:
        ValueError: there are fewer than three different inputs.
    """
    places: dict[str, list[int]] = {}
    for place, key in enumerate(_inputs(rows)):
        places.setdefault(digest_of(key), []).append(place)
    if len(places) < 3:
        raise ValueError(
            f"{where} has {len(places)} different inputs, too few to be parted into train, validation and test; give "
            "more rows, files for each split, or --eval_strategy no"
        )
    held = _held(len(places))
    order = sorted(places)
    parts = {"train": order[2 * held :], "validation": order[held : 2 * held], "test": order[:held]}
    return {
        split: rows.select(sorted(place for key in keys for place in places[key])) for split, keys in parts.items()
    }


def digest_of(key: Any) -> str:
    """What an input is known and ordered by."""
    text = key if isinstance(key, str) else json.dumps(key, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _held(inputs: int) -> int:
    """How many of so many different inputs are the test split, and as many the validation split."""
    return min(MOST, max(1, inputs // SHARE))


@dataclass(frozen=True)
class HeldOut:
    """The parts of a stream of inputs by the same rule, of which only what is held out is kept.

    Attributes:
        validation, test: digests of inputs.
        sizes: how many inputs, equal ones counted each, the parts have.
    """

    validation: frozenset[str]
    test: frozenset[str]
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, keys: Iterable[Any]) -> HeldOut | None:
        """The parts of a stream, read once; None if it has fewer than three different inputs.

        Nothing is held in memory but the digests that may be among the first.
        """
        first: dict[str, int] = {}  # how often each comes, of as many as the number of held ones can depend on
        largest: list[str] = []  # the same, negated for a heap with the last one on top
        total = 0
        for key in keys:
            digest = digest_of(key)
            total += 1
            if digest in first:
                first[digest] += 1
            elif len(first) < SHARE * MOST or digest < _mirrored(largest[0]):
                first[digest] = 1
                heapq.heappush(largest, _mirrored(digest))
                if len(first) > SHARE * MOST:
                    del first[_mirrored(heapq.heappop(largest))]
        if len(first) < 3:
            return None
        held, order = _held(len(first)), sorted(first)
        parts = {"validation": order[held : 2 * held], "test": order[:held]}
        sizes = {split: sum(first[digest] for digest in digests) for split, digests in parts.items()}
        sizes = {"train": total - sum(sizes.values()), **sizes}
        return cls(frozenset(parts["validation"]), frozenset(parts["test"]), sizes)

    def split_of(self, key: Any) -> str:
        """The part of an input."""
        digest = digest_of(key)
        return "test" if digest in self.test else "validation" if digest in self.validation else "train"


_MIRROR = str.maketrans("0123456789abcdef", "fedcba9876543210")


def _mirrored(digest: str) -> str:
    """The digest whose place among all is as far from the end as that of the given one from the beginning."""
    return digest.translate(_MIRROR)


def parted_as_trained(splits: Mapping[str, Any], sizes: Mapping[str, int] | None, where: str) -> Mapping[str, Any]:
    """The splits of the training once more, where that had to part its rows.

    Args:
        sizes: how many rows each split had then; None if nothing was parted.

    Raises:
        ValueError: the data are not what they were, so what was trained on might be scored.
    """
    if sizes is None or list(splits) != ["train"]:
        return splits
    found = parted(splits["train"], where)
    check_sizes({split: len(rows) for split, rows in found.items()}, sizes, where)
    return found


def check_sizes(found: Mapping[str, int], trained: Mapping[str, int], where: str, said: str = "rows") -> None:
    """Raise a ValueError if parts have other sizes than in the training: what was trained on might be scored."""
    if dict(found) != dict(trained):
        raise ValueError(
            f"{where} has {sum(found.values()):,} {said}, but {sum(trained.values()):,} when the model was trained, "
            "so its parts are not the same; restore the file, or give other data with --dataset and --split train"
        )


def _inputs(rows: Any) -> Any:
    if hasattr(rows, "names"):
        return rows.names
    return rows[next(name for name in INPUTS if name in rows.column_names)]
