"""The vectors that a saved model has for words: the rows of its input embeddings, by the words of its tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def vectors_of_folder(folder: str | Path, keeps: Callable[[str], bool]) -> dict[str, np.ndarray]:
    """Word -> its row, float32, for the words that are to be kept.

    Args:
        folder: a saved model with its tokenizer, such as one of word2vec's.

    Raises:
        ValueError: the folder holds no model or no tokenizer, the model reads no ids of words, or its tokenizer cuts
            words into pieces or characters.
    """
    import transformers

    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise ValueError(
            f"folder {folder} holds no model (no config.json); give the folder of a saved model, or a file"
        )
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        model: Any = transformers.AutoModel.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ValueError(f"no model and tokenizer can be loaded from {folder}: {error}") from error
    table = _input_table(model)
    if table is None or not reads_words(tokenizer):
        raise ValueError(
            f"{folder} holds a {model.config.model_type} that has no vector for each word: its tokenizer cuts words "
            "into pieces or characters; give a model whose tokenizer knows words, as `attention-zoo pretrain "
            "word2vec` makes it"
        )
    special, rows = set(tokenizer.all_special_ids), table.detach().float().cpu().numpy()
    words = sorted((number, word) for word, number in tokenizer.get_vocab().items())
    return {
        word: rows[number].copy()
        for number, word in words
        if number not in special and number < len(rows) and keeps(word)
    }


def reads_words(tokenizer: Any) -> bool:
    """Whether the ids of a tokenizer are words, by a list of them, and not pieces or characters of words."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    by_list = type(getattr(backend, "model", None)).__name__ == "WordLevel"
    pieces = getattr(tokenizer, "kind", None) == "character" or "character_ids" in tokenizer.model_input_names
    return by_list and not pieces


def _input_table(model: Any) -> Any:
    """The weight of the input embeddings; None where a model has none, as ELMo, which reads characters."""
    try:
        return getattr(model.get_input_embeddings(), "weight", None)
    except NotImplementedError:
        return None
