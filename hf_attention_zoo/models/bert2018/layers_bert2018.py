"""The parts of BERT (Devlin et al. 2018): embeddings, layers, pooler, and the head that predicts hidden words.

Shapes: B rows, T positions, R real tokens, H hidden size.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN

from hf_attention_zoo.attention.packing import Packing
from hf_attention_zoo.models.bert2018.configuration_bert2018 import BERT2018Config
from hf_attention_zoo.parts.post_norm_layers import FeedForward, PostNormLayer, SelfAttention
from hf_attention_zoo.parts.text_inputs import last_token
from hf_attention_zoo.parts.token_table import token_table


class BERT2018Embeddings(nn.Module):
    """h^0 = Dropout(LayerNorm(E_tok[x] + E_seg[s] + E_pos[0, ..., T - 1]))   (Section 3.2)."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__()
        self.embed_tokens = token_table(config.vocab_size, config.hidden_size)
        self.embed_positions = token_table(config.max_position_embeddings, config.hidden_size, "positions")
        self.embed_segments = token_table(config.type_vocab_size, config.hidden_size, "segments (token_type_ids)")
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        input_ids: Tensor | None,
        inputs_embeds: Tensor | None,
        segments: Tensor | None,
        positions: Tensor,
        packing: Packing | None = None,
    ) -> Tensor:
        """Ids (B, T) or word vectors (B, T, H), segments (B, T) and positions (B or 1, T) -> (B, T, H) or (R, H)."""
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        if packing is not None:
            words = packing.pack(words)
            positions = packing.select(positions.expand(packing.rows, -1))
            segments = None if segments is None else packing.select(segments)
        types = self.embed_segments(positions.new_zeros(1) if segments is None else segments)
        return self.dropout(self.norm(words + types + self.embed_positions(positions)))


def bert_layer(config: BERT2018Config, layer_idx: int) -> PostNormLayer:
    """One of the L layers."""
    size, dropout = config.hidden_size, config.hidden_dropout_prob
    heads, weights_dropout = config.num_attention_heads, config.attention_probs_dropout_prob
    attention = SelfAttention(config, layer_idx, size, heads, weights_dropout, config.left_to_right)
    feed_forward = FeedForward(size, config.intermediate_size, ACT2FN[config.hidden_act])
    return PostNormLayer(attention, feed_forward, config.layer_norm_eps, dropout)


class BERT2018Pooler(nn.Module):
    """c = tanh(W_p h^L_[CLS] + b_p): (B, T, H) -> (B, H); with `left_to_right` of the last token, which sees all."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.at_end = config.left_to_right

    def forward(self, states: Tensor, real: Tensor | None = None, tokens_first: bool = True) -> Tensor:
        """`real` (B, T) is where tokens stand; `tokens_first`: that of every row begins at position 0."""
        if self.at_end:
            place = last_token(real, states.shape[:2], states.device)
        elif real is None or tokens_first:
            return self.dense(states[:, 0]).tanh()
        else:
            place = real.to(torch.int32).argmax(1)
        return self.dense(states.gather(1, place[:, None, None].expand(-1, 1, states.shape[-1]))[:, 0]).tanh()


class WordTransform(nn.Module):
    """z = LayerNorm(gelu(W_t h + b_t)), which the word table then scores."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.act = ACT2FN[config.hidden_act]
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def forward(self, states: Tensor) -> Tensor:
        return self.norm(self.act(self.dense(states)))


class TaskLayer(nn.Module):
    """A task's one new layer: Dropout, then W h + b   (Section 3.5)."""

    def __init__(self, config: BERT2018Config, outputs: int, bias: bool = True) -> None:
        super().__init__()
        chosen = config.classifier_dropout
        self.dropout = nn.Dropout(config.hidden_dropout_prob if chosen is None else chosen)
        self.linear = nn.Linear(config.hidden_size, outputs, bias)

    def forward(self, states: Tensor) -> Tensor:
        return self.linear(self.dropout(states))
