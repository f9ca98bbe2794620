"""One step of a search: the decoder's layers for the next word of every hypothesis, in as few calls as they have.

Fast twin of `layers_transformer2017.DecoderLayer` where a search asks for one word a hypothesis, no weights and no
gradients. Queries, keys and values of the words are one product, and weights are laid out once
(`loops/packed_products.py`). Shapes: B sources, K hypotheses of each, N = B K rows, T words so far, S source
positions, D model size, h heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import layer_norm, scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from hf_attention_zoo.loops.may_run import is_at_rest, twin_may_run
from hf_attention_zoo.loops.packed_products import Product, product
from hf_attention_zoo.models.transformer2017.layers_transformer2017 import DecoderLayer, Transformer2017Attention
from hf_attention_zoo.parts.post_norm_layers import FeedForward, Residual
from hf_attention_zoo.seq2seq.shared_source_cache import SharedSourceCache

# What a layer consists of, each by its very type.
PARTS = {DecoderLayer, Transformer2017Attention, FeedForward, Residual, nn.LayerNorm, nn.Dropout, nn.ReLU, nn.Linear}


def may_step(layers: nn.ModuleList, kernel: str) -> bool:
    """Whether the twin computes what these layers do.

    Args:
        layers: of the decoder.
        kernel: of attention, by its name in transformers.
    """
    if kernel != "sdpa" or ALL_ATTENTION_FUNCTIONS["sdpa"] is not sdpa_attention_forward:
        return False
    if not isinstance(layers, nn.ModuleList) or any(getattr(layer, "gradient_checkpointing", 0) for layer in layers):
        return False
    parts = [part for layer in layers for part in layer.modules()]
    weight = next(layers.parameters(), None)
    if weight is None or any("attend" in vars(part) for part in parts):
        return False
    return twin_may_run() and is_at_rest(parts, PARTS, weight.device)


def residual(part: Residual) -> Callable[[Tensor, Tensor], Tensor]:
    """(x, f(x)) -> LayerNorm(x + f(x))."""
    norm = part.norm
    shape, weight, bias, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda states, change: layer_norm(states.add(change), shape, weight, bias, eps)


class LayerStep:
    """A layer for one word of each hypothesis.

    Args:
        layer: of the decoder, not to change while the search lasts.
        rows: N at first.
    """

    def __init__(self, layer: DecoderLayer, rows: int) -> None:
        own, cross, inner = layer.self_attention, layer.cross_attention, layer.feed_forward
        self.index = layer.layer_idx
        self.heads, self.key_size, self.value_size, self.scaling = own.heads, own.key_size, own.value_size, own.scaling
        self.source_heads, self.source_scaling = cross.heads, cross.scaling
        self.sizes = (own.q_proj.out_features, own.k_proj.out_features, own.v_proj.out_features)
        projections = (own.q_proj, own.k_proj, own.v_proj)  # W^Q, W^K, W^V
        self.project = product([each.weight for each in projections], [each.bias for each in projections], rows)
        self.mix, self.query, self.mix_source, self.inner, self.outer = (
            product([each.weight], [each.bias], rows)
            for each in (own.o_proj, cross.q_proj, cross.o_proj, inner.linear_1, inner.linear_2)
        )
        self.act: Product = inner.act
        self.after_own, self.after_cross, self.after_inner = (
            residual(part)
            for part in (layer.self_attention_residual, layer.cross_attention_residual, layer.feed_forward_residual)
        )

    def __call__(self, states: Tensor, cache: SharedSourceCache, source_mask: Tensor | None) -> Tensor:
        """States (N, D) and a mask for (B, h, K, S) -> (N, D); keys and values of the words join the cache."""
        rows = states.shape[0]
        query, key, value = self.project(states).split(self.sizes, 1)
        keys, values = cache.self_attention_cache.update(
            key.view(rows, self.heads, 1, self.key_size), value.view(rows, self.heads, 1, self.value_size), self.index
        )  # (N, h, T, d) each
        query = query.view(rows, self.heads, 1, self.key_size)
        mixed = scaled_dot_product_attention(query, keys, values, scale=self.scaling)  # (N, h, 1, d_v)
        states = self.after_own(states, self.mix(mixed.reshape(rows, -1)))

        source: Any = cache.cross_attention_cache.layers[self.index]
        keys, values = source.keys, source.values  # (B, h, S, d) each
        query = self.query(states).view(keys.shape[0], -1, self.source_heads, keys.shape[-1])
        query = query.transpose(1, 2)  # (B, h, K, d_k)
        mixed = scaled_dot_product_attention(query, keys, values, attn_mask=source_mask, scale=self.source_scaling)
        states = self.after_cross(states, self.mix_source(mixed.transpose(1, 2).reshape(rows, -1)))
        return self.after_inner(states, self.outer(self.act(self.inner(states))))


def layer_steps(layers: Iterable[Any], rows: int) -> list[LayerStep]:
    """The steps of all layers, their weights laid out now.

    Args:
        layers: of the decoder.
        rows: N.
    """
    return [LayerStep(layer, rows) for layer in layers]
