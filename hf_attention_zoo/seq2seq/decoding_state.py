"""The state of a recurrent decoder between two calls of `forward`, in the form that `generate` reorders.

Generation in transformers passes it as `cache` and calls `reorder_cache` when beams change places. It has two kinds of
tensors: `hypothesis`, one row for each row being decoded (hidden states, cells, a fed-back vector), and `source`, one
row for each source sentence (annotations, projected keys, mask), which the beams of a sentence share without copies.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache


def rows_of_sources(sources: Tensor, hypotheses: int) -> Tensor:
    """Rows of all hypotheses of these sources, (C,) -> (C K,): those of one source stand next to each other."""
    return (sources[:, None] * hypotheses + torch.arange(hypotheses, device=sources.device)).flatten()


def reorder(cache: Any, origins: Tensor) -> None:
    """Row i of a cache, or of a layer of one, becomes what row origins[i] was.

    transformers asks for a `LongTensor`, which by torch's own types no operation gives.
    """
    cache.reorder_cache(origins)


def for_outputs(state: Cache | None) -> Any:
    """A decoder's state as outputs take it, whose type in transformers knows an `EncoderDecoderCache` alone."""
    return state


class DecodingState(Cache):
    """Batch-first tensors by name.

    Attributes:
        hypothesis: name -> (B * K, ...), K hypotheses per source, those of one source next to each other.
        source: name -> (B, ...).
        seen_tokens: target tokens consumed so far.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.hypothesis: dict[str, Tensor] = {}
        self.source: dict[str, Tensor] = {}
        self.seen_tokens = 0

    @property
    def hypotheses_per_source(self) -> int:
        """K."""
        if not self.hypothesis or not self.source:
            return 1
        return next(iter(self.hypothesis.values())).shape[0] // next(iter(self.source.values())).shape[0]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.seen_tokens

    def get_max_length(self, layer_idx: int | None = None) -> int:
        return -1

    def reset(self) -> None:
        self.hypothesis, self.source, self.seen_tokens = {}, {}, 0

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Row i becomes what row beam_idx[i] was. Sources move only if a row leaves its source."""
        if not self.hypothesis:
            return
        beam_idx = beam_idx.to(next(iter(self.hypothesis.values())).device)
        rows = torch.arange(next(iter(self.hypothesis.values())).shape[0], device=beam_idx.device)
        if torch.equal(beam_idx, rows):
            return
        width = self.hypotheses_per_source
        if beam_idx.shape != rows.shape or not torch.equal(beam_idx // width, rows // width):
            self.source = {name: tensor.index_select(0, beam_idx // width) for name, tensor in self.source.items()}
        self.hypothesis = {name: tensor.index_select(0, beam_idx) for name, tensor in self.hypothesis.items()}

    def move_hypotheses(self, rows: Tensor) -> None:
        """Row i becomes what row rows[i] was, a row of the same source."""
        self.hypothesis = {name: tensor.index_select(0, rows) for name, tensor in self.hypothesis.items()}

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row becomes `repeats` rows of the same source."""
        self.hypothesis = {name: tensor.repeat_interleave(repeats, 0) for name, tensor in self.hypothesis.items()}

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows `indices`."""
        width = self.hypotheses_per_source
        if self.source:
            rows = torch.arange(next(iter(self.hypothesis.values())).shape[0], device=indices.device)[indices]
            self.source = {name: tensor.index_select(0, rows // width) for name, tensor in self.source.items()}
        self.hypothesis = {name: tensor[indices] for name, tensor in self.hypothesis.items()}

    can_keep_sources = True  # see `keep_sources`; generation asks before it takes finished sources out

    def keep_sources(self, sources: Tensor) -> None:
        """Keep the sources of these numbers with all their hypotheses."""
        rows = rows_of_sources(sources, self.hypotheses_per_source)
        self.source = {name: tensor.index_select(0, sources.to(tensor.device)) for name, tensor in self.source.items()}
        self.hypothesis = {
            name: tensor.index_select(0, rows.to(tensor.device)) for name, tensor in self.hypothesis.items()
        }

    @property
    def is_compileable(self) -> bool:
        return False

    @property
    def is_croppable(self) -> bool:
        return False

    @property
    def is_linear(self) -> list[bool]:
        return [False]

    def __repr__(self) -> str:
        shapes: dict[str, Any] = {n: tuple(t.shape) for n, t in {**self.source, **self.hypothesis}.items()}
        return f"DecodingState(seen_tokens={self.seen_tokens}, {shapes})"
