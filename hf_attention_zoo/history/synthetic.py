"""Sentences that are made as they are needed, so that no model can learn them by heart.

Ids are 0 for pads, 1 for unknown, 2 to start, 3 to end; symbols begin at `FIRST`. Training draws from one generator
(`training_draws`), what is held out from another (`held_out_draws`), both by the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo.losses.token_loss import IGNORED

PAD, UNKNOWN, START, END, FIRST = 0, 1, 2, 3, 4


def training_draws(seed: int) -> np.random.Generator:
    """The generator of what is trained on."""
    return np.random.default_rng([seed, 0])


def held_out_draws(seed: int) -> np.random.Generator:
    """The generator of what is scored."""
    return np.random.default_rng([seed, 1])


def random_sentences(
    random: np.random.Generator, count: int, shortest: int, longest: int, symbols: int
) -> list[np.ndarray]:
    """Sentences of symbols drawn alike, lengths drawn alike from `shortest` to `longest`."""
    lengths = random.integers(shortest, longest + 1, count)
    return [random.integers(FIRST, FIRST + symbols, length) for length in lengths]


def padded(rows: list[np.ndarray], fill: int) -> Tensor:
    """Rows of ids as one tensor, filled up on the right: (N, longest)."""
    made = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for place, row in enumerate(rows):
        made[place, : len(row)] = row
    return torch.from_numpy(made)


def pair_batch(sources: list[np.ndarray], targets: list[np.ndarray]) -> dict[str, Tensor]:
    """Sentence pairs as a translator takes them; each side ends with the end symbol, pads of labels are ignored."""
    source = padded([np.append(row, END) for row in sources], PAD)
    labels = padded([np.append(row, END) for row in targets], IGNORED)
    return {"input_ids": source, "attention_mask": (source != PAD).long(), "labels": labels}


def word_table(symbols: int) -> np.ndarray:
    """A dictionary, the same for all seeds: id of a source symbol -> id of the target symbol, one to one."""
    table = np.arange(FIRST + symbols)
    table[FIRST:] = FIRST + np.random.default_rng(2014).permutation(symbols)
    return table


def pair_batches(
    random: np.random.Generator,
    size: int,
    lengths: tuple[int, int],
    symbols: int,
    target: Callable[[np.ndarray], np.ndarray],
    source: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Iterator[dict[str, Tensor]]:
    """Endless batches of pairs.

    Args:
        lengths: shortest and longest source, without the end symbol.
        target: makes the target from what was drawn.
        source: makes the source from it; None leaves it as it is.
    """
    while True:
        drawn = random_sentences(random, size, *lengths, symbols)
        yield pair_batch([source(row) for row in drawn] if source else drawn, [target(row) for row in drawn])
