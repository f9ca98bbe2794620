"""Labelled texts as ids: what the Trainer reads."""

from typing import Any

from datasets import Dataset

from hf_attention_zoo.data.text_encoding import LENGTH, encode_texts, symbols_as_text


def encode_labelled(rows: Dataset, tokenizer: Any) -> Dataset:
    """Rows of `text`, perhaps `text_pair`, and `label` as the tokenizer's columns, `labels` and `length` in tokens."""
    reader = symbols_as_text(tokenizer)

    def encode(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        encoded = encode_texts(reader, batch["text"], batch.get("text_pair"))
        columns = {name: encoded[name] for name in tokenizer.model_input_names if name in encoded}
        return {**columns, "labels": batch["label"], LENGTH: [_count(ids) for ids in encoded["input_ids"]]}

    return rows.map(encode, batched=True, remove_columns=rows.column_names)


def _count(ids: list[Any]) -> int:
    return sum(len(one) if isinstance(one, list) else 1 for one in ids)
