"""What the data sets of `make_data.py` share: how texts are cleaned and compared, and which rows are held out."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Any, NamedTuple

from hf_attention_zoo.data.split_names import SPLITS

Row = dict[str, Any]
Splits = dict[str, list[Row]]


class Made(NamedTuple):
    """A data set: its rows by split, and its pictures by name, if it has any."""

    splits: Splits
    pictures: dict[str, bytes] = {}


PLACES = 10_000
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\ufeff"))


def one_spaced(text: str) -> str:
    """The text in Unicode's NFC form, without invisible marks, one space wherever there was space."""
    return " ".join(unicodedata.normalize("NFC", text).translate(INVISIBLE).split())


def likeness(text: str) -> str:
    """The same for texts that differ in case, numbers, spaces and punctuation alone."""
    folded = re.sub(r"\d+", "0", unicodedata.normalize("NFKC", text).lower())
    return re.sub(r"[\W_]+", " ", folded).strip()


def hashed_place(name: str, salt: str) -> int:
    """A number below `PLACES` that a name has on every machine; another salt deals the names anew."""
    return int.from_bytes(hashlib.sha256(f"{salt}:{name}".encode()).digest()[:6], "big") % PLACES


def split_of(name: str, salt: str, held_out: int) -> str:
    """The split of a name: so many of `PLACES` are for test, as many for validation, the others for training."""
    place = hashed_place(name, salt)
    if place >= 2 * held_out:
        return "train"
    return "validation" if place >= held_out else "test"


def empty_splits() -> Splits:
    """No rows yet in any split."""
    return {split: [] for split in SPLITS}


def by_id(splits: Splits) -> Splits:
    """The rows of each split in the order of their ids."""
    return {split: sorted(rows, key=lambda row: row["id"]) for split, rows in splits.items()}
