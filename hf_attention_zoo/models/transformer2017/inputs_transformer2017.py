"""What goes into the Transformer: shapes of ids and masks, positions of tokens, one table for both sides."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.masking_utils import create_bidirectional_mask
from transformers.utils.generic import is_flash_attention_requested

from hf_attention_zoo.parts.model_inputs import check_vectors
from hf_attention_zoo.parts.text_inputs import with_kernel
from hf_attention_zoo.seq2seq.shared_source_cache import SharedSourceCache
from hf_attention_zoo.seq2seq.two_vocabularies import TwoVocabularies


class SharedTable(TwoVocabularies):
    """Resizing where source and target may have one table; put it before `PreTrainedModel` among the bases."""

    def resize_source_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        self._refuse_one_side()
        return super().resize_source_embeddings(*args, **kwargs)

    def resize_target_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        self._refuse_one_side()
        return super().resize_target_embeddings(*args, **kwargs)

    def _refuse_one_side(self) -> None:
        if self.config.share_encoder_decoder_embeddings:
            raise ValueError("source and target have one table; call resize_token_embeddings")

    def resize_token_embeddings(
        self, new_num_tokens: int | None = None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Embedding:
        """Resize both sides; returns the source table.

        Raises:
            ValueError: if there are two vocabularies of different sizes.
        """
        if not self.config.share_encoder_decoder_embeddings or new_num_tokens is pad_to_multiple_of is None:
            return super().resize_token_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        table = super().resize_target_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        self.get_encoder().embed_tokens = table
        self.config.vocab_size = self.config.decoder_vocab_size
        self.tie_weights()
        return table


def check_ids(side: str, ids: Tensor) -> None:
    """Ids of a side are (rows, positions) with at least one row and one position, or ValueError."""
    check_vectors(side, ids[..., None])


def cross_masking(config: Any) -> Any:
    """The config by which the source's mask is made: that of sdpa for flash kernels.

    transformers leaves out pads there by one mask for queries and keys, but target and source have their own.
    """
    return with_kernel(config, "sdpa") if is_flash_attention_requested(config) else config


def mask_of_source(masking: Any, queries: Tensor, source_mask: Tensor | None, cache: SharedSourceCache | None) -> Any:
    """The mask for a kernel, made once for all steps of a search.

    Args:
        masking: the config that names the kernel.
        queries: (B, K T, D), of which shape and type are read.
        source_mask: (B, S) bool, true at tokens; that of the cache comes first.
        cache: the decoder's state.
    """
    if cache is not None and cache.source_mask is not None:
        source_mask = cache.source_mask
    if source_mask is None:
        return None
    make = partial(create_bidirectional_mask, cross_masking(masking), queries, source_mask)
    return make() if cache is None else cache.kept_mask(masking, queries, make)


def target_mask(real: Tensor, vectors: Tensor, first: int | Tensor) -> Tensor:
    """A (N, words before and T) mask as it is, or ValueError if it has another shape."""
    rows, length = vectors.shape[:2]
    if not torch.compiler.is_compiling() and real.shape != (rows, int(first) + length):
        raise ValueError(
            f"decoder_attention_mask has shape {tuple(real.shape)}; give {(rows, int(first) + length)}: one row per "
            f"target, for the {int(first)} words in the cache and the {length} that are given"
        )
    return real
