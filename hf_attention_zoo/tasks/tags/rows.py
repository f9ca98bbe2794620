"""Words with a tag each, from local files and data sets of the Hub."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasets import Dataset, DatasetDict, Features, Value
from datasets import Sequence as ListOf

from hf_attention_zoo.data.answer_rows import (
    UNTOLD,
    answered_splits,
    column_of,
    parted,
    row_sources,
    untold_number,
)
from hf_attention_zoo.data.columns import described_value, value_at
from hf_attention_zoo.data.labels import Classes, in_order
from hf_attention_zoo.data.sources import DataFiles

WORD_COLUMNS = ("tokens", "words", "text")


TAG_COLUMNS = ("tags", "ner_tags", "pos_tags", "upos", "labels", "label")


@dataclass(frozen=True)
class TagInfo:
    """The tags of a data set in the order of their numbers."""

    names: tuple[str, ...]

    def config_fields(self) -> dict[str, Any]:
        """`num_labels`, `id2label` and `label2id` of a config."""
        return {
            "num_labels": len(self.names),
            "id2label": dict(enumerate(self.names)),
            "label2id": {name: number for number, name in enumerate(self.names)},
        }


def load_tagged(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    words: str | None = None,
    tags: str | None = None,
    tag_names: Sequence[str] | None = None,
    needed: Collection[str] = ("train",),
) -> tuple[DatasetDict, TagInfo]:
    """Words with a tag each, as a `DatasetDict` with the columns `words` and `tags` (numbers), and the tags.

    Args:
        dataset, dataset_config, data_files: as for `load_data`.
        words, tags: the columns, with a dot into nested ones; left out, they are looked for.
        tag_names: the texts of the tags in order; left out: those of the data set's own features, or all that occur,
            sorted ("O" first). A tag is its text, as all classes are (`hf_attention_zoo.data.labels`).
        needed: splits that must have tags; others without any (column missing, empty, or nothing but -1 and empty
            tags) are left out, with a warning.

    Raises:
        ValueError: no such data or column, lists of different lengths, or a tag that is not told or not among
            `tag_names`.
    """
    sources = row_sources(dataset, dataset_config, data_files)
    listed = next(filter(None, (source.class_names(tags, TAG_COLUMNS) for source in sources.values())), None)
    read: dict[str, list[tuple[list[str], list[Any], str]]] = {
        split: [_tagged(row, words, tags, place) for place, row in rows]
        for split, rows in answered_splits(dataset, sources, tags, TAG_COLUMNS, _untold_tags, needed, "tags")
    }
    classes = Classes(tag_names, listed)
    texts = {
        split: [[classes.text(tag, place) for tag in tags_read] for _, tags_read, place in rows]
        for split, rows in read.items()
    }
    seen = [text for rows in texts.values() for row in rows for text in row]
    names = classes.names or sorted(in_order(seen), key=lambda tag: tag != "O")
    classes = Classes(names, listed)
    features = Features({"words": ListOf(Value("string")), "tags": ListOf(Value("int64"))})
    splits = {
        split: Dataset.from_dict(
            {
                "words": [words_read for words_read, _, _ in rows],
                "tags": [
                    [classes.number(tag, place, "the tag is") for tag in row]
                    for row, (_, _, place) in zip(texts[split], rows, strict=True)
                ],
            },
            features=features,
        )
        for split, rows in read.items()
    }
    return DatasetDict(splits), TagInfo(tuple(names))


def _untold_tags(tags: Any) -> bool:
    """Whether none of the tags of a row is told; there may be none."""
    tags = parted(tags)
    return all(map(untold_number, tags)) if isinstance(tags, list | tuple) else untold_number(tags)


def _tagged(row: Mapping[str, Any], words: str | None, tags: str | None, place: str) -> tuple[list[str], list, str]:
    word_column = column_of(row, words, WORD_COLUMNS, "words", place)
    tag_column = column_of(row, tags, TAG_COLUMNS, "tags", place)
    found, marks = (parted(value_at(row, column, place)) for column in (word_column, tag_column))
    if not isinstance(found, list | tuple) or not all(isinstance(word, str) for word in found):
        raise ValueError(f"{place}: column '{word_column}' holds {described_value(found)}; a list of words is wanted")
    if not isinstance(marks, list | tuple) or len(marks) != len(found):
        raise ValueError(
            f"{place}: {len(found)} words in '{word_column}' and {described_value(marks)} in '{tag_column}'; a tag "
            "for each word is wanted"
        )
    for word, mark in zip(found, marks, strict=True):
        if mark in (*UNTOLD, -1):
            raise ValueError(
                f"{place}: the tag of {word!r} is {mark!r}, which says that it is not told; name a split whose tags "
                "are, or give each word a tag"
            )
    return list(found), list(marks), place
