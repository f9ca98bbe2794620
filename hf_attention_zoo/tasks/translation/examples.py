"""Sentence pairs as ids: what the Trainer reads, and what validation is scored against."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from datasets import Dataset, IterableDataset

from hf_attention_zoo.data.text_encoding import symbols_as_text
from hf_attention_zoo.data.token_budget import pair_lengths

COLUMNS = ("input_ids", "attention_mask", "labels")


def texts(dataset: Any, column: str, limit: int | None = None) -> Iterator[str]:
    """The texts of a column, at most `limit`, read in passing (streams too)."""
    if isinstance(dataset, Dataset):
        dataset = dataset.select_columns([column])
    for row in islice(dataset, limit):
        yield row[column]


def encode_pairs(dataset: Any, tokenizer: Any) -> Any:
    """A data set of `source` and `target` texts as one of `input_ids`, `attention_mask` and `labels`."""
    reader = symbols_as_text(tokenizer)

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        encoded = reader(batch["source"], text_target=batch["target"])
        return {name: encoded[name] for name in COLUMNS}

    columns = list(dataset.column_names or next(iter(dataset.take(1))))
    return dataset.map(encode, batched=True, remove_columns=columns)


def drop_long_pairs(
    dataset: Any, max_source_length: int | None = None, max_target_length: int | None = None
) -> tuple[Any, int | None]:
    """Leave out pairs with more tokens than allowed; returns what is left and how many went (None for a stream).

    Raises ValueError if nothing is left.
    """
    if max_source_length is None and max_target_length is None:
        return dataset, 0
    limits = np.array([max_source_length or np.iinfo(np.int64).max, max_target_length or np.iinfo(np.int64).max])
    if isinstance(dataset, IterableDataset):
        return dataset.filter(lambda row: len(row["input_ids"]) <= limits[0] and len(row["labels"]) <= limits[1]), None
    keep = np.flatnonzero((pair_lengths(dataset) <= limits).all(axis=1))
    if len(keep) == 0:
        raise ValueError(
            f"all {len(dataset)} training pairs are longer than max_source_length={max_source_length}, "
            f"max_target_length={max_target_length} tokens; allow more"
        )
    return dataset.select(keep), len(dataset) - len(keep)


@dataclass(frozen=True)
class ValidationPairs:
    """The validation split, longest pairs first: like lengths share a batch, and a batch too large fails at once."""

    encoded: Dataset
    references: list[str]

    @classmethod
    def build(cls, dataset: Dataset, tokenizer: Any) -> "ValidationPairs":
        """Encode and order a data set of `source` and `target` texts."""
        encoded = encode_pairs(dataset, tokenizer)
        order = np.argsort(-pair_lengths(encoded)[:, 0], kind="stable")
        references = list(texts(dataset, "target"))
        return cls(encoded.select(order), [references[i] for i in order])
