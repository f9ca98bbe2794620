"""BERT: a Transformer encoder that is trained to predict hidden words and whether two texts belong together.

Devlin, Chang, Lee and Toutanova, 2018 (arXiv 1810.04805). Where the equations are:

    h^0 = Dropout(LN(E_tok + E_seg + E_pos))           Section 3.2    BERT2018Embeddings
    u = LN(h + Dropout(MultiHead(h)))                  Section 3.1    parts/post_norm_layers.py
    h' = LN(u + Dropout(W_2 gelu(W_1 u + b_1) + b_2))  Section 3.1    parts/post_norm_layers.py
    c = tanh(W_p h_[CLS] + b_p)                        Section 3.2    BERT2018Pooler
    z = LN(gelu(W_t h + b_t)), z E_tok^T + b_V         Section 3.3.1  WordTransform, lm_head
    W_n c + b_n                                        Section 3.3.2  next_sentence: 0 is the next text, 1 another
    loss = masked words + next sentence                Section 3.4    BERT2018ForPreTraining
    task layers                                        Sections 3.5, 4  TaskLayer

Pads on the right are not computed where that helps; their states are then zero. Positions count a row's tokens, so
that pads may stand on the left. Shapes: B rows, T positions, H hidden size, V words, C choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_outputs import (
    BaseModelOutputWithPooling,
    MaskedLMOutput,
    ModelOutput,
    MultipleChoiceModelOutput,
    NextSentencePredictorOutput,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils import can_return_tuple

from hf_attention_zoo.losses.classification_loss import classification_loss, label_share
from hf_attention_zoo.models.bert2018.configuration_bert2018 import BERT2018Config
from hf_attention_zoo.models.bert2018.layers_bert2018 import (
    BERT2018Embeddings,
    BERT2018Pooler,
    TaskLayer,
    WordTransform,
    bert_layer,
)
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.model_inputs import label_loss, one_of
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.parts.post_norm_layers import by_rows, packing_for, run_layers
from hf_attention_zoo.parts.text_inputs import (
    check_positions,
    check_same_shape,
    masking_config,
    text_shape,
    token_order,
    wanted_outputs,
)

TIED = {"lm_head.weight": "model.embeddings.embed_tokens.weight"}


@dataclass
class BERT2018PreTrainingOutput(ModelOutput):
    """Predictions of both pre-training tasks.

    Attributes:
        loss: the sum of the losses for which there are labels.
        prediction_logits: (B, T, V), or (n, V) of the n labelled positions; see `sparse_prediction`.
        seq_relationship_logits: (B, 2); column 0: the second text follows the first; 1: it is another.
        hidden_states, attentions: as of the body.
    """

    loss: Tensor | None = None
    prediction_logits: Tensor | None = None
    seq_relationship_logits: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class BERT2018PreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know."""

    config: BERT2018Config
    config_class = BERT2018Config
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["PostNormLayer", "BERT2018Embeddings"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _can_compile_fullgraph = True
    # Heads that a checkpoint has and another class does not: each task reads the body of any of them.
    _keys_to_ignore_on_load_unexpected = [r"^(transform|lm_head|next_sentence|task)\.", r"(^|\.)pooler\."]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """As the authors' code: normal, cut at two deviations; biases zero, norms the identity."""
        std = self.config.initializer_range
        if isinstance(module, (nn.Linear, nn.Embedding)):
            init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
        bias = getattr(module, "bias", None)
        if bias is not None:
            init.zeros_(bias)


class BERT2018Model(BERT2018PreTrainedModel):
    """Embeddings, layers and, unless `add_pooling_layer=False`, the pooler."""

    def __init__(self, config: BERT2018Config, add_pooling_layer: bool = True) -> None:
        super().__init__(config)
        self.embeddings = BERT2018Embeddings(config)
        self.layers = nn.ModuleList([bert_layer(config, index) for index in range(config.num_hidden_layers)])
        self.pooler = BERT2018Pooler(config) if add_pooling_layer else None
        self.gradient_checkpointing = False
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.embed_tokens

    def set_input_embeddings(self, value: Any) -> None:
        self.embeddings.embed_tokens = value

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """States (B, T, H) and the pooled state (B, H) of the first token, or of the last with `left_to_right`.

        Args:
            input_ids: (B, T), or `inputs_embeds` (B, T, H), rows of the word table.
            attention_mask: (B, T), 1 at tokens; pads may stand on either side. Without it all positions are tokens.
            token_type_ids: (B, T), the segment of each token; 0 if not given.
            position_ids: (B or 1, T); by default a row's tokens are counted from 0.
            output_attentions: give out the weights, (B, A, T, T) per layer; the plain kernel computes them.

        Raises:
            ValueError: inputs of other shapes, or more positions than there are.
        """
        shape = text_shape(input_ids, inputs_embeds)
        check_same_shape(shape, token_type_ids=token_type_ids, attention_mask=attention_mask)
        check_positions(shape[1], self.config.max_position_embeddings)
        with_weights, with_states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        real = None if attention_mask is None else attention_mask.bool()
        order = None if real is None else token_order(real)
        if position_ids is None:
            device = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds).device
            position_ids = torch.arange(shape[1], device=device)[None] if order is None else order
        packing = packing_for(self.config, real, with_weights, with_states)
        states = self.embeddings(input_ids, inputs_embeds, token_type_ids, position_ids, packing)
        mask = None
        if not by_rows(packing, states):
            make_mask = create_causal_mask if self.config.left_to_right else create_bidirectional_mask
            vectors = states if packing is None else states.new_empty(*shape, 1)  # only its shape and kind are read
            options = {"cache": None} if self.config.left_to_right else {}
            mask = make_mask(masking_config(self.config, with_weights), vectors, real, **options)
        states, seen, (weights,) = run_layers(self.layers, states, mask, with_weights, packing=packing)
        pooled = None if self.pooler is None else self.pooler(states, real, tokens_first=order is None)
        return BaseModelOutputWithPooling(
            last_hidden_state=states,
            pooler_output=pooled,
            hidden_states=seen if with_states else None,
            attentions=weights if with_weights else None,
        )


