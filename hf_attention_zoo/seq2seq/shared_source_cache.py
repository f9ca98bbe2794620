"""The cache of an encoder-decoder whose beams share their source.

Generation in transformers copies a source's keys and values for every beam, and all rows of the cache whenever beams
change places. Here the source's stand once, and moving beams moves only the rows that really change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache

from hf_attention_zoo.seq2seq.decoding_state import reorder, rows_of_sources


class GrowingLayer(DynamicLayer):
    """Keys and values in a buffer with room for more: a step writes one column, and moves the rows that move.

    `keys` and `values` are views of the filled part. Where gradients are wanted it appends as its base class does.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._room: tuple[Tensor, Tensor] | None = None

    def _fitting(self) -> tuple[Tensor, Tensor] | None:
        """The buffer, if its beginning still is the filled part (others may have put tensors in the place of that)."""
        if self._room is None or self.keys is None or self.values is None:
            return None
        pairs = zip((self.keys, self.values), self._room, strict=True)
        same = all(filled.data_ptr() == room.data_ptr() for filled, room in pairs)
        return self._room if same and self.keys.shape[0] == self._room[0].shape[0] else None

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Append (N, h, T, d) keys and values; returns all."""
        if torch.is_grad_enabled() and (key_states.requires_grad or value_states.requires_grad):
            self._room = None
            return super().update(key_states, value_states)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        first = self.keys.shape[2] if self.keys is not None and self.keys.numel() else 0
        last = first + key_states.shape[2]
        room = self._fitting() if first else None
        if room is None or last > room[0].shape[2]:
            made = []
            for states, filled in ((key_states, self.keys), (value_states, self.values)):
                rows, heads, _, size = states.shape
                larger = states.new_empty(rows, heads, max(32, 2 * last), size)
                if first and filled is not None:
                    larger[:, :, :first] = filled
                made.append(larger)
            room = self._room = (made[0], made[1])
        room[0][:, :, first:last] = key_states
        room[1][:, :, first:last] = value_states
        keys, values = room[0][:, :, :last], room[1][:, :, :last]
        self.keys, self.values = keys, values
        return keys, values

    def move_rows(self, moved: Tensor, origins: Tensor) -> None:
        """Row moved[i] becomes what row origins[i] was."""
        keys, values = self.keys, self.values
        if keys is None or values is None:
            return
        if self._fitting() is None:
            order = torch.arange(keys.shape[0], device=keys.device)
            order[moved] = origins.to(order.device)
            reorder(self, order)
            return
        for states in (keys, values):
            states[moved.to(states.device)] = states.index_select(0, origins.to(states.device))

    def reset(self) -> None:
        super().reset()
        self._room = None


class SharedSourceCache(EncoderDecoderCache):
    """An `EncoderDecoderCache` with B rows of source keys and values for B K rows of hypotheses.

    Attributes:
        source_mask: (B, S) bool, true at the source's tokens; set by the first pass through the decoder.
    """

    def __init__(self, *caches: Any) -> None:
        super().__init__(*caches)
        self.source_mask: Tensor | None = None
        self._kept_masks: dict[tuple[Any, ...], Any] = {}

    def kept_mask(self, config: Any, queries: Tensor, make: Callable[[], Any]) -> Any:
        """What `make` makes of the source's mask for a kernel and queries (B, N, D), once for all steps like this one.

        transformers looks at the mask's numbers to leave it out where nothing is masked.
        """
        if torch.compiler.is_compiling():
            return make()
        kind = (config._attn_implementation, queries.shape[1], queries.dtype)
        if kind not in self._kept_masks:
            self._kept_masks[kind] = make()
        return self._kept_masks[kind]

    @classmethod
    def new(cls, config: Any) -> SharedSourceCache:
        """An empty one that grows."""
        return cls.of(EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config)))

    @classmethod
    def of(cls, cache: Cache) -> SharedSourceCache:
        """The same keys and values in this form.

        Raises:
            ValueError: `cache` is not an encoder-decoder's.
        """
        if isinstance(cache, cls):
            return cache
        if not isinstance(cache, EncoderDecoderCache):
            raise ValueError(
                f"cache is a {type(cache).__name__}; an encoder-decoder wants an EncoderDecoderCache of two caches, "
                "for the words written and for the source"
            )
        own = cache.self_attention_cache
        empty = all(type(layer) is DynamicLayer and not layer.is_initialized for layer in own.layers)
        if type(own) is DynamicCache and not own.offloading and empty:
            own.layers = [GrowingLayer() for _ in own.layers]
        shared = cls(own, cache.cross_attention_cache)
        shared.is_updated = cache.is_updated
        return shared

    @property
    def has_source(self) -> bool:
        """Whether the source's keys and values are here, so that its states are not needed any more."""
        return bool(self.is_updated) and all(self.is_updated.values())

    @property
    def rows(self) -> int:
        """N = B K, 0 while empty."""
        return _rows(self.self_attention_cache)

    @property
    def sources(self) -> int:
        """B, 0 while empty."""
        return _rows(self.cross_attention_cache)

    @property
    def hypotheses_per_source(self) -> int:
        """K."""
        return self.rows // self.sources if self.sources else 1

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Row i becomes what row beam_idx[i] was. Sources move only if a row leaves its source."""
        if not self.rows:
            return
        rows = torch.arange(self.rows, device=beam_idx.device)
        if torch.equal(beam_idx, rows):
            return
        width = self.hypotheses_per_source
        if beam_idx.shape != rows.shape or not torch.equal(beam_idx // width, rows // width):
            self._select_sources(beam_idx // width)
        if beam_idx.shape != rows.shape:
            reorder(self.self_attention_cache, beam_idx)
            return
        self.move_hypotheses(beam_idx)

    def move_hypotheses(self, rows: Tensor) -> None:
        """Row i becomes what row rows[i] was, a row of the same source. No number is read back from a device."""
        moved = torch.arange(len(rows), device=rows.device)
        if rows.device.type == "cpu":  # where it costs nothing to know which rows stay
            moved = (rows != moved).nonzero()[:, 0]
        origins = rows[moved]
        for layer in self.self_attention_cache.layers:
            if isinstance(layer, GrowingLayer):
                layer.move_rows(moved, origins)
            else:
                reorder(layer, rows)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row becomes `repeats` rows of the same source."""
        self.check_dynamic_cache(self.batch_repeat_interleave.__name__)
        self.self_attention_cache.batch_repeat_interleave(repeats)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows `indices`."""
        self.check_dynamic_cache(self.batch_select_indices.__name__)
        rows = torch.arange(self.rows, device=indices.device)[indices]
        self._select_sources(rows // self.hypotheses_per_source)
        self.self_attention_cache.batch_select_indices(rows)

    @property
    def can_keep_sources(self) -> bool:
        """Whether rows can leave: not from tensors of a fixed shape."""
        caches = (self.self_attention_cache, self.cross_attention_cache)
        return all(type(layer) in (DynamicLayer, GrowingLayer) for cache in caches for layer in cache.layers)

    def keep_sources(self, sources: Tensor) -> None:
        """Keep the sources of these numbers with all their hypotheses."""
        rows = rows_of_sources(sources, self.hypotheses_per_source)
        self._select_sources(sources)
        self.self_attention_cache.batch_select_indices(rows)

    def _select_sources(self, sources: Tensor) -> None:
        reorder(self.cross_attention_cache, sources)
        self._kept_masks.clear()
        if self.source_mask is not None:
            self.source_mask = self.source_mask.index_select(0, sources.to(self.source_mask.device))

    def reset(self) -> None:
        super().reset()
        self.source_mask = None
        self._kept_masks.clear()


def _rows(cache: Cache) -> int:
    for layer in cache.layers:
        keys = getattr(layer, "keys", None)  # those of linear attention have none
        if keys is not None and keys.ndim > 1:  # cropped to no word it still has rows
            return keys.shape[0]
    return 0
