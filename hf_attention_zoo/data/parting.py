"""How a data set that has training rows alone is parted into train, validation and test: a fixed rule.

Rows with the same input (source text, text, words, context, or picture) stay together, so nothing that is scored has
been trained on. The inputs stand in the order of the SHA-256 of their text; the first tenth of them is the test split,
the next tenth the validation split, each of at least one and at most 2,000 inputs. So the same rows give the same
parts, in whatever order they come, on every machine, with no seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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
        text = key if isinstance(key, str) else json.dumps(key, ensure_ascii=False)
        places.setdefault(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), []).append(place)
    if len(places) < 3:
        raise ValueError(
            f"{where} has {len(places)} different inputs, too few to be parted into train, validation and test; give "
            "more rows, files for each split, or --eval_strategy no"
        )
    held = min(MOST, max(1, len(places) // SHARE))
    order = sorted(places)
    parts = {"train": order[2 * held :], "validation": order[held : 2 * held], "test": order[:held]}
    return {
        split: rows.select(sorted(place for key in keys for place in places[key])) for split, keys in parts.items()
    }


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
    if {split: len(rows) for split, rows in found.items()} != dict(sizes):
        raise ValueError(
            f"{where} has {len(splits['train']):,} rows, but {sum(sizes.values()):,} when the model was trained, so "
            "its parts are not the same; restore the file, or give other data with --dataset and --split train"
        )
    return found


def _inputs(rows: Any) -> Any:
    if hasattr(rows, "names"):
        return rows.names
    return rows[next(name for name in INPUTS if name in rows.column_names)]
