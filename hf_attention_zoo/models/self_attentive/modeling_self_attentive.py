"""A structured self-attentive sentence embedding: a matrix for each text, read by several hops of attention.

Lin, Feng, dos Santos, Yu, Xiang, Zhou and Bengio, ICLR 2017 (arXiv 1703.03130). Where the equations are:

    h_t = [forward; backward]                     Eq. 2-4      BidirectionalLSTM
    A = softmax(W_s2 tanh(W_s1 H^T))              Eq. 6        StructuredSelfAttention
    M = A H                                       Eq. 7        Attention.forward
    P = ||A A^T - I||_F^2                         Eq. 8        hop_penalty
    loss = cross entropy + coefficient mean P     Section 2.2  SelfAttentiveForSequenceClassification
    W_2 relu(W_1 vec(M) + b_1) + b_2              Section 4.1  FullConnection
    Mv, Mh                                        Appendix A   PrunedConnection
    F_r = (M_h W_fh) * (M_p W_fp)                 Appendix B   GatedEncoder

Two texts of a pair stand in one row of ids; `token_type_ids` are 1 at the tokens of the second. Each text is read on
its own. A text without tokens has A = 0 and M = 0, and no part in the mean of P.

Shapes: B rows, S padded positions, K texts a row (2 with `sentence_pairs`, else 1), E embedding, U = 2 hidden_size,
R hops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import ModelOutput
from transformers.utils import can_return_tuple, logging

from hf_attention_zoo.attention.structured import (
    BatchedDot,
    PrunedConnection,
    StructuredSelfAttention,
    hop_penalty,
)
from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.losses.classification_loss import classification_loss, label_share
from hf_attention_zoo.models.self_attentive.configuration_self_attentive import SelfAttentiveConfig
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.model_inputs import one_of
from hf_attention_zoo.parts.text_inputs import real_tokens, wanted_outputs
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.bidirectional_lstm import BidirectionalLSTM, DirectedLSTM

logger = logging.get_logger(__name__)


@dataclass
class SelfAttentiveModelOutput(ModelOutput):
    """The embedding of each text.

    Attributes:
        last_hidden_state: M (B, R, U) of the only text or of the first one.
        second_hidden_state: M (B, R, U) of the second text, in a model of pairs.
        hidden_states: embedded words (B, S, E) and states H (B, S, U), zero at pads.
        attentions: A of each text, (B, R, 1, S): hops in the place of heads, zero outside the text.
        pooler_output: vec(M) (B, R U) of the only text or of the first one, one row of M after the other.
    """

    last_hidden_state: Tensor | None = None
    second_hidden_state: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None
    pooler_output: Tensor | None = None


@dataclass
class SelfAttentiveClassifierOutput(ModelOutput):
    """Scores of the labels.

    Attributes:
        loss: with labels, that of the labels and `penalty_coefficient` times the penalty.
        logits: (B, num_labels).
        penalty: with labels, P of each row (B), added up over the texts of a pair and not weighted.
        hidden_states, attentions: as in `SelfAttentiveModelOutput`.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    penalty: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class SelfAttentivePreTrainedModel(PreTrainedModel):
    """Initialisation, which the paper leaves open, and what transformers needs to know."""

    config: SelfAttentiveConfig
    config_class = SelfAttentiveConfig
    base_model_prefix = "model"
    _no_split_modules = ["BidirectionalLSTM"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Embeddings and LSTM: N(0, range^2); other weights: Glorot-uniform, each matrix on its own; biases: 0."""
        wide = isinstance(module, (nn.Embedding, DirectedLSTM))
        for name, parameter in module.named_parameters(recurse=False):
            if "bias" in name:
                init.zeros_(parameter)
            elif wide:
                init.normal_(parameter, std=self.config.initializer_range)
            else:
                reach = (6 / sum(parameter.shape[-2:])) ** 0.5
                init.uniform_(parameter, -reach, reach)


class SelfAttentiveModel(SelfAttentivePreTrainedModel):
    """Texts as matrices (Section 2.1): BiLSTM and structured self-attention."""

    _keys_to_ignore_on_load_unexpected = [r"^(gated|connection|classifier)\."]  # of a checkpoint with labels

    def __init__(self, config: SelfAttentiveConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)
        self.lstm = BidirectionalLSTM(config.embedding_size, config.hidden_size)
        self.attention = StructuredSelfAttention(2 * config.hidden_size, config.attention_size, config.num_hops)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> SelfAttentiveModelOutput:
        """Embed texts.

        Args:
            input_ids: (B, S).
            attention_mask: (B, S), non-zero at tokens, wherever pads stand; by default all ids but `pad_token_id`
                are tokens.
            token_type_ids: (B, S), 1 at the tokens of a second text; by default there is none.
            inputs_embeds: (B, S, E) in place of ids.

        Raises:
            ValueError: ids, mask or types of another shape, or a second text for a model of single texts.
        """
        one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        output_attentions, output_hidden_states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        masks = self.text_masks(input_ids, attention_mask, token_type_ids, inputs_embeds)  # (K, B, S)
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        states = self.lstm(self.dropout(embedded), masks)  # H, (B, S, U)

        source = self.attention.prepare(states, masks[0])
        matrices, annotations = [], []
        for mask in masks:  # both texts of a pair are scored by the same keys
            source = type(source)(source.values, source.keys, mask)
            matrix, annotation = self.attention(source)  # M (B, R, U), A (B, R, S)
            matrices.append(matrix)
            annotations.append(annotation[:, :, None])
        return SelfAttentiveModelOutput(
            last_hidden_state=matrices[0],
            second_hidden_state=matrices[1] if len(matrices) > 1 else None,
            hidden_states=(embedded, states) if output_hidden_states else None,
            attentions=tuple(annotations) if output_attentions else None,
            pooler_output=matrices[0].flatten(1),
        )

    def text_masks(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        token_type_ids: Tensor | None,
        inputs_embeds: Tensor | None,
    ) -> Tensor:
        """Which positions belong to which text: (K, B, S), boolean."""
        given = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        shape = given.shape if inputs_embeds is None else given.shape[:-1]
        if len(shape) != 2 or not shape[0]:
            raise ValueError(f"the texts have shape {tuple(shape)}; give (rows, positions) with at least one row")
        for name, tensor in (("attention_mask", attention_mask), ("token_type_ids", token_type_ids)):
            if tensor is not None and tensor.shape != shape:
                raise ValueError(f"{name} has shape {tuple(tensor.shape)}, the texts {tuple(shape)}; they must agree")
        real = real_tokens(input_ids, attention_mask, inputs_embeds, self.config.pad_token_id)
        second = torch.zeros_like(real) if token_type_ids is None else real & token_type_ids.bool()
        if self.config.sentence_pairs:
            return torch.stack([real & ~second, second])
        if token_type_ids is not None and not is_recorded() and bool(second.any()):
            raise ValueError(
                "token_type_ids mark a second text, but this model was made for single texts; give one text a row, or "
                "make the model with sentence_pairs=True"
            )
        return real[None]


class GatedEncoder(nn.Module):
    """F_r = F_h * F_p with F_h = M_h W_fh and F_p = M_p W_fp, each row with its own matrices (Appendix B, Eq. 10-12).

    The first text of a pair is the premise, the second the hypothesis.
    """

    def __init__(self, config: SelfAttentiveConfig) -> None:
        super().__init__()
        self.premise = BatchedDot(config.num_hops, 2 * config.hidden_size, config.gated_size)
        self.hypothesis = BatchedDot(config.num_hops, 2 * config.hidden_size, config.gated_size)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Two (B, R, U) -> (B, R, k)."""
        return self.hypothesis(second) * self.premise(first)


class FullConnection(nn.Module):
    """relu(W_1 vec(M) + b_1); vec puts one row of M after the other: (B, R, columns) -> (B, b)."""

    def __init__(self, rows: int, columns: int, output_size: int) -> None:
        super().__init__()
        self.output_size = output_size
        self.linear = nn.Linear(rows * columns, output_size)

    def forward(self, matrices: Tensor) -> Tensor:
        return torch.relu(self.linear(matrices.flatten(1)))


class SelfAttentiveForSequenceClassification(SelfAttentivePreTrainedModel):
    """Labels of single texts or of pairs, from their embedding matrices; with labels, the loss includes the penalty.

    Trainer's label smoothing computes a loss of its own, without the penalty.
    """

    def __init__(self, config: SelfAttentiveConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = SelfAttentiveModel(config)
        self.gated = GatedEncoder(config) if config.sentence_pairs else None
        columns = config.gated_size if config.sentence_pairs else 2 * config.hidden_size
        self.connection = (
            FullConnection(config.num_hops, columns, config.classifier_size)
            if config.connection == "full"
            else PrunedConnection(config.num_hops, columns, config.row_group_size, config.column_group_size)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(self.connection.output_size, number_of_labels(config))  # W_2, b_2
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SelfAttentiveClassifierOutput:
        """Logits and, with labels, the loss; the rest as in `SelfAttentiveModel.forward`.

        Args:
            labels: (B) integers, or floats (B) or (B, num_labels) for the other values of `config.problem_type`.
            num_items_in_batch: labels of the whole batch that this one is a part of; both losses become its share.
        """
        wanted = self.config.output_attentions if output_attentions is None else output_attentions
        read = self.model(
            input_ids,
            attention_mask,
            token_type_ids,
            inputs_embeds,
            output_attentions=wanted or labels is not None,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        matrix = read.last_hidden_state
        if self.gated is not None:
            if token_type_ids is None or not (is_recorded() or bool(token_type_ids.any())):
                logger.warning_once(
                    "this model compares two texts, but token_type_ids mark no second one; encode pairs as "
                    "tokenizer(text, text_pair), and give a pipeline {'text': ..., 'text_pair': ...}"
                )
            matrix = self.gated(matrix, read.second_hidden_state)
        logits = self.classifier(self.dropout(self.connection(matrix)))
        loss = penalty = None
        if labels is not None:
            loss = classification_loss(self, logits, labels, num_items_in_batch=num_items_in_batch, **kwargs)
            penalty, mean_penalty = self.penalties(read.attentions)
            share = label_share(labels, num_items_in_batch)
            loss = loss + self.config.penalty_coefficient * mean_penalty * share
        return SelfAttentiveClassifierOutput(
            loss=loss,
            logits=logits,
            penalty=penalty,
            hidden_states=read.hidden_states,
            attentions=read.attentions if wanted else None,
        )

    def penalties(self, attentions: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """P of each row (B), and its mean over texts that are not empty; the texts of a pair are added up."""
        squared = self.config.penalty_norm == "squared"
        rows, means = [], []
        for annotation in attentions:
            penalty = hop_penalty(annotation[:, :, 0], squared)  # (B)
            texts = annotation.detach().flatten(1).any(1).sum()
            rows.append(penalty)
            means.append(penalty.sum() / texts.clamp(min=1))
        return reduce(torch.add, rows), reduce(torch.add, means)