class LabelledHead(BERT2018PreTrainedModel):
    """A head that has labels of one kind: how the body is read; each class says what it predicts of that."""

    def predict(self, read: BaseModelOutputWithPooling, labels: Tensor | None, **kwargs: Any) -> ModelOutput:
        """Predictions and, with labels, their loss."""
        raise TypeError(f"{type(self).__name__} defines no prediction; subclass and write predict(read, labels)")

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> ModelOutput:
        """The predictions of this class, see its `predict`; the inputs are those of the body."""
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        read = self.model(*inputs, output_attentions, output_hidden_states, return_dict=True)
        return self.predict(read, labels, **kwargs)


class WordPrediction(BERT2018PreTrainedModel):
    """The head that predicts words, and its loss."""

    transform: nn.Module
    lm_head: nn.Module

    def word_logits(self, states: Tensor, labels: Tensor | None, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
        """(B, T, H) -> logits (B, T, V) and, with labels (B, T), the mean loss over those that are not -100."""
        if labels is None:
            return self.lm_head(self.transform(states)), None
        check_same_shape(states.shape[:2], labels=labels)
        sparse = self.training and self.config.sparse_prediction and not torch.compiler.is_compiling()
        if not sparse:
            logits = self.lm_head(self.transform(states))
            return logits, label_loss(self, logits, labels, **kwargs)
        chosen = (labels.flatten() != -100).nonzero()[:, 0]
        logits = self.lm_head(self.transform(states.flatten(0, 1).index_select(0, chosen)))  # (n, V)
        return logits, label_loss(self, logits[None], labels.flatten()[chosen][None], **kwargs)


class BERT2018ForMaskedLM(WordPrediction, LabelledHead):
    """Predicts hidden words (Section 3.3.1)."""

    _tied_weights_keys = TIED

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.model = BERT2018Model(config, add_pooling_layer=False)
        self.transform = WordTransform(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def predict(self, read: BaseModelOutputWithPooling, labels: Tensor | None, **kwargs: Any) -> MaskedLMOutput:
        """Word logits; `labels` (B, T) are the words at the predicted places and -100 elsewhere."""
        states = needed(read.last_hidden_state, "last_hidden_state", "words are predicted from the body's states")
        logits, loss = self.word_logits(states, labels, **kwargs)
        return MaskedLMOutput(loss, logits, read.hidden_states, read.attentions)


class BERT2018ForNextSentencePrediction(LabelledHead):
    """Tells whether the second text follows the first (Section 3.3.2)."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.model = BERT2018Model(config)
        self.next_sentence = nn.Linear(config.hidden_size, 2)
        self.post_init()

    def predict(
        self, read: BaseModelOutputWithPooling, labels: Tensor | None, **kwargs: Any
    ) -> NextSentencePredictorOutput:
        """Logits (B, 2); `labels` (B): 0 where the second text follows the first, 1 where it is another."""
        logits = self.next_sentence(read.pooler_output)
        loss = None if labels is None else label_loss(self, logits[None], labels.view(1, -1), **kwargs)
        return NextSentencePredictorOutput(loss, logits, read.hidden_states, read.attentions)


class BERT2018ForSequenceClassification(LabelledHead):
    """Labels, or numbers, of texts and of pairs of texts (Section 4.1): a layer on c."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.num_labels = number_of_labels(config)
        self.model = BERT2018Model(config)
        self.task = TaskLayer(config, self.num_labels)
        self.post_init()

    def predict(
        self, read: BaseModelOutputWithPooling, labels: Tensor | None, **kwargs: Any
    ) -> SequenceClassifierOutput:
        """Logits (B, num_labels); labels (B), or floats as `config.problem_type` says."""
        logits = self.task(read.pooler_output)
        loss = None if labels is None else classification_loss(self, logits, labels, **kwargs)
        return SequenceClassifierOutput(loss, logits, read.hidden_states, read.attentions)


class BERT2018ForTokenClassification(LabelledHead):
    """A label of each token (Section 4.4): a layer on every state, no transitions."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.num_labels = number_of_labels(config)
        self.model = BERT2018Model(config, add_pooling_layer=False)
        self.task = TaskLayer(config, self.num_labels)
        self.post_init()

    def predict(self, read: BaseModelOutputWithPooling, labels: Tensor | None, **kwargs: Any) -> TokenClassifierOutput:
        """Logits (B, T, num_labels); labels (B, T), -100 where there is none."""
        logits, loss = self.task(read.last_hidden_state), None
        if labels is not None:
            check_same_shape(logits.shape[:2], labels=labels)
            loss = label_loss(self, logits, labels, **kwargs)
        return TokenClassifierOutput(loss, logits, read.hidden_states, read.attentions)


class BERT2018ForQuestionAnswering(BERT2018PreTrainedModel):
    """The first and the last token of the answer (Section 4.2); both at [CLS] where there is none."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.model = BERT2018Model(config, add_pooling_layer=False)
        self.task = nn.Linear(config.hidden_size, 2)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """Start and end logits, (B, T) each, and the mean of both cross entropies.

        A pad has the least number as its logit: it takes no part in the softmax, whatever the padding is. Positions
        (B) outside the text are not learned from.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        read = self.model(*inputs, output_attentions, output_hidden_states, return_dict=True)
        logits, loss = self.task(read.last_hidden_state), None  # (B, T, 2)
        if attention_mask is not None:
            logits = logits.masked_fill(~attention_mask.bool()[..., None], torch.finfo(logits.dtype).min)
        start, end = logits.unbind(-1)
        if start_positions is not None and end_positions is not None:
            targets = torch.stack([start_positions.view(-1), end_positions.view(-1)])  # (2, B)
            targets = targets.where((targets >= 0) & (targets < logits.shape[1]), -100)
            if attention_mask is not None:
                real = attention_mask.bool().gather(1, targets.clamp(min=0).T).T
                targets = targets.where(real, -100)
            loss = label_loss(self, torch.stack([start, end]), targets, **kwargs)
        return QuestionAnsweringModelOutput(loss, start, end, read.hidden_states, read.attentions)


class BERT2018ForMultipleChoice(BERT2018PreTrainedModel):
    """The best of several continuations (Section 4.3): the product of c with one vector, softmax over the choices."""

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.model = BERT2018Model(config)
        self.task = TaskLayer(config, 1, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> MultipleChoiceModelOutput:
        """Inputs (B, C, T), a row for each choice -> logits (B, C); labels (B) number the right choice."""
        given = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        choices = next((tensor.shape[1] for tensor in (input_ids, inputs_embeds) if tensor is not None), 1)
        inputs = tuple(None if tensor is None else tensor.flatten(0, 1) for tensor in given)
        read = self.model(*inputs, output_attentions, output_hidden_states, return_dict=True)
        logits = self.task(read.pooler_output).view(-1, choices)
        loss = None if labels is None else label_loss(self, logits[None], labels.view(1, -1), **kwargs)
        return MultipleChoiceModelOutput(loss, logits, read.hidden_states, read.attentions)


class BERT2018ForPreTraining(WordPrediction):
    """Both pre-training tasks (Section 3.3)."""

    _tied_weights_keys = TIED

    def __init__(self, config: BERT2018Config) -> None:
        super().__init__(config)
        self.model = BERT2018Model(config)
        self.transform = WordTransform(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)
        self.next_sentence = nn.Linear(config.hidden_size, 2)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        next_sentence_label: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> BERT2018PreTrainingOutput:
        """Logits of both tasks; the loss is the sum over those with labels, each a mean of its own.

        Args:
            labels: (B, T), the words at the predicted places (those that were kept, too), -100 elsewhere.
            next_sentence_label: (B), 0 where the second text follows the first, 1 where it is another.
            num_items_in_batch: predicted words of the whole batch that this one is a part of; both losses become its
                share of the whole.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        read = self.model(*inputs, output_attentions, output_hidden_states, return_dict=True)
        items = {"num_items_in_batch": num_items_in_batch}
        logits, loss = self.word_logits(read.last_hidden_state, labels, **items, **kwargs)
        relation = self.next_sentence(read.pooler_output)
        if next_sentence_label is not None:
            next_loss = label_loss(self, relation[None], next_sentence_label.view(1, -1), **kwargs)
            if labels is not None and num_items_in_batch is not None:
                next_loss = next_loss * label_share(labels, num_items_in_batch)
            loss = next_loss if loss is None else loss + next_loss
        return BERT2018PreTrainingOutput(loss, logits, relation, read.hidden_states, read.attentions)
