"""The interpolated trigram (Jelinek and Mercer 1980), as Bengio et al. 2003, section 4.1, mix their network with it.

    P(w | v, u) = a_0(q) p_0 + a_1(q) p_1(w) + a_2(q) p_2(w | v) + a_3(q) p_3(w | v, u)    for v = w_{t-1}, u = w_{t-2}

p_0 is 1 / V, the others are relative frequencies; where a context was never seen, the order below stands for it. The
weights sum to 1 and depend on how often the context was seen, q = ceil(-log((1 + count of it) / N)), N the tokens of
the training text. They are fitted on held-out text by expectation and maximisation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ORDERS = 4  # p_0 to p_3
LARGEST_VOCABULARY = 2_000_000  # three ids in the 63 bits of a key


class InterpolatedTrigram:
    """Learnt from texts as rows of ids; contexts do not reach over the bounds of a row.

    Args:
        texts: ids of each text, (n,) integers.
        vocabulary: number of ids, V.
        held_out: other texts, for the weights.
        iterations: of expectation and maximisation; the paper needed about five.

    Attributes:
        weights: (bins, 4), a_0 to a_3 of each bin.
        losses: of the held-out text before each iteration and after the last, in nats a token.

    Raises:
        ValueError: no text, or more ids than keys have room for.
    """

    def __init__(
        self,
        texts: Sequence[np.ndarray],
        vocabulary: int,
        held_out: Sequence[np.ndarray],
        iterations: int = 5,
    ) -> None:
        if not sum(map(len, texts)) or not sum(map(len, held_out)):
            raise ValueError("an interpolated trigram needs tokens to count and held-out ones to fit its weights")
        if vocabulary > LARGEST_VOCABULARY:
            raise ValueError(f"{vocabulary:,} ids; a trigram counts at most {LARGEST_VOCABULARY:,}")
        self.vocabulary = vocabulary
        self._tables = [_Counts(np.concatenate([_keys(text, n, vocabulary) for text in texts])) for n in (1, 2, 3)]
        # What stands before a token: nothing, one token, two.
        self._contexts = [_Counts(self._tables[n].keys // vocabulary, self._tables[n].counts) for n in range(3)]
        self.tokens = int(self._tables[0].counts.sum())
        parts = [self._parts(text) for text in held_out]
        self._fit(np.concatenate([one for one, _ in parts]), np.concatenate([q for _, q in parts]), iterations)

    def _parts(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """p_0 to p_3 of each token of a text, (n, 4), and the bin of its context, (n,)."""
        ids = np.asarray(ids, dtype=np.int64)
        parts = np.full((len(ids), ORDERS), 1.0 / self.vocabulary)
        seen = np.zeros(len(ids), dtype=np.int64)
        for n in (1, 2, 3):
            keys = _keys(ids, n, self.vocabulary)
            behind = parts[n - 1 :]  # tokens with n - 1 others before them
            before = self._contexts[n - 1].of(keys // self.vocabulary)
            behind[:, n] = np.where(before > 0, self._tables[n - 1].of(keys) / np.maximum(before, 1), behind[:, n - 1])
            parts[: n - 1, n] = parts[: n - 1, n - 1]
            if n == 3:
                seen[2:] = before
        return parts, np.ceil(-np.log((1 + seen) / self.tokens)).astype(np.int64).clip(min=0)

    def _fit(self, parts: np.ndarray, bins: np.ndarray, iterations: int) -> None:
        """Expectation: how much of each token is due to each order. Maximisation: the means of each bin."""
        number = int(np.ceil(np.log(self.tokens))) + 1
        self.weights = np.full((number, ORDERS), 1 / ORDERS)
        self.losses = []
        tokens = np.bincount(bins, minlength=number)
        for _ in range(iterations):
            due = self.weights[bins] * parts
            total = due.sum(1, keepdims=True)
            self.losses.append(-float(np.log(total).mean()))
            sums = np.stack([np.bincount(bins, share, number) for share in (due / total).T], axis=1)
            fitted = sums / np.maximum(tokens, 1)[:, None]
            self.weights = np.where(tokens[:, None] > 0, fitted, self.weights)
        self.losses.append(-float(np.log((self.weights[bins] * parts).sum(1)).mean()))

    def log_probabilities(self, ids: np.ndarray) -> np.ndarray:
        """log p of each token of a text after those before it, in nats, (n,)."""
        parts, bins = self._parts(ids)
        return np.log((self.weights[bins] * parts).sum(1))


class _Counts:
    """How often each key occurs."""

    def __init__(self, keys: np.ndarray, counts: np.ndarray | None = None) -> None:
        self.keys, numbers = np.unique(keys, return_inverse=True)
        self.counts = np.bincount(numbers, counts, minlength=len(self.keys))

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The counts of keys, 0 where there is none."""
        if not len(self.keys):
            return np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0)


def _keys(ids: np.ndarray, n: int, vocabulary: int) -> np.ndarray:
    """A number for each sequence of n tokens, (len(ids) - n + 1,); without its last token it is key // vocabulary."""
    ids = np.asarray(ids, dtype=np.int64)
    count = max(0, len(ids) - n + 1)
    keys = np.zeros(count, dtype=np.int64)
    for place in range(n):
        keys = keys * vocabulary + ids[place : place + count]
    return keys
