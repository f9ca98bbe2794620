"""Pictures that are a grid of cells, as annotation vectors, and captions that list their objects in reading order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo import ShowAttendTellConfig, ShowAttendTellForConditionalGeneration
from hf_attention_zoo.history.synthetic import END, FIRST

SIDE, KINDS = 3, 14
CELLS = SIDE * SIDE
LOOKS = 16  # numbers that say what is in a cell; so many more as there are cells say where it is
NOISE = 0.7
VOCABULARY = FIRST + KINDS


def looks() -> np.ndarray:
    """What each kind of object looks like, (KINDS, LOOKS), the same for all seeds."""
    return np.random.default_rng(2015).standard_normal((KINDS, LOOKS))


def pictures(random: np.random.Generator, count: int, objects: int) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
    """Endless batches of pictures with so many different objects each, the other cells hold noise.

    Each comes as a captioner takes it, annotations (count, CELLS, LOOKS + CELLS) and labels (count, objects + 1) with
    the end symbol, and with the cell of each object, (count, objects).
    """
    seen, rows = looks(), np.arange(count)[:, None]
    while True:
        kinds = random.permuted(np.tile(np.arange(KINDS), (count, 1)), axis=1)[:, :objects]
        cells = np.sort(random.permuted(np.tile(np.arange(CELLS), (count, 1)), axis=1)[:, :objects], axis=1)
        vectors = NOISE * random.standard_normal((count, CELLS, LOOKS))
        vectors[rows, cells] += seen[kinds]
        where = np.tile(np.eye(CELLS), (count, 1, 1))
        labels = np.pad(kinds + FIRST, ((0, 0), (0, 1)), constant_values=END)
        batch = {
            "annotations": torch.from_numpy(np.concatenate([vectors, where], -1)).float(),
            "labels": torch.from_numpy(labels),
        }
        yield batch, torch.from_numpy(cells)


def picture_batches(random: np.random.Generator, count: int, objects: int) -> Iterator[dict[str, Tensor]]:
    """The same without the cells, to train on."""
    return (batch for batch, _ in pictures(random, count, objects))


def captioner(attention: str, coverage_weight: float) -> ShowAttendTellForConditionalGeneration:
    """A small Show, Attend and Tell that reads these annotations."""
    return ShowAttendTellForConditionalGeneration(
        ShowAttendTellConfig(
            vocab_size=VOCABULARY,
            embedding_size=32,
            hidden_size=64,
            annotation_size=LOOKS + CELLS,
            num_attention_layers=1,
            num_initial_layers=1,
            attention=attention,
            hard_evaluation="argmax",
            coverage_weight=coverage_weight,
            dropout=0.0,
            initializer_range=0.1,
            grid_height=SIDE,
            grid_width=SIDE,
        )
    )
