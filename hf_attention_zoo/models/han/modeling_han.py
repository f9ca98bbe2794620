"""Hierarchical attention networks for document classification.

Yang, Yang, Dyer, He, Smola and Hovy, NAACL-HLT 2016 (ACL N16-1174). Where the equations are:

    h = (1 - z) h' + z candidate                  Eq. 1-4   GatedUnit: resets after the product, z = 1 takes the new
    h_it = [forward; backward]                    2.2       PackedBidirectionalEncoder
    u_it, alpha_it, s_i                           Eq. 5-7   ContextVectorAttention of the words
    u_i, alpha_i, v                               Eq. 8-10  ContextVectorAttention of the sentences
    p = softmax(W_c v + b_c), the loss            Eq. 11-12 HANForSequenceClassification
    HN-AVE, HN-MAX                                3.2       RaggedMean, RaggedMax

Only words and sentences are computed, never a pad: the words of all sentences stand one after the other, then the
vectors of all sentences that have a word do. So an empty sentence, wherever it stands, is no sentence, and an empty
document has v = 0.

Shapes: B documents, S sentences and T words as padded; R real sentences and N real words of the whole batch, E
embedding, M = 2 hidden_size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling, SequenceClassifierOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.attention.ragged_pooling import ContextVectorAttention, RaggedMax, RaggedMean
from hf_attention_zoo.losses.classification_loss import classification_loss
from hf_attention_zoo.models.han.configuration_han import HANConfig
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.model_inputs import one_of
from hf_attention_zoo.parts.text_inputs import real_tokens, wanted_outputs
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.gated_initialisation import initialise_gated_
from hf_attention_zoo.recurrent.gated_unit import GatedUnit
from hf_attention_zoo.recurrent.packed_reading import PackedBidirectionalEncoder, pack_rows


class HANPreTrainedModel(PreTrainedModel):
    """Initialisation, which the paper leaves open, and what transformers needs to know."""

    config: HANConfig
    config_class = HANConfig
    base_model_prefix = "model"
    _no_split_modules = ["HANLevel"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Recurrent matrices: random orthogonal; biases: 0; the rest, context vectors too: N(0, range^2)."""
        initialise_gated_(module, self.config.initializer_range)


class LevelOutput(NamedTuple):
    """What a level makes of its rows."""

    pooled: Tensor  # (rows, M)  s_i, or v
    annotations: Tensor  # (tokens, M)  h
    weights: Tensor | None  # (tokens)  alpha; None for the maximum


class HANLevel(nn.Module):
    """Words become sentence vectors, or sentences document vectors: a bidirectional GRU and a pooling."""

    def __init__(self, config: HANConfig, input_size: int) -> None:
        super().__init__()
        self.reader = PackedBidirectionalEncoder(
            *(
                GatedUnit(input_size, config.hidden_size, reset="after", update="new", reset_bias=False)
                for _ in range(2)
            )
        )
        annotation_size = 2 * config.hidden_size
        self.pooling = (
            ContextVectorAttention(annotation_size, config.attention_size)
            if config.pooling == "attention"
            else {"average": RaggedMean, "max": RaggedMax}[config.pooling]()
        )

    def forward(self, vectors: Tensor, lengths: Tensor, token: Tensor | None = None) -> LevelOutput:
        """Rows of `lengths` tokens, one after the other, none of them empty.

        Args:
            vectors: (tokens, I), or (U, I) of which token n is `token[n]`.
            lengths: (rows) tokens of each row.
        """
        rows = pack_rows(lengths)
        annotations = self.reader(vectors, rows, token)
        pooled, weights = self.pooling(annotations, rows.lengths, rows.starts)
        return LevelOutput(pooled, annotations, weights)


