"""Checks of configurations that every architecture makes. A field that is None says nothing and passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def number_of_labels(config: Any) -> int:
    """Classes of a classifier; transformers counts them in `id2label`, which may be missing.

    Raises:
        ValueError: the config says nothing of labels.
    """
    number = config.num_labels
    if number is None:
        raise ValueError("the config names no labels; set num_labels or id2label")
    return number


def check_sizes(config: Any, *names: str) -> None:
    """Sizes are 1 or more, or ValueError."""
    for name in names:
        size = getattr(config, name)
        if size is not None and size < 1:
            raise ValueError(f"{name} is {size}; sizes are 1 or more")


def check_probabilities(config: Any, *names: str) -> None:
    """Probabilities are at least 0 and below 1, or ValueError."""
    for name in names:
        probability = getattr(config, name)
        if probability is not None and not 0 <= probability < 1:
            raise ValueError(f"{name} is {probability}; give a probability of at least 0 and below 1")


def check_above_zero(config: Any, *names: str) -> None:
    """Numbers are above 0, or ValueError."""
    for name in names:
        value = getattr(config, name)
        if value is not None and value <= 0:
            raise ValueError(f"{name} is {value}; give a number above 0")


def check_choices(config: Any, **choices: Sequence[str]) -> None:
    """Fields hold one of the words that are allowed for them, or ValueError."""
    for name, allowed in choices.items():
        if getattr(config, name) not in allowed:
            raise ValueError(f"{name} is {getattr(config, name)!r}; choose one of {', '.join(allowed)}")


def check_head_division(config: Any, advice: str = "change one of them") -> None:
    """The model's width can be shared out to its heads, or ValueError."""
    if config.hidden_size % config.num_attention_heads:
        raise ValueError(
            f"hidden_size {config.hidden_size} is no multiple of num_attention_heads {config.num_attention_heads}; "
            f"{advice}"
        )


def check_transformer_sizes(config: Any, *more: str) -> None:
    """Sizes of a Transformer that reads texts, and those named, go together; see the checks above."""
    check_sizes(
        config,
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        *more,
    )
    check_head_division(config)
    check_above_zero(config, "initializer_range", "layer_norm_eps")


def check_tied_width(config: Any, width: int, said: str) -> None:
    """An output layer that is the target table has its width, or ValueError.

    Args:
        width: of what the output layer reads.
        said: what that is, in the words of the model's fields.
    """
    if config.tie_word_embeddings and width != config.embedding_size:
        raise ValueError(
            f"tie_word_embeddings needs an output layer as wide as the embedding: {width} units ({said}) and "
            f"embedding_size {config.embedding_size} differ"
        )
