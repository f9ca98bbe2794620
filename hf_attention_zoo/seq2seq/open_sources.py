"""Beam search computes only the sources whose result can still change.

transformers' search goes on until the last source of a batch is finished, and gives every row to the model until then.
Here the rows of finished sources leave the model's batch and its cache; in the search's own tables they keep their
places. What they would have got there changes nothing: the search takes no hypothesis of a finished source any more.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from transformers.utils import ModelOutput

from hf_attention_zoo.seq2seq.decoding_state import rows_of_sources


class OpenSources:
    """Which sources of one search are open, and which of them the model still computes.

    Args:
        number: B sources.
        beams: K hypotheses each; row i of the search belongs to source i // K.
    """

    def __init__(self, number: int, beams: int) -> None:
        self.number, self.beams = number, beams
        self.open = torch.ones(number, dtype=torch.bool)
        self.computed = torch.arange(number)  # (C,) sources of the model's rows
        self._given: dict[str, Any] = {}  # what the encoder gave for them

    def note(self, can_improve: Tensor, finished: Tensor, early_stopping: bool | str) -> None:
        """(B, 1) whether a running hypothesis may become one of the best, (B, K) which of the best are finished."""
        full = finished.all(1) if early_stopping is True else torch.zeros_like(can_improve[:, 0])
        self.open = (can_improve[:, 0] & ~full).cpu()

    @property
    def rows(self) -> Tensor:
        """The search's rows of the sources that are computed, (C K,)."""
        return rows_of_sources(self.computed, self.beams)

    def leave_finished(self, cache: Any) -> None:
        """Take the rows of sources that were finished since the last step out of the cache, if it can do so."""
        staying = self.open[self.computed]
        fixed = cache is not None and not getattr(cache, "can_keep_sources", False)
        if fixed or staying.all() or not staying.any():
            return
        if cache is not None:
            cache.keep_sources(staying.nonzero()[:, 0])
        self.computed = self.computed[staying]
        self._given = {}

    @property
    def all_computed(self) -> bool:
        """Whether no source has left."""
        return len(self.computed) == self.number

    def of_sources(self, name: str, value: Any) -> Any:
        """What was given for B sources, for those that are computed; selected once, then kept under its name."""
        if name not in self._given:
            self._given[name] = select_rows(value, self.computed, self.number)
        return self._given[name]

    def of_rows(self, value: Tensor) -> Tensor:
        """Rows (B K, ...) of the search -> those of the model (C K, ...)."""
        return value.index_select(0, self.rows.to(value.device))

    def origins(self, moved: Tensor) -> Tensor:
        """The search's "row i becomes what row moved[i] was", (B K,), in the model's rows, (C K,)."""
        place = torch.zeros(self.number * self.beams, dtype=torch.long, device=moved.device)
        rows = self.rows.to(moved.device)
        place[rows] = torch.arange(len(rows), device=moved.device)
        return place[moved[rows].long()]

    def all_rows(self, logits: Tensor) -> Tensor:
        """(C K, T, V) -> (B K, T, V), zeros for rows that were not computed."""
        filled = logits.new_zeros(self.number * self.beams, *logits.shape[1:])
        filled[self.rows.to(logits.device)] = logits
        return filled


def select_rows(value: Any, rows: Tensor, number: int) -> Any:
    """Rows of every tensor of `number` rows in a tensor, tuple, list or model output; other things as they are."""
    if isinstance(value, Tensor):
        return value.index_select(0, rows.to(value.device)) if value.ndim and value.shape[0] == number else value
    if isinstance(value, ModelOutput):
        return type(value)(**{name: select_rows(part, rows, number) for name, part in value.items()})
    if isinstance(value, (tuple, list)):
        return type(value)(select_rows(part, rows, number) for part in value)
    return value


# The search that runs in this thread, if finished sources leave it.
current_search: ContextVar[OpenSources | None] = ContextVar("current_search", default=None)
