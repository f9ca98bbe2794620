"""Words with tags as ids: the first piece of a word carries its tag, all others carry none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets import Dataset

from hf_attention_zoo.data.text_encoding import LENGTH, row_limit, symbols_as_text

IGNORED = -100


def fitting_parts(tokenizer: Any, words: Sequence[str], limit: int | None) -> list[tuple[int, int]]:
    """Ranges of words that the model can read at once, one behind the other.

    Args:
        limit: pieces that a row may have, special tokens included; None for any number.
    """
    if limit is None or not getattr(tokenizer, "is_fast", False):
        return [(0, len(words))]
    room = limit - tokenizer.num_special_tokens_to_add()
    counts = [0] * len(words)
    for place in tokenizer(list(words), is_split_into_words=True, add_special_tokens=False, verbose=False).word_ids():
        if place is not None:
            counts[place] += 1
    parts, start, filled = [], 0, 0
    for place, count in enumerate(counts):
        if filled + count > room and place > start:
            parts.append((start, place))
            start, filled = place, 0
        filled += count
    return [*parts, (start, len(words))]


def first_pieces(encoded: Any, row: int, words: int) -> list[int | None]:
    """The position of each word's first piece in a row of a batch; None where it was cut off or left no piece.

    Tokenizers without pieces (`word_places`) have a position for every word.
    """
    places: list[int | None] = [None] * words
    if encoded.encodings is None:
        marks = encoded["attention_mask"][row] if "attention_mask" in encoded else [1] * words
        positions = [position for position, real in enumerate(marks) if real]
        if len(positions) != words:
            raise ValueError(f"{words} words became {len(positions)} positions, and the tokenizer does not say which")
        return list(positions)
    for position, word in enumerate(encoded.word_ids(row)):
        if word is not None and places[word] is None:
            places[word] = position
    return places


def encode_tagged(rows: Dataset, tokenizer: Any) -> Dataset:
    """Rows of `words` and `tags` as the tokenizer's columns, `labels` and `length`; rows too long become several."""
    reader, limit = symbols_as_text(tokenizer), row_limit(tokenizer)

    def encode(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        words, tags = [], []
        for row_words, row_tags in zip(batch["words"], batch["tags"], strict=True):
            for start, end in fitting_parts(reader, row_words, limit):
                words.append(row_words[start:end])
                tags.append(row_tags[start:end])
        encoded = reader(words, is_split_into_words=True, truncation=limit is not None)
        labels = []
        for number, row_tags in enumerate(tags):
            row_labels = [IGNORED] * len(encoded["attention_mask"][number])
            for place, tag in zip(first_pieces(encoded, number, len(row_tags)), row_tags, strict=True):
                if place is not None:
                    row_labels[place] = tag
            labels.append(row_labels)
        columns = {name: encoded[name] for name in tokenizer.model_input_names if name in encoded}
        return {**columns, "labels": labels, LENGTH: [len(row) for row in labels]}

    return rows.map(encode, batched=True, remove_columns=rows.column_names)
