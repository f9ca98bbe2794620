"""Contexts with several endings as ids: each ending is read behind the context, as a pair of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hf_attention_zoo.data.text_encoding import encode_texts, symbols_as_text


def encode_choices(tokenizer: Any, contexts: Sequence[str], choices: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """For each row the tokenizer's columns, each a list with the ids of every choice."""
    reader = symbols_as_text(tokenizer)
    pairs = [(context, ending) for context, endings in zip(contexts, choices, strict=True) for ending in endings]
    encoded = encode_texts(reader, [context for context, _ in pairs], [ending for _, ending in pairs])
    names = [name for name in tokenizer.model_input_names if name in encoded]
    rows, place = [], 0
    for endings in choices:
        rows.append({name: encoded[name][place : place + len(endings)] for name in names})
        place += len(endings)
    return rows


class ChoiceCollator:
    """Rows of `encode_choices` as tensors (B, C, T), and `labels` (B) where there are any."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        names = [name for name in self.tokenizer.model_input_names if name in rows[0]]
        width = len(rows[0][names[0]])
        flat = [{name: row[name][choice] for name in names} for row in rows for choice in range(width)]
        batch = dict(self.tokenizer.pad(flat, return_tensors="pt"))
        batch = {name: value.unflatten(0, (len(rows), width)) for name, value in batch.items()}
        if "labels" in rows[0]:
            batch["labels"] = torch.tensor([row["labels"] for row in rows])
        return batch
