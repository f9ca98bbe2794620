"""The layers of the Transformer (Vaswani et al. 2017, Section 3.1): each sub-layer is LayerNorm(x + f(x)).

Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows, S source and T target positions, D
model size, h heads.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers.activations import ACT2FN
from transformers.modeling_layers import GradientCheckpointingLayer

from hf_attention_zoo.attention.packing import Packing
from hf_attention_zoo.models.transformer2017.configuration_transformer2017 import Transformer2017Config
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.parts.post_norm_layers import FeedForward, InterfaceAttention, Residual
from hf_attention_zoo.seq2seq.shared_source_cache import SharedSourceCache


class Transformer2017Attention(InterfaceAttention):
    """Multi-head attention of the config's sizes."""

    def __init__(self, config: Transformer2017Config, layer_idx: int, is_self: bool, is_causal: bool = False) -> None:
        size, heads, key, value = (
            config.hidden_size,
            config.num_attention_heads,
            config.head_dim,
            config.value_head_dim,
        )
        bias, dropout = config.attention_bias, config.attention_dropout
        super().__init__(config, layer_idx, size, heads, key, value, bias, dropout, is_causal)
        queries, memory = heads * self.key_size, heads * (self.key_size + self.value_size)
        fused = memory + (queries if is_self else 0)  # what the authors' code draws as one matrix
        fan_out = {self.k_proj: fused, self.v_proj: fused, self.q_proj: fused if is_self else queries}
        for projection, width in fan_out.items():
            vars(projection)["fan_out"] = width


def feed_forward(config: Transformer2017Config) -> FeedForward:
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2   (Eq. 2)."""
    act = ACT2FN[config.hidden_act]
    return FeedForward(config.hidden_size, config.intermediate_size, act, config.activation_dropout)


def residual(config: Transformer2017Config) -> Residual:
    """LayerNorm(x + Dropout(Sublayer(x)))   (Section 3.1, 5.4)."""
    return Residual(config.hidden_size, config.layer_norm_eps, config.dropout)


class EncoderLayer(GradientCheckpointingLayer):
    """Self-attention, then the feed-forward layer."""

    def __init__(self, config: Transformer2017Config, layer_idx: int) -> None:
        super().__init__()
        self.self_attention = Transformer2017Attention(config, layer_idx, is_self=True)
        self.self_attention_residual = residual(config)
        self.feed_forward = feed_forward(config)
        self.feed_forward_residual = residual(config)

    def forward(
        self, states: Tensor, mask: Tensor | None, with_weights: bool = False, packing: Packing | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """(B, S, D) -> (B, S, D) and, on request, weights (B, h, S, S). Packed states, (R, D), stay packed."""
        keys, values = self.self_attention.project_memory(states, packing)
        mixed, weights = self.self_attention(states, keys, values, mask, with_weights, packing)
        states = self.self_attention_residual(states, mixed)
        return self.feed_forward_residual(states, self.feed_forward(states)), weights


class DecoderLayer(GradientCheckpointingLayer):
    """Masked self-attention, attention to the source, then the feed-forward layer."""

    def __init__(self, config: Transformer2017Config, layer_idx: int) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.self_attention = Transformer2017Attention(config, layer_idx, is_self=True, is_causal=True)
        self.self_attention_residual = residual(config)
        self.cross_attention = Transformer2017Attention(config, layer_idx, is_self=False)
        self.cross_attention_residual = residual(config)
        self.feed_forward = feed_forward(config)
        self.feed_forward_residual = residual(config)

    def forward(
        self,
        states: Tensor,
        source: Tensor | None,
        mask: Tensor | None,
        source_mask: Tensor | None,
        with_weights: bool = False,
        packing: Packing | None = None,
        source_packing: Packing | None = None,
        cache: SharedSourceCache | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """(N, T, D) states and (B, S, D) source states -> (N, T, D) and, on request, both kinds of weights.

        The source is read only if the cache has no keys and values of it yet. Each side may be packed.
        """
        keys, values = self.self_attention.project_memory(states, packing)
        if cache is not None:
            keys, values = cache.self_attention_cache.update(keys, values, self.layer_idx)
        mixed, self_weights = self.self_attention(states, keys, values, mask, with_weights, packing)
        states = self.self_attention_residual(states, mixed)

        if cache is not None and cache.is_updated.get(self.layer_idx):
            kept: Any = cache.cross_attention_cache.layers[self.layer_idx]
            keys, values = kept.keys, kept.values
        else:
            memory = needed(source, "encoder_hidden_states", "give them, or a cache that holds the source")
            keys, values = self.cross_attention.project_memory(memory, source_packing)
            if cache is not None:
                keys, values = cache.cross_attention_cache.update(keys, values, self.layer_idx)
                cache.is_updated[self.layer_idx] = True
        mixed, cross_weights = self.cross_attention(states, keys, values, source_mask, with_weights, packing)
        states = self.cross_attention_residual(states, mixed)
        return self.feed_forward_residual(states, self.feed_forward(states)), self_weights, cross_weights
