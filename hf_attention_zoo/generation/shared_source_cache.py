"""The cache of an encoder-decoder whose beams share their source.

Generation in transformers copies a source's keys and values for every beam, and all rows of the cache whenever beams
change places. Here the source's stand once, and moving beams moves only the rows that really change.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache


class SharedSourceCache(EncoderDecoderCache):
    """An `EncoderDecoderCache` with B rows of source keys and values for B K rows of hypotheses.

    Attributes:
        source_mask: (B, S) bool, true at the source's tokens; set by the first pass through the decoder.
    """

    def __init__(self, *caches: Any) -> None:
        super().__init__(*caches)
        self.source_mask: Tensor | None = None

    @classmethod
    def new(cls, config: Any) -> SharedSourceCache:
        """An empty one that grows."""
        return cls(DynamicCache(config=config), DynamicCache(config=config))

    @classmethod
    def of(cls, cache: Cache) -> Cache:
        """The same keys and values, in this form where `cache` is an encoder-decoder's."""
        if isinstance(cache, cls) or not isinstance(cache, EncoderDecoderCache):
            return cache
        shared = cls(cache.self_attention_cache, cache.cross_attention_cache)
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
        self.self_attention_cache.reorder_cache(beam_idx)

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

    def _select_sources(self, sources: Tensor) -> None:
        self.cross_attention_cache.reorder_cache(sources)
        if self.source_mask is not None:
            self.source_mask = self.source_mask.index_select(0, sources.to(self.source_mask.device))

    def reset(self) -> None:
        super().reset()
        self.source_mask = None


def _rows(cache: Cache) -> int:
    for layer in cache.layers:
        if layer.is_initialized and layer.keys is not None and layer.keys.numel():
            return layer.keys.shape[0]
    return 0
