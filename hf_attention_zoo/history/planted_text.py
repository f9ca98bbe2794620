"""A language with hidden topics: each has its own habit of which symbol follows which; nothing else tells it.

All symbols are equally frequent in all topics, so that a bag of words knows nothing. Ids are those of `synthetic`,
with `MASK` and `CLASSIFY` behind the symbols.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo import BERT2018Config
from hf_attention_zoo.history.synthetic import END, FIRST, START
from hf_attention_zoo.losses.token_loss import IGNORED

SYMBOLS, TOPICS, LENGTH = 24, 4, 16
HABIT = 0.6  # how often a symbol is followed by the one that its topic prefers
MASK, CLASSIFY = FIRST + SYMBOLS, FIRST + SYMBOLS + 1
VOCABULARY = FIRST + SYMBOLS + 2
CHOSEN = 0.15  # of the tokens, Devlin et al. 2018, Section 3.1


def habits() -> np.ndarray:
    """What each topic prefers after each symbol, (topics, symbols): a permutation a topic, the same for all seeds."""
    random = np.random.default_rng(2018)
    return np.stack([random.permutation(SYMBOLS) for _ in range(TOPICS)])


def topical_texts(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """So many texts (count, LENGTH) of symbols from 0 on, and their topics (count)."""
    preferred, topics = habits(), random.integers(0, TOPICS, count)
    texts = random.integers(0, SYMBOLS, (count, LENGTH))
    for place in range(1, LENGTH):
        follows = random.random(count) < HABIT
        texts[follows, place] = preferred[topics[follows], texts[follows, place - 1]]
    return texts, topics


def small_bert(left_to_right: bool = False, labels: int = 2) -> BERT2018Config:
    """A small BERT without dropout for these texts."""
    config = BERT2018Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=LENGTH + 2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        left_to_right=left_to_right,
        sparse_prediction=False,
    )
    config.num_labels = labels
    return config


def read_by_bert(texts: np.ndarray) -> Tensor:
    """`CLASSIFY text END`: (N, LENGTH + 2)."""
    return _framed(texts, CLASSIFY, END)


def read_by_gpt(texts: np.ndarray) -> Tensor:
    """`START text CLASSIFY`: (N, LENGTH + 2)."""
    return _framed(texts, START, CLASSIFY)


def _framed(texts: np.ndarray, before: int, after: int) -> Tensor:
    return torch.from_numpy(np.pad(texts + FIRST, ((0, 0), (1, 1)), constant_values=((0, 0), (before, after))))


def masked_batches(random: np.random.Generator, size: int, masked: float, other: float) -> Iterator[dict[str, Tensor]]:
    """Endless batches for a masked language model.

    Args:
        masked, other: shares of the chosen tokens that are hidden, and that become another symbol; the rest stay.
    """
    while True:
        ids = read_by_bert(topical_texts(random, size)[0]).numpy()
        inside = np.zeros(ids.shape, dtype=bool)
        inside[:, 1:-1] = True
        chosen = inside & (random.random(ids.shape) < CHOSEN)
        fate = random.random(ids.shape)
        seen = np.where(chosen & (fate < masked), MASK, ids)
        drawn = random.integers(FIRST, FIRST + SYMBOLS, ids.shape)
        seen = np.where(chosen & (fate >= masked) & (fate < masked + other), drawn, seen)
        yield {"input_ids": torch.from_numpy(seen), "labels": torch.from_numpy(np.where(chosen, ids, IGNORED))}


def next_word_batches(random: np.random.Generator, size: int) -> Iterator[dict[str, Tensor]]:
    """Endless batches for a model from left to right, each label at the place of the word before it."""
    while True:
        ids = read_by_bert(topical_texts(random, size)[0])
        labels = torch.full_like(ids, IGNORED)
        labels[:, :-2] = ids[:, 1:-1]
        yield {"input_ids": ids, "labels": labels}


def drawn_batches(random: np.random.Generator, size: int, **rows: Tensor) -> Iterator[dict[str, Tensor]]:
    """Endless batches from a small set of labelled rows."""
    count = len(next(iter(rows.values())))
    while True:
        chosen = torch.from_numpy(random.integers(0, count, size))
        yield {name: values[chosen] for name, values in rows.items()}


def next_is_high(texts: np.ndarray) -> Tensor:
    """A label for each symbol that only its right neighbour tells for sure: whether that is in the upper half.

    (N, LENGTH + 2), as BERT reads them; ignored where there is no right neighbour.
    """
    labels = np.full((len(texts), LENGTH + 2), IGNORED)
    labels[:, 1:LENGTH] = texts[:, 1:] >= SYMBOLS // 2
    return torch.from_numpy(labels)