class HANModel(HANPreTrainedModel):
    """Document vectors: words, sentences, document (Sections 2.1 and 2.2)."""

    def __init__(self, config: HANConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # W_e
        self.words = HANLevel(config, config.embedding_size)
        self.sentences = HANLevel(config, 2 * config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Read documents.

        Args:
            input_ids: (B, S, T) words.
            attention_mask: (B, S, T), non-zero at words; by default all ids but `pad_token_id` are words. A sentence
                without a word, wherever it stands, does not count, nor do pads inside a sentence.
            inputs_embeds: (B, S, T, E) in place of ids.
            output_attentions: return the weights of words (B, S, T), which sum to 1 within each sentence that has a
                word, and of sentences (B, S), which sum to 1 within each document that has a sentence; 0 elsewhere.
            output_hidden_states: return embedded words (B, S, T, E) and annotations of words (B, S, T, M) and
                sentences (B, S, M), 0 at pads.

        Returns:
            `pooler_output` (B, M), document vectors, and `last_hidden_state` (B, S, M), annotations of sentences.

        Raises:
            ValueError: ids or mask of another shape, or weights of a pooling that has none.
        """
        given = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        output_attentions, output_hidden_states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        if output_attentions and self.config.pooling == "max":
            raise ValueError("pooling='max' gives no weights to words or sentences; ask for no output_attentions")
        mask = word_mask(input_ids, attention_mask, inputs_embeds, self.config.pad_token_id)  # (B, S, T)
        words_in = mask.sum(-1)  # (B, S)
        real_sentence = words_in > 0
        sentences_in = real_sentence.sum(-1)  # (B)
        real_document = sentences_in > 0

        if inputs_embeds is not None:
            vectors, token = self.dropout(inputs_embeds[mask]), None  # (N, E)
        elif self.embed_tokens._forward_hooks:  # hooks, such as NEFTune's noise, are written for (rows, positions, E)
            embedded = self.embed_tokens(given.flatten(1))  # (B, S T, E)
            vectors, token = self.dropout(embedded[mask.flatten(1)]), None
        elif self.training and self.config.dropout > 0:
            vectors, token = self.dropout(self.embed_tokens(given[mask])), None
        else:  # each distinct word once
            distinct, token = torch.unique(given[mask], return_inverse=True)
            vectors = self.embed_tokens(distinct)  # (U, E)
        if output_hidden_states:  # a part of the computation, so that gradients reach them
            embedded = placed(vectors if token is None else vectors[token], mask)
            vectors, token = embedded[mask], None
        words = self.words(vectors, words_in[real_sentence], token)
        sentences = self.sentences(self.dropout(words.pooled), sentences_in[real_document])

        hidden_states = attentions = None
        annotations = placed(sentences.annotations, real_sentence)  # (B, S, M)
        if output_hidden_states:
            hidden_states = (embedded, placed(words.annotations, mask), annotations)
        if output_attentions:
            attentions = (placed(words.weights, mask), placed(sentences.weights, real_sentence))
        return BaseModelOutputWithPooling(
            last_hidden_state=annotations,
            pooler_output=placed(sentences.pooled, real_document),  # v, (B, M)
            hidden_states=hidden_states,
            attentions=attentions,
        )


class HANForSequenceClassification(HANPreTrainedModel):
    """HAN with its output layer p = softmax(W_c v + b_c) (Eq. 11), for one label, several labels or numbers."""

    def __init__(self, config: HANConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = HANModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(2 * config.hidden_size, number_of_labels(config))  # W_c, b_c
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Logits (B, num_labels) and, with labels, the loss (Eq. 12, as a mean); the rest as in `HANModel.forward`.

        Args:
            labels: (B) integers, or floats (B) or (B, num_labels) for the other values of `config.problem_type`.
        """
        read = self.model(
            input_ids,
            attention_mask,
            inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self.classifier(self.dropout(read.pooler_output))
        loss = None if labels is None else classification_loss(self, logits, labels, **kwargs)
        return SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=read.hidden_states, attentions=read.attentions
        )


def word_mask(
    input_ids: Tensor | None, attention_mask: Tensor | None, inputs_embeds: Tensor | None, pad_token_id: int | None
) -> Tensor:
    """True at the words of a batch of documents, (B, S, T).

    Raises:
        ValueError: if the batch is no grid of documents, sentences and words, or the mask is none of its shape.
    """
    given = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
    shape = given.shape if inputs_embeds is None else given.shape[:-1]
    if len(shape) != 3 or not shape[0]:
        raise ValueError(
            f"the words have shape {tuple(shape)}; HAN reads (documents, sentences, words) with at least one "
            "document: encode texts with HierarchicalTokenizer, which splits them into sentences"
        )
    if attention_mask is not None and attention_mask.shape != shape:
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}, the words {tuple(shape)}; give it 1 at words "
            "and 0 at pads"
        )
    return real_tokens(input_ids, attention_mask, inputs_embeds, pad_token_id)


def placed(values: Tensor, real: Tensor) -> Tensor:
    """Values (count, ...) at the true positions of `real`, 0 elsewhere: (*real.shape, ...)."""
    return values.new_zeros(*real.shape, *values.shape[1:]).index_put((real,), values)
