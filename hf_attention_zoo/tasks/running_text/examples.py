"""An endless stream of training examples that is a function of its seed alone.

Examples are numbered from 0. Each is described cheaply first (which sentences, from where) and made from its
description and its number, so that

* a run that goes on skips what it has seen without making it;
* any number of loading workers gives the same examples in the same order: all describe, each makes its own batches;
* the lengths of two phases (128 tokens, then 512) follow one another in one stream.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.utils.data import IterableDataset, get_worker_info


@dataclass(frozen=True)
class Phase:
    """A part of a pre-training.

    Attributes:
        length: tokens of an example at most.
        examples: how many examples it has; None for all that follow.
    """

    length: int
    examples: int | None = None


class ExampleStream(IterableDataset):
    """Base of the data sets of pre-training.

    Args:
        seed: of everything that is drawn.
        batch_size: examples of a batch, of all processes together: a worker makes whole batches.
        phases: lengths in their order; the last one has no end.

    Raises:
        ValueError: phases that do not follow one another.
    """

    def __init__(self, *, seed: int, batch_size: int, phases: Sequence[Phase]) -> None:
        super().__init__()
        if not phases or phases[-1].examples is not None or any(phase.examples is None for phase in phases[:-1]):
            raise ValueError(f"phases {list(phases)}: all but the last need a number of examples, the last has none")
        self.seed = seed
        self.batch_size = batch_size
        self.phases = tuple(phases)
        self.first = 0
        self.stand_ins = 0

    @abstractmethod
    def descriptions(self, epoch: int, length: int) -> Iterator[Any]:
        """What the examples of an epoch are made of, in their order; quick, and the same for the same arguments."""

    @abstractmethod
    def make(self, description: Any, random: np.random.Generator) -> dict[str, Any]:
        """The example, with everything that is drawn for it drawn from `random`."""

    def start_at(self, number: int) -> None:
        """Begin with this example the next time that the stream is read."""
        if number < 0:
            raise ValueError(f"start_at({number}): examples are counted from 0")
        self.first = number

    def stand_in_before(self, number: int) -> None:
        """Give one and the same example for all before this one: for a reader who skips them, but wants to count."""
        self.stand_ins = number

    def random(self, *keys: int) -> np.random.Generator:
        """A generator of its own for the seed and some numbers, all at least 0."""
        return np.random.default_rng([self.seed, *keys])

    def numbered_descriptions(self) -> Iterator[tuple[int, Any]]:
        """Number and description of every example, without end."""
        number, epoch = 0, 0
        end: int | None = 0
        for phase in self.phases:
            end = None if phase.examples is None or end is None else end + phase.examples
            while end is None or number < end:
                before = number
                for description in self.descriptions(epoch, phase.length):
                    yield number, description
                    number += 1
                    if number == end:
                        break
                if number == before:
                    raise ValueError(f"the text gives no example of up to {phase.length} tokens; give more text")
                epoch += 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        mine, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        stand_in = None
        for number, description in self.numbered_descriptions():
            ahead = number - self.first
            if ahead < 0 or ahead // self.batch_size % workers != mine:
                continue
            if number < self.stand_ins:
                stand_in = stand_in or self.make(description, self.random(1, number))
                yield stand_in
            else:
                yield self.make(description, self.random(1, number))
