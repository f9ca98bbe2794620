"""Weights of words from those of their pieces: the one rule of every result.

What a word is attended to is the sum over its pieces, so that a row still sums to what it did. What a word attends to
is the mean over its pieces, so that it is a distribution like any other row.
"""

from __future__ import annotations

import numpy as np

from hf_attention_zoo.tokenization.word_groups import Words


def labels(words: Words) -> tuple[str, ...]:
    """The words alone."""
    return tuple(word for word, _ in words)


def joins(words: Words | None) -> bool:
    """Whether some word has more than one piece."""
    return words is not None and any(count > 1 for _, count in words)


def summed(weights: np.ndarray, words: Words, axis: int = -1) -> np.ndarray:
    """Weights of pieces along an axis -> of the words that are attended to."""
    counts = [count for _, count in words]
    if not counts:
        return weights
    return np.add.reduceat(weights, np.cumsum([0, *counts[:-1]]), axis=axis)


def averaged(weights: np.ndarray, words: Words, axis: int = 0) -> np.ndarray:
    """Rows of pieces along an axis -> of the words that attend."""
    total = summed(weights, words, axis)
    counts = np.array([count for _, count in words], dtype=weights.dtype)
    return total / counts.reshape([-1 if place == axis % total.ndim else 1 for place in range(total.ndim)])
