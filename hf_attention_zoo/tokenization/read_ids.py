"""Texts and tokens of one sequence of ids: transformers' own methods say that they may as well give lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedTokenizerBase


def text_of(tokenizer: PreTrainedTokenizerBase, ids: Any, **options: Any) -> str:
    """The text of one sequence of ids.

    Args:
        options: as of the tokenizer's `decode`.

    Raises:
        ValueError: the ids are several sequences.
    """
    text = tokenizer.decode(ids, **options)
    if not isinstance(text, str):
        raise ValueError(f"ids of {len(text)} texts came where those of one are wanted; decode them one by one")
    return text


def tokens_of(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """The token of each id, as the vocabulary writes it."""
    tokens = tokenizer.convert_ids_to_tokens(list(ids))
    return [tokens] if isinstance(tokens, str) else tokens


def token_of(tokenizer: PreTrainedTokenizerBase, number: int) -> str:
    """The token of an id, as the vocabulary writes it."""
    return tokens_of(tokenizer, [number])[0]
