"""A smoothed n-gram model of token ids: what a language model has to beat.

Interpolated Kneser-Ney with three discounts per order (Chen and Goodman 1999). For an n-gram with context h,

    p(w | h) = (c(h w) - D(c(h w))) / c(h) + gamma(h) p(w | h without its first token)

where c counts occurrences at the highest order and different left neighbours below it, D is D1, D2 or D3 for counts of
1, 2 and more, and gamma gives what was taken away. The unigrams are mixed with 1 / V, so that every token has a
probability.

What may be compared: it predicts the same tokens of the same tokenizer as a model of next tokens, so perplexities per
token can be compared, and with the tokens of a word counted together, perplexities per word across tokenizers. A
masked model sees both sides of a hidden token, and its perplexity is comparable with neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


class NGramModel:
    """Learnt from texts as rows of ids; contexts do not reach over the bounds of a row.

    Args:
        texts: ids of each text, (n,) integers.
        vocabulary: number of ids, V.
        order: tokens of the longest n-gram.

    Raises:
        ValueError: an order below 1, no text, or ids outside the vocabulary.
    """

    def __init__(self, texts: Sequence[np.ndarray], vocabulary: int, order: int = 3) -> None:
        if order < 1:
            raise ValueError(f"order={order}; it is 1 or more")
        ids, age = _joined(texts)
        if not len(ids):
            raise ValueError("an n-gram model needs at least one token to learn from")
        if ids.min() < 0 or ids.max() >= vocabulary:
            raise ValueError(f"ids from {ids.min()} to {ids.max()} do not fit a vocabulary of {vocabulary}")
        self.vocabulary = vocabulary
        self.order = order
        # Level n: sorted keys (number of the context among the (n-1)-grams) * V + token, one for each n-gram.
        self.keys: list[np.ndarray] = []
        counts: list[np.ndarray] = []
        endings: list[np.ndarray] = []  # number of the (n-1)-gram that an n-gram ends with
        context = np.zeros(len(ids), dtype=np.int64)
        for n in range(1, order + 1):
            there = age >= n - 1
            keys, numbers, occurrences = np.unique(
                context[there] * vocabulary + ids[there], return_inverse=True, return_counts=True
            )
            self.keys.append(keys)
            counts.append(occurrences)
            if n > 1:
                endings.append(self._endings(n, endings))
            mine = np.full(len(ids), -1, dtype=np.int64)
            mine[there] = numbers
            # The context of the next token is the n-gram that ends before it.
            context = np.concatenate([[-1], mine[:-1]])
        # Below the highest order, count different left neighbours. Beginnings of texts have none: 1 for them.
        for n in range(1, order):
            continued = np.bincount(endings[n - 1], minlength=len(self.keys[n - 1]))
            counts[n - 1] = np.maximum(continued, 1)
        sizes = [1, *(len(keys) for keys in self.keys)]
        self._levels = [
            _Level(keys // vocabulary, count, size)
            for keys, count, size in zip(self.keys, counts, sizes[:-1], strict=True)
        ]

    def _endings(self, n: int, endings: list[np.ndarray]) -> np.ndarray:
        """For each n-gram the number of the (n-1)-gram without its first token."""
        contexts, tokens = self.keys[n - 1] // self.vocabulary, self.keys[n - 1] % self.vocabulary
        shorter = np.zeros(len(tokens), dtype=np.int64) if n == 2 else endings[n - 3][contexts]
        return np.searchsorted(self.keys[n - 2], shorter * self.vocabulary + tokens)

    def log_probabilities(self, ids: np.ndarray) -> np.ndarray:
        """log p of each token of a text after those before it, in nats, (n,)."""
        ids = np.asarray(ids, dtype=np.int64)
        probability = np.full(len(ids), 1.0 / self.vocabulary)
        # Numbers of the n-grams that end at each place, from which the contexts of the next order follow.
        context = np.zeros(len(ids), dtype=np.int64)
        for keys, level in zip(self.keys, self._levels, strict=True):
            known = context >= 0
            wanted = context * self.vocabulary + ids
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = known & (keys[place] == wanted)
            total = np.where(known, level.totals[np.maximum(context, 0)], 0)
            seen = known & (total > 0)
            taken = np.where(hit, level.kept[place], 0.0)
            rest = level.rest[np.maximum(context, 0)]
            probability = np.where(seen, (taken + rest * probability) / np.maximum(total, 1), probability)
            found = np.where(hit, place, -1)
            context = np.concatenate([[-1], found[:-1]])
        return np.log(probability)

    def perplexity(self, texts: Sequence[np.ndarray], skip: int = 0) -> float:
        """Perplexity per token of texts, without the first `skip` tokens of each."""
        logs = [self.log_probabilities(text)[skip:] for text in texts]
        return math.exp(-float(np.concatenate(logs).mean()))


class _Level:
    """Discounted counts of one order and what they leave to the order below.

    Attributes:
        kept: count less discount of each n-gram.
        totals, rest: by context: sum of the counts, and what was taken from them.
    """

    def __init__(self, contexts: np.ndarray, counts: np.ndarray, size: int) -> None:
        discounts = _discounts(counts)
        taken = discounts[np.minimum(counts, 3)]
        self.kept = counts - taken
        self.totals = np.bincount(contexts, counts, size)
        self.rest = np.bincount(contexts, taken, size)


def _discounts(counts: np.ndarray) -> np.ndarray:
    """Nothing, D1, D2 and D3 from the numbers of n-grams with counts 1 to 4; 0.75 where there are none of a kind."""
    n1, n2, n3, n4 = (int((counts == value).sum()) for value in (1, 2, 3, 4))
    if not n1 or not n2:
        return np.array([0.0, 0.75, 0.75, 0.75])
    share = n1 / (n1 + 2 * n2)
    found = [
        1 - 2 * share * n2 / n1,
        2 - 3 * share * n3 / n2 if n3 else 0.75,
        3 - 4 * share * n4 / n3 if n3 and n4 else 0.75,
    ]
    return np.array([0.0, *(min(max(value, 0.05), count - 0.05) for count, value in enumerate(found, 1))])


def _joined(texts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All ids, and for each how many stand before it in its text."""
    rows = [np.asarray(text, dtype=np.int64) for text in texts if len(text)]
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(rows), np.concatenate([np.arange(len(row)) for row in rows])
