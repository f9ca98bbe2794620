"""Batches of like lengths, cut from sorted pools: by a budget of padded tokens or by a fixed number of pairs.

Bahdanau et al. (2015), appendix B.2, fetch the sentence pairs of 20 updates at once, sort them by length and cut the
sorted pool into 20 batches, so that a batch holds little padding. The sort key is the longer side of the pair.

Definitions used below, for pairs with (source length, target length):

* width of a pair: the longer of its two sides; width of a batch: that of its widest pair;
* padded tokens of a batch: number of pairs x width. In budget mode no batch exceeds `max_tokens`, except a single
  pair that is wider than the whole budget;
* epoch plan: the list of all batches of an epoch, in order. It depends on the lengths and the settings, the seed, the
  epoch and `num_replicas`, never on `rank`. Its length is a multiple of `num_replicas` and the same in every epoch
  (trainers read it once and compute the epoch and the position to resume at from it).

Several processes: batch k of process r is number `k * num_replicas + r` of the plan. All processes together thus see
at step k the same pairs as one process that runs with the same `num_replicas`, `rank=None`, and accumulates gradients
over `num_replicas` batches. In this way N processes with a budget of t equal one process with the union of N batches.
The batches of one step are neighbours in the sorted pool, so no process waits long for another.

To reach a multiple of `num_replicas`, and the same number in every epoch, large batches are cut in two: every pair
comes exactly once per epoch. Only when all batches are down to a single pair are some repeated, fewer than
`num_replicas` of them.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

# Shuffles that an epoch may try before it falls back to the composition of epoch 0, see `_compose`.
_ATTEMPTS = 8
# Epochs whose natural number of batches is looked at to fix the common one.
_PROBED_EPOCHS = 3


class TokenBudgetBatchSampler:
    """Batch sampler over sorted pools for `torch.utils.data.DataLoader(batch_sampler=...)`.

    Args:
        lengths: one `(source tokens, target tokens)` per example, end marks included (see `pair_lengths`).
        max_tokens: budget of padded tokens per batch. Give either this or `batch_size`.
        batch_size: fixed number of pairs per batch (80 in the paper).
        pool_batches: how many batches are fetched and sorted together (20 in the paper).
        num_replicas: number of processes.
        rank: this process; `None` yields the whole plan in step order, for one process that stands for all of them
            or for `accelerate`, which takes every N-th batch of the plan itself.
        seed: seed of the shuffles.
        shuffle: draw a new order of the examples for each epoch. `False` keeps the order of the data.
        order: `"shuffled"` shuffles the finished batches over the epoch; `"shortest_first"` takes each pool from its
            shortest batch to its longest, as the authors' code does. Without `shuffle` the batches stay in pool order.
        reshuffle_each_epoch: `False` shuffles the examples once for all epochs, as the paper does.
        oversized: what to do with a pair wider than the budget: `"own_batch"` (one warning) or `"raise"`.

    `len()` counts the batches of a full epoch of this process, also after `load_state_dict`.

    Call `set_epoch` on the sampler itself at the start of each epoch. A loader resumed with accelerate's
    `skip_first_batches` under several processes wraps the sampler twice, and its own `set_epoch` does not get through.
    """

    def __init__(
        self,
        lengths: Sequence[tuple[int, int]] | np.ndarray,
        max_tokens: int | None = None,
        *,
        batch_size: int | None = None,
        pool_batches: int = 20,
        num_replicas: int = 1,
        rank: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        order: Literal["shuffled", "shortest_first"] = "shuffled",
        reshuffle_each_epoch: bool = True,
        oversized: Literal["own_batch", "raise"] = "own_batch",
    ) -> None:
        self._widths = _widths(lengths)
        if (max_tokens is None) == (batch_size is None):
            raise ValueError(
                f"max_tokens={max_tokens} and batch_size={batch_size}: give exactly one of the two, "
                "a budget of padded tokens or a number of pairs per batch"
            )
        for name, value, lowest in (
            ("max_tokens", max_tokens, 1),
            ("batch_size", batch_size, 1),
            ("pool_batches", pool_batches, 1),
            ("num_replicas", num_replicas, 1),
            ("seed", seed, 0),
        ):
            if value is not None and (not isinstance(value, int | np.integer) or value < lowest):
                raise ValueError(f"{name}={value!r}: expected an integer of at least {lowest}")
        if rank is not None and not 0 <= rank < num_replicas:
            raise ValueError(f"rank={rank} with num_replicas={num_replicas}: ranks go from 0 to {num_replicas - 1}")
        if order not in ("shuffled", "shortest_first"):
            raise ValueError(f'order={order!r}: choose "shuffled" or "shortest_first"')
        if oversized not in ("own_batch", "raise"):
            raise ValueError(f'oversized={oversized!r}: choose "own_batch" or "raise"')

        self.max_tokens = max_tokens
        # Not called batch_size: accelerate would then take the batches apart to even out their sizes.
        self.pairs_per_batch = batch_size
        self.pool_batches = pool_batches
        self.num_replicas = num_replicas
        self.rank = rank
        self.seed = seed
        self.shuffle = shuffle
        self.order = order
        self.reshuffle_each_epoch = reshuffle_each_epoch
        self.epoch = 0
        self._start = 0  # batches of this process that the next iteration skips
        self._yielded = 0  # batches of this process that the current iteration has given out, skipped ones included
        self._num_batches: int | None = None
        self._plan: tuple[int, list[list[int]]] | None = None
        if max_tokens is not None:
            self._report_oversized(max_tokens, oversized)

    def _report_oversized(self, max_tokens: int, oversized: str) -> None:
        too_wide = np.flatnonzero(self._widths > max_tokens)
        if not len(too_wide):
            return
        widest = int(too_wide[np.argmax(self._widths[too_wide])])
        found = (
            f"{len(too_wide)} of {len(self._widths)} pairs are longer than max_tokens={max_tokens} "
            f"(the longest is example {widest} with {int(self._widths[widest])} tokens)"
        )
        if oversized == "raise":
            raise ValueError(f'{found}; raise max_tokens, drop or truncate them, or pass oversized="own_batch"')
        warnings.warn(f"{found}; each becomes a batch of its own, over the budget", UserWarning, stacklevel=3)

    def __len__(self) -> int:
        total = self._total_batches()
        return total if self.rank is None else total // self.num_replicas

    def __iter__(self) -> Iterator[list[int]]:
        plan = self.plan()
        mine = plan if self.rank is None else plan[self.rank :: self.num_replicas]
        start, self._start = self._start, 0
        self._yielded = start
        for batch in mine[start:]:
            self._yielded += 1
            yield list(batch)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration yields; another epoch than the current one starts at its top."""
        if epoch < 0:
            raise ValueError(f"epoch={epoch}: epochs count from 0")
        if epoch != self.epoch:
            self.epoch, self._start, self._yielded = epoch, 0, 0

    def state_dict(self, batches_done: int | None = None) -> dict[str, Any]:
        """State to resume from.

        Args:
            batches_done: batches of this process that the training loop has used up in this epoch. Left out, the
                number that the iteration has given out is taken; a data loader with worker processes fetches ahead,
                so there the loop has to say.
        """
        done = self._yielded if batches_done is None else batches_done
        if not 0 <= done <= len(self):
            raise ValueError(f"batches_done={done}: an epoch has {len(self)} batches")
        return {"epoch": self.epoch, "batches_done": done, "fingerprint": self._fingerprint()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue behind the last batch used: the next iteration yields the rest of that epoch, later ones all."""
        if state["fingerprint"] != self._fingerprint():
            raise ValueError(
                "the sampler state was saved with other data or other settings (lengths, budget, pool, seed, order, "
                "num_replicas); rebuild the sampler as it was, or start the epoch anew with set_epoch"
            )
        self.epoch = state["epoch"]
        self._start = self._yielded = state["batches_done"]
        if self._start == len(self):
            self.epoch, self._start, self._yielded = self.epoch + 1, 0, 0

    def plan(self) -> list[list[int]]:
        """All batches of the current epoch over all processes, in step order. Do not change the lists."""
        if self._plan is None or self._plan[0] != self.epoch:
            self._plan = (self.epoch, self._arranged(self.epoch))
        return self._plan[1]

    def padded_share(self) -> float:
        """Share of padding among the padded tokens of the current epoch, both sides taken at the batch's width."""
        padded = sum(len(batch) * int(self._widths[batch].max()) for batch in self.plan())
        return 1.0 - sum(int(self._widths[batch].sum()) for batch in self.plan()) / padded

    def _fingerprint(self) -> str:
        cutting = (self.max_tokens, self.pairs_per_batch, self.pool_batches, self.num_replicas, self.seed)
        settings = (*cutting, self.shuffle, self.order, self.reshuffle_each_epoch)
        return hashlib.sha256(repr(settings).encode() + self._widths.tobytes()).hexdigest()[:16]

    def _total_batches(self) -> int:
        if self._num_batches is None:
            redrawn = self.max_tokens is not None and self.shuffle and self.reshuffle_each_epoch
            count = max(len(self._draw(epoch, 0)) for epoch in range(_PROBED_EPOCHS if redrawn else 1))
            self._num_batches = -(-count // self.num_replicas) * self.num_replicas
        return self._num_batches

    def _compose(self, epoch: int) -> list[list[int]]:
        """Batches of an epoch in pool order: at most as many as every epoch has.

        How many batches a budget needs depends a little on how the shuffle fills the pools. A shuffle that needs more
        than the common number is drawn again, and at last epoch 0, which fits by definition, lends its composition.
        """
        total = self._total_batches()
        for attempt in range(_ATTEMPTS):
            batches = self._draw(epoch, attempt)
            if len(batches) <= total:
                return batches
        return self._draw(0, 0)

    def _arranged(self, epoch: int) -> list[list[int]]:
        batches = _filled_up(self._compose(epoch), self._total_batches())
        if not self.shuffle or self.order == "shortest_first":
            return batches
        # Batches of one step stay together: neighbours have like widths.
        steps = [batches[i : i + self.num_replicas] for i in range(0, len(batches), self.num_replicas)]
        turn = np.random.default_rng([self.seed, epoch, 1]).permutation(len(steps))
        return [batch for step in turn for batch in steps[step]]

    def _draw(self, epoch: int, attempt: int) -> list[list[int]]:
        if not self.shuffle:
            examples = np.arange(len(self._widths))
        else:
            drawn = (epoch, attempt) if self.reshuffle_each_epoch else (0, 0)
            examples = np.random.default_rng([self.seed, drawn[0], 0, drawn[1]]).permutation(len(self._widths))
        if self.max_tokens is not None:
            return self._cut_by_tokens(examples, self.max_tokens)
        if self.pairs_per_batch is None:
            raise ValueError("max_tokens and batch_size are both None; give one of the two")
        return self._cut_by_pairs(examples, self.pairs_per_batch)

    def _cut_by_pairs(self, examples: np.ndarray, pairs: int) -> list[list[int]]:
        batches = []
        for start in range(0, len(examples), pairs * self.pool_batches):
            pool = self._sorted(examples[start : start + pairs * self.pool_batches])
            batches += [pool[i : i + pairs].tolist() for i in range(0, len(pool), pairs)]
        return batches

    def _cut_by_tokens(self, examples: np.ndarray, budget: int) -> list[list[int]]:
        """Cut pools of about `pool_batches` budgets; what does not fill a last batch moves on to the next pool."""
        batches: list[list[int]] = []
        reach = np.cumsum(self._widths[examples])
        rest = np.empty(0, dtype=examples.dtype)
        start = 0
        while start < len(examples):
            taken = reach[start - 1] if start else 0
            # The rest counts towards the pool, but each pool fetches something new, or this would not end.
            room = max(budget, self.pool_batches * budget - int(self._widths[rest].sum()))
            end = max(start + 1, int(np.searchsorted(reach, taken + room, side="right")))
            pool = self._sorted(np.concatenate([rest, examples[start:end]]))
            widths = self._widths[pool].tolist()
            first = 0
            for i, width in enumerate(widths):
                if i > first and (i - first + 1) * width > budget:
                    batches.append(pool[first:i].tolist())
                    first = i
            rest, start = pool[first:], end
        batches.append(rest.tolist())
        return batches

    def _sorted(self, pool: np.ndarray) -> np.ndarray:
        return pool[np.argsort(self._widths[pool], kind="stable")]


def pair_lengths(dataset: Any, source: str = "input_ids", target: str = "labels") -> np.ndarray:
    """Lengths of tokenised pairs, as `TokenBudgetBatchSampler` wants them.

    Args:
        dataset: a `datasets.Dataset` (read column-wise) or an iterable of rows.
        source, target: columns with the token ids of each side.

    Returns:
        Integers of shape (number of pairs, 2).
    """
    names = getattr(dataset, "column_names", None)
    if names is not None:
        missing = [column for column in (source, target) if column not in names]
        if missing:
            raise ValueError(f"no column {missing} in the tokenised data; it has {names}: tokenise it first")
        import pyarrow.compute as pc

        sides = []
        for column in (source, target):
            chunks = dataset.select_columns([column]).with_format("arrow").iter(batch_size=10_000)
            sides.append(np.concatenate([pc.list_value_length(c.column(0)).to_numpy() for c in chunks]))
        return np.stack(sides, axis=1)
    return np.array([(len(row[source]), len(row[target])) for row in dataset], dtype=np.int64).reshape(-1, 2)


def _widths(lengths: Sequence[tuple[int, int]] | np.ndarray) -> np.ndarray:
    table = np.asarray(lengths)
    if table.size == 0:
        raise ValueError("no lengths: there is nothing to cut into batches")
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(
            f"lengths of shape {table.shape} and type {table.dtype}: expected one pair of integers "
            "(source tokens, target tokens) per example"
        )
    if table.min() < 0:
        raise ValueError(f"lengths hold {int(table.min())}: a length is at least 0")
    # A pair without any token still takes a row of the batch.
    return np.maximum(table.max(axis=1), 1).astype(np.int64)


def _filled_up(batches: list[list[int]], total: int) -> list[list[int]]:
    """Bring the list to `total` batches by cutting the largest in two; repeat single pairs only where none is left.

    The halves stay where the whole stood, so a pool remains sorted.
    """
    missing = total - len(batches)
    while missing > 0:
        largest = sorted(range(len(batches)), key=lambda i: (-len(batches[i]), i))
        cut = {i for i in largest[:missing] if len(batches[i]) > 1}
        if not cut:
            batches = batches + [list(batches[i % len(batches)]) for i in range(missing)]
            break
        missing -= len(cut)
        halved: list[list[int]] = []
        for i, batch in enumerate(batches):
            middle = (len(batch) + 1) // 2
            halved += [batch[:middle], batch[middle:]] if i in cut else [batch]
        batches = halved
    return batches
