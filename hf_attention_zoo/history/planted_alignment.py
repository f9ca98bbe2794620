"""Translation with an order that is known: which source word each target word comes from.

Most words keep their place; those of one kind change places with the word behind them, as adjectives do between
English and French. Ids are those of `synthetic`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo.history.synthetic import FIRST, padded, pair_batch, random_sentences, word_table

MOVING = 0.3  # share of the symbols that change places


def source_order(row: np.ndarray, symbols: int) -> np.ndarray:
    """For each target word the place of its source word: a moving word goes behind the next one that does not."""
    order, waiting = [], []
    for place, word in enumerate(row):
        if word < FIRST + MOVING * symbols:
            waiting.append(place)
        else:
            order += [place, *waiting]
            waiting = []
    return np.array(order + waiting)


def reordered_pairs(
    random: np.random.Generator, size: int, lengths: tuple[int, int], symbols: int
) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
    """Endless batches of pairs as a translator takes them, each with its alignment.

    The alignment (N, T) has the place of the source word of every target word, -1 at the end symbol and at pads.
    """
    table = word_table(symbols)
    while True:
        sources = random_sentences(random, size, *lengths, symbols)
        orders = [source_order(row, symbols) for row in sources]
        batch = pair_batch(sources, [table[row[order]] for row, order in zip(sources, orders, strict=True)])
        yield batch, padded([np.append(order, -1) for order in orders], -1)


def reordered_batches(
    random: np.random.Generator, size: int, lengths: tuple[int, int], symbols: int
) -> Iterator[dict[str, Tensor]]:
    """The same without the alignments, to train on."""
    return (batch for batch, _ in reordered_pairs(random, size, lengths, symbols))


@torch.no_grad()
def aligned(model: torch.nn.Module, batch: dict[str, Tensor], order: Tensor) -> tuple[float, float, Tensor]:
    """What a translator says and looks at when it is given the right words before each word.

    Args:
        order: (N, T) as `reordered_pairs` gives it.

    Returns:
        Cross entropy of a word in nats; the share of words whose source word has the largest weight; the weights
        (N, T, S).
    """
    model.eval()
    said = model(**batch, output_attentions=True)
    weights = said.cross_attentions[-1].mean(1)
    return float(said.loss), pointed(weights, order), weights


def pointed(weights: Tensor, order: Tensor) -> float:
    """The share of the aligned words (N, T) whose largest weight of (N, T, S) is at their source word."""
    asked = order >= 0
    return (weights.argmax(-1) == order)[asked].float().mean().item()
