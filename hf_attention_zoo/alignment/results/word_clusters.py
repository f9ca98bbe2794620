"""Which words a model treats alike: a tree of the states that it has after them, as figures 7 and 9 of Elman (1990).

A word's vector is the mean of the model's state after it, over all places where it stands. Words are joined in pairs,
the nearest first, by the mean distance of their members. Shapes: N words, H size of their vectors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import torch

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.records import written
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class WordClusters:
    """Words and the tree of their vectors.

    Attributes:
        words: N words.
        vectors: (N, H).
        counts: how often each word was seen.
        merges: (N - 1, 3), the two clusters that each step joins and their distance; words are clusters 0 to N - 1,
            step i makes cluster N + i.
    """

    words: tuple[str, ...]
    vectors: np.ndarray
    counts: tuple[int, ...]
    merges: np.ndarray

    def leaves(self, cluster: int | None = None) -> list[int]:
        """Indices of the words of a cluster, by default of all, in the order in which the tree shows them."""
        cluster = 2 * len(self.words) - 2 if cluster is None else cluster
        if cluster < len(self.words):
            return [cluster]
        first, second = self.merges[cluster - len(self.words), :2].astype(int)
        return [*self.leaves(first), *self.leaves(second)]

    def plot(self, path: str | PathLike[str] | None = None, *, title: str | None = None, dpi: int = 160) -> Any:
        """The picture, see `plot_clusters`."""
        return drawing("plot_clusters")(self, path, title=title, dpi=dpi)

    def _repr_png_(self) -> bytes:
        return drawing("figure_png")(self.plot())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Words in the order of the tree, their counts, and the tree; also written to `path` if given."""
        record = {
            "words": list(self.words),
            "counts": list(self.counts),
            "order": [self.words[leaf] for leaf in self.leaves()],
            "merges": [[int(first), int(second), round(float(far), 6)] for first, second, far in self.merges],
        }
        return written(json.dumps(record, ensure_ascii=False, indent=2), path, end="\n")


def cluster_words(
    model: Any,
    tokenizer: Any,
    texts: Sequence[str],
    *,
    words: Sequence[str] | None = None,
    most: int = 40,
    batch_size: int = 32,
) -> WordClusters:
    """The tree of words of some texts.

    Args:
        model: one whose body gives a state after each token.
        tokenizer: its tokenizer.
        texts: where the words stand; each is read from the beginning.
        words: which words; by default the most frequent ones, in lower case.
        most: how many, where none are named.
        batch_size: texts at a time.

    Raises:
        ValueError: a model that gives no state after each token, or fewer than two of the words stand in the texts.
    """
    sums: dict[str, torch.Tensor] = {}
    counts: dict[str, int] = {}
    wanted = None if words is None else {word.lower() for word in words}
    with evaluation_mode(model), torch.no_grad():
        for first in range(0, len(texts), batch_size):
            part = list(texts[first : first + batch_size])
            for text, states, spans in zip(part, *_states(model, tokenizer, part), strict=True):
                ends = {end: place for place, (start, end) in enumerate(spans) if end > start}
                for found in WORD.finditer(text):
                    word = found[0].lower()
                    if found.end() in ends and (wanted is None or word in wanted):
                        state = states[ends[found.end()]].double()
                        sums[word] = sums[word] + state if word in sums else state
                        counts[word] = counts.get(word, 0) + 1
    chosen = sorted(counts, key=lambda word: (-counts[word], word))[: most if words is None else None]
    if len(chosen) < 2:
        raise ValueError(
            f"{len(chosen)} of the words stand in the texts; give more texts, or words that stand in them, for a tree "
            "of two at least"
        )
    vectors = torch.stack([sums[word] / counts[word] for word in chosen]).numpy()
    return cluster_vectors(chosen, vectors, [counts[word] for word in chosen])


def cluster_vectors(words: Sequence[str], vectors: np.ndarray, counts: Sequence[int] | None = None) -> WordClusters:
    """The tree of words that have vectors, (N, H), N at least 2: mean linkage of Euclidean distances."""
    size = len(words)
    distances = np.full((2 * size - 1, 2 * size - 1), np.inf)
    squares = (vectors**2).sum(1)
    between = np.sqrt(np.maximum(squares[:, None] + squares - 2 * vectors @ vectors.T, 0))
    distances[:size, :size] = np.where(np.eye(size, dtype=bool), np.inf, between)
    members = np.ones(2 * size - 1)
    merges = np.empty((size - 1, 3))
    for step in range(size - 1):
        new = size + step
        first, second = sorted(np.unravel_index(distances.argmin(), distances.shape))
        merges[step] = first, second, distances[first, second]
        members[new] = members[first] + members[second]
        far = (members[first] * distances[first] + members[second] * distances[second]) / members[new]
        far[[first, second]] = np.inf
        distances[new], distances[:, new] = far, far
        distances[[first, second]], distances[:, [first, second]] = np.inf, np.inf
    return WordClusters(tuple(words), vectors, tuple(counts or [1] * size), merges)


def _states(model: Any, tokenizer: Any, texts: list[str]) -> tuple[list[torch.Tensor], list[list[tuple[int, int]]]]:
    """The states after the tokens of each text, and which characters each token covers."""
    encoded = tokenizer(texts, return_offsets_mapping=True, truncation=True)
    padded = tokenizer.pad({"input_ids": encoded["input_ids"]}, return_tensors="pt", padding_side="right")
    read = model.base_model(**{name: tensor.to(model.device) for name, tensor in padded.items()}, return_dict=True)
    states = getattr(read, "last_hidden_state", None)
    if states is None or states.shape[:2] != padded["input_ids"].shape:
        raise ValueError(f"{type(model).__name__} gives no state after each token, so that words have no vector")
    kept = [row[: len(ids)].cpu() for row, ids in zip(states, encoded["input_ids"], strict=True)]
    return kept, encoded["offset_mapping"]
