"""In which order the examples of an epoch come, where it is neither a plain shuffle nor sorted pools."""

from collections.abc import Iterator
from typing import Any

import datasets
import torch
from torch.utils.data import IterableDataset, Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices


class LikeLengths(Sampler[int]):
    """The order of `train_sampling_strategy=group_by_length`, drawn from seed and epoch alone.

    transformers' own draws from the global random state, so a run that goes on in the middle of an epoch would see
    another order than the one that was stopped. The epoch is told by `EpochOfBatches` alone: a `set_epoch` would be
    called by accelerate, whose count of epochs starts anew when a run goes on.
    """

    def __init__(self, lengths: Any, batch_size: int, seed: int) -> None:
        self.lengths = [int(length) for length in lengths]
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + 1_000_003 * self.epoch)
        return iter(get_length_grouped_indices(self.lengths, self.batch_size, generator=generator))


class WholeStream(IterableDataset):
    """A stream of `datasets` that every process reads from its beginning, so that each takes its share of every batch.

    accelerate would give each process files of its own, and one that had fewer rows would end its epoch alone.
    """

    def __init__(self, stream: datasets.IterableDataset) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[Any]:
        yield from self.stream

    def set_epoch(self, epoch: int) -> None:
        """The epoch by which the stream is shuffled."""
        self.stream.set_epoch(epoch)
