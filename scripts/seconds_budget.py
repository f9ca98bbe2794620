"""Training for a number of processor seconds: one clock, one rule for the rate and the same marks for every program.

The clock counts the seconds of the processor that updates take, batches and everything between them included, and
stands still while a model is validated. The rate rises over the first updates and then falls in a straight line, with
the seconds spent, to nothing at the end: how many updates fit into the seconds need not be known beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

Ids = list[int]
Pairs = list[tuple[Ids, Ids]]  # source and target of each sentence, each with its end mark


class System(Protocol):
    """A model of one program, with its loss and its search, over the ids of the shared tokenizer."""

    model: nn.Module

    def loss(self, pairs: Pairs) -> Tensor:
        """What a batch is to be minimised for: a scalar."""

    def search(self, sources: list[Ids], beams: int, longest: int) -> list[Ids]:
        """Translations of sources in their order, at most `longest` pieces each; one beam is greedy."""


@dataclass(frozen=True)
class Training:
    """What optimiser, schedule and loss are told.

    Attributes:
        tokens: of a batch, pads included, on its longer side; or
        sentences: of a batch.
        normalization: by what the loss of a batch is divided, its target "tokens" or its "sentences".
    """

    learning_rate: float
    warmup_steps: int = 0
    label_smoothing: float = 0.0
    tokens: int | None = None
    sentences: int | None = None
    optimizer: str = "adam"
    betas: Sequence[float] = (0.9, 0.999)
    epsilon: float = 1e-8
    max_grad_norm: float | None = 1.0
    normalization: str = "tokens"

    def optimizer_of(self, model: nn.Module) -> torch.optim.Optimizer:
        """Over all parameters, without weight decay."""
        if self.optimizer == "sgd":
            return torch.optim.SGD(model.parameters(), lr=self.learning_rate)
        return torch.optim.Adam(model.parameters(), lr=self.learning_rate, betas=tuple(self.betas), eps=self.epsilon)


@dataclass(frozen=True)
class Mark:
    """What a model had come to when a mark was passed."""

    mark: float
    seconds: float
    updates: int
    target_tokens: int
    bleu: float
    chrf: float


class Course:
    """One training: its seconds, its rate and its marks.

    Args:
        marks: processor seconds, ascending; the last is the budget.
        warmup_steps: updates over which the rate rises.
        validate: BLEU and chrF of the model as it is.
        clock: seconds of the processor.
    """

    def __init__(
        self,
        marks: Sequence[float],
        warmup_steps: int,
        validate: Callable[[], tuple[float, float]],
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.waiting, self.budget = list(marks), marks[-1]
        self.warmup_steps, self.validate, self.clock = warmup_steps, validate, clock
        self.found: list[Mark] = []
        self.updates = self.target_tokens = 0
        self._from = 0.0

    def begin(self) -> None:
        """The clock starts."""
        self._from = self.clock()

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.clock() - self._from

    @property
    def over(self) -> bool:
        """Whether all marks are passed."""
        return not self.waiting

    def rate_factor(self, done: int) -> float:
        """Updates done -> factor on the rate of the next one, as `LambdaLR` wants it."""
        left = max(0.0, 1 - self.spent / self.budget) if self._from else 1.0
        return min(1.0, (done + 1) / max(1, self.warmup_steps)) * left

    def after_update(self, target_tokens: int) -> None:
        """Count an update, and validate if it passed a mark; the clock stands still meanwhile."""
        self.updates += 1
        self.target_tokens += target_tokens
        spent = self.spent
        if self.over or spent < self.waiting[0]:
            return
        stopped = self.clock()
        bleu, chrf = self.validate()
        while self.waiting and spent >= self.waiting[0]:
            self.found.append(Mark(self.waiting.pop(0), spent, self.updates, self.target_tokens, bleu, chrf))
        self._from += self.clock() - stopped


def endless(sampler: Any) -> Iterator[list[int]]:
    """Batches of numbers of pairs, pass after pass."""
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from sampler
        epoch += 1


def train(system: System, training: Training, pairs: Pairs, sampler: Any, course: Course) -> None:
    """Updates until the budget is spent, as every program's own training makes them.

    Args:
        sampler: a `TokenBudgetBatchSampler` over the pairs.
    """
    from hf_attention_zoo.training.kept_memory import freed_memory_kept

    model = system.model.train()
    optimizer = training.optimizer_of(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, course.rate_factor)
    with freed_memory_kept():
        course.begin()
        for numbers in endless(sampler):
            batch = [pairs[number] for number in numbers]
            loss = system.loss(batch)
            loss.backward()
            if training.max_grad_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), training.max_grad_norm)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            course.after_update(sum(len(target) for _, target in batch))
            if course.over:
                return


def translated(system: System, sources: list[Ids], beams: int, longest: int, rows: int = 64) -> list[Ids]:
    """Translations in the order of the sources, made in batches of like lengths by a model that is evaluated."""
    order = sorted(range(len(sources)), key=lambda number: -len(sources[number]))
    made: list[Ids] = [[] for _ in sources]
    training = system.model.training
    system.model.eval()
    with torch.no_grad():
        for start in range(0, len(order), rows):
            numbers = order[start : start + rows]
            found = system.search([sources[number] for number in numbers], beams, longest)
            for number, ids in zip(numbers, found, strict=True):
                made[number] = ids
    system.model.train(training)
    return made
