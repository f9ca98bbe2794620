"""GPT: a Transformer decoder that is trained to continue texts, and fine-tuned on tasks that are written as texts.

Radford, Narasimhan, Salimans and Sutskever, 2018. Where the equations are:

    L_1 = sum log P(u_i | u_(i-k), ..., u_(i-1))     Eq. 1        GPT2018ForCausalLM
    h_0 = U W_e + W_p                                Eq. 2        GPT2018Model
    h_l = transformer_block(h_(l-1))                 Eq. 2        parts/post_norm_layers.py
    P(u) = softmax(h_n W_e^T)                        Eq. 2        lm_head
    P(y | x^1, ..., x^m) = softmax(h_l^m W_y)        Eq. 3        GPT2018ForSequenceClassification
    L_3 = L_2 + lambda L_1                           Eq. 4, 5     auxiliary_loss
    both orders of a pair, choices                   Section 3.3  both_orders, GPT2018ForMultipleChoice

No norm follows the last layer and none the embeddings. Positions count a row's tokens, so that pads may stand on
either side; in training and where tasks are read, pads are not computed where that helps. Shapes: B rows, T positions,
d model size, V words, C choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast, ModelOutput
from transformers.modeling_utils import slice_logits_to_keep
from transformers.utils import can_return_tuple, logging
from transformers.utils.deprecation import deprecate_kwarg

from hf_attention_zoo.losses.classification_loss import classification_loss, label_share
from hf_attention_zoo.models.gpt2018.configuration_gpt2018 import GPT2018Config
from hf_attention_zoo.models.gpt2018.layers_gpt2018 import auxiliary_loss, both_orders, gpt_layer
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.model_inputs import label_loss, one_of
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.parts.post_norm_layers import by_rows, packing_for, run_layers
from hf_attention_zoo.parts.prompts import PromptNeeded, prompt_too_long
from hf_attention_zoo.parts.text_inputs import (
    check_positions,
    check_same_shape,
    last_token,
    masking_config,
    text_shape,
    token_order,
    wanted_outputs,
)
from hf_attention_zoo.parts.token_table import rows_of, token_table

logger = logging.get_logger(__name__)


@dataclass
class GPT2018TaskOutput(ModelOutput):
    """Scores of a task's labels or choices.

    Attributes:
        loss: with labels, L_3: that of the labels and `auxiliary_loss_weight` times `lm_loss`.
        logits: (B, num_labels) or (B, C).
        lm_loss: with labels, the mean over all rows that were read of each row's mean over tokens, unweighted.
        hidden_states, attentions: as of the body, for every row that was read.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    lm_loss: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class GPT2018PreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know."""

    config: GPT2018Config
    config_class = GPT2018Config
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["PostNormLayer"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _can_compile_fullgraph = True
    _keys_to_ignore_on_load_unexpected = [r"^(lm_head|task)\."]  # heads: each task reads the body of any checkpoint

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """As the authors' code: weights N(0, range^2), biases zero, norms the identity."""
        if isinstance(module, (nn.Linear, nn.Embedding)):
            init.normal_(module.weight, std=self.config.initializer_range)
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
        bias = getattr(module, "bias", None)
        if bias is not None:
            init.zeros_(bias)


class GPT2018Model(GPT2018PreTrainedModel):
    """Embeddings and blocks."""

    def __init__(self, config: GPT2018Config) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.hidden_size)  # W_e
        self.embed_positions = token_table(config.max_position_embeddings, config.hidden_size, "positions")  # W_p
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layers = nn.ModuleList([gpt_layer(config, index) for index in range(config.num_hidden_layers)])
        self.gradient_checkpointing = False
        self.post_init()

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        cache: Cache | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """States (B, T, d) after each token.

        Args:
            input_ids: (B, T), or `inputs_embeds` (B, T, d), rows of the token table.
            attention_mask: (B, tokens in the cache and T), 1 at tokens; pads may stand on either side, and those on
                the right need none, since later tokens are never seen.
            position_ids: (B or 1, T); by default a row's tokens are counted from 0.
            cache: of the tokens before these.
            output_attentions: give out the weights, (B, h, T, S) per layer; the plain kernel computes them.

        Raises:
            ValueError: inputs of other shapes, or more positions than there are.
        """
        config = self.config
        rows, length = text_shape(input_ids, inputs_embeds)
        with_weights, with_states = wanted_outputs(config, output_attentions, output_hidden_states)
        use_cache = config.use_cache if use_cache is None else use_cache
        if use_cache and cache is None:
            cache = DynamicCache(config=config)
        first = 0 if cache is None else cache.get_seq_length()
        check_positions(first + length, config.max_position_embeddings)
        real = attention_mask.bool() if attention_mask is not None and attention_mask.ndim == 2 else None
        if real is not None and not torch.compiler.is_compiling():
            check_same_shape((rows, int(first) + length), attention_mask=real)
        order = None if real is None else token_order(real)
        if position_ids is None:
            if order is None:
                device = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds).device
                position_ids = (torch.arange(length, device=device) + first)[None]
            else:
                position_ids = order[:, -length:]
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        packing = packing_for(config, real, with_weights, with_states) if cache is None else None
        if packing is not None:
            words = packing.pack(words)
            position_ids = packing.select(position_ids.expand(rows, -1))
        states = self.dropout(words + self.embed_positions(position_ids))
        mask = None
        if not by_rows(packing, states):
            vectors = states if packing is None else states.new_empty(rows, length, 1)  # only its shape is read
            given = attention_mask if real is None else real
            mask = create_causal_mask(masking_config(config, with_weights), vectors, given, cache)
        states, seen, (weights,) = run_layers(self.layers, states, mask, with_weights, packing=packing, cache=cache)
        return BaseModelOutputWithPast(
            last_hidden_state=states,
            cache=cache if use_cache else None,
            hidden_states=seen if with_states else None,
            attentions=weights if with_weights else None,
        )


class TaskHead(GPT2018PreTrainedModel):
    """What fine-tuned tasks have in common: the state of the last token, one new layer, the auxiliary loss."""

    def __init__(self, config: GPT2018Config, outputs: int) -> None:
        super().__init__(config)
        self.model = GPT2018Model(config)
        self.task = nn.Linear(config.hidden_size, outputs, config.classifier_bias)  # W_y

    def read(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        position_ids: Tensor | None,
        inputs_embeds: Tensor | None,
        **outputs: bool | None,
    ) -> tuple[Any, Tensor, Tensor]:
        """The body's output, h^m (B, d) of each row's last token, and the mask (B, T) of tokens.

        Without a mask all ids but `pad_token_id` are tokens.
        """
        shape = text_shape(input_ids, inputs_embeds)
        pad = self.config.pad_token_id
        if attention_mask is None and input_ids is not None and pad is not None:
            attention_mask = input_ids != pad
        device = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds).device
        real = torch.ones(shape, dtype=torch.bool, device=device) if attention_mask is None else attention_mask.bool()
        decoded = self.model(
            input_ids, attention_mask, position_ids, inputs_embeds, use_cache=False, **outputs, return_dict=True
        )
        states = decoded.last_hidden_state
        return decoded, states[torch.arange(shape[0], device=device), last_token(real, shape, device)], real

    def with_auxiliary_loss(
        self, loss: Tensor, states: Tensor, input_ids: Tensor | None, real: Tensor, share: Tensor | float
    ) -> tuple[Tensor, Tensor | None]:
        """L_3 and L_1; `share` is the part of a larger batch that these rows are.

        Raises:
            ValueError: there are embeddings in place of ids, which cannot be predicted.
        """
        weight = self.config.auxiliary_loss_weight
        if not weight:
            return loss, None
        if input_ids is None:
            raise ValueError(
                "the auxiliary loss predicts ids, but inputs_embeds came with the labels; give input_ids, or set "
                "auxiliary_loss_weight=0"
            )
        lm_loss = auxiliary_loss(states, input_ids, real, rows_of(self.model.embed_tokens)).mean()
        return loss + weight * share * lm_loss, lm_loss


class GPT2018ForSequenceClassification(TaskHead):
    """Labels, or numbers, of texts and of pairs of texts (Section 3.3).

    A row is `start text extract` or `start text delimiter text extract`, as the tokenizer's task format writes it.
    With `similarity` the model reads a pair in the other order, too, and adds up the last tokens' states.
    """

    def __init__(self, config: GPT2018Config) -> None:
        super().__init__(config, number_of_labels(config))
        self.num_labels = number_of_labels(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> GPT2018TaskOutput:
        """Logits (B, num_labels) and, with labels, L_3; labels (B), or floats as `config.problem_type` says.

        Raises:
            ValueError: a model of similarity gets a row without a delimiter, or embeddings in place of ids.
        """
        config = self.config
        if config.similarity:
            if input_ids is None:
                raise ValueError("a model with similarity=True swaps the texts of a pair; give input_ids, not vectors")
            if attention_mask is None:
                pad = config.pad_token_id
                attention_mask = torch.ones_like(input_ids) if pad is None else input_ids != pad
            check_same_shape(text_shape(input_ids, None), attention_mask=attention_mask)
            delimiter = needed(config.delimiter_token_id, "delimiter_token_id", "set it in the config")
            input_ids, attention_mask = both_orders(input_ids, attention_mask.bool(), delimiter)
            position_ids = None
        outputs = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states}
        decoded, extract, real = self.read(input_ids, attention_mask, position_ids, inputs_embeds, **outputs)
        if config.similarity:
            extract = extract.unflatten(0, (-1, 2)).sum(1)
        logits = self.task(functional.dropout(extract, config.classifier_dropout, self.training))
        loss = lm_loss = None
        if labels is not None:
            items = {"num_items_in_batch": num_items_in_batch}
            loss = classification_loss(self, logits, labels, **items, **kwargs)
            share = label_share(labels, num_items_in_batch)
            loss, lm_loss = self.with_auxiliary_loss(loss, decoded.last_hidden_state, input_ids, real, share)
        return GPT2018TaskOutput(loss, logits, lm_loss, decoded.hidden_states, decoded.attentions)


class GPT2018ForMultipleChoice(TaskHead):
    """The best of several answers: each is read behind its context, scored on its own, softmax over the choices."""

    def __init__(self, config: GPT2018Config) -> None:
        super().__init__(config, 1)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> GPT2018TaskOutput:
        """Inputs (B, C, T), `start context delimiter answer extract` for each choice -> logits (B, C).

        Labels (B) number the right choice. The choices of a row share one dropout mask, as in the authors' code.
        """
        given = (input_ids, attention_mask, position_ids, inputs_embeds)
        choices = next((tensor.shape[1] for tensor in (input_ids, inputs_embeds) if tensor is not None), 1)
        ids, mask, places, vectors = (None if tensor is None else tensor.flatten(0, 1) for tensor in given)
        outputs = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states}
        decoded, extract, real = self.read(ids, mask, places, vectors, **outputs)
        extract = extract.unflatten(0, (-1, choices))  # (B, C, d)
        kept = functional.dropout(torch.ones_like(extract[:, :1]), self.config.classifier_dropout, self.training)
        logits = self.task(extract * kept)[..., 0]
        loss = lm_loss = None
        if labels is not None:
            labels = labels.view(1, -1)
            loss = label_loss(self, logits[None], labels, num_items_in_batch=num_items_in_batch, **kwargs)
            share = label_share(labels, num_items_in_batch)
            loss, lm_loss = self.with_auxiliary_loss(loss, decoded.last_hidden_state, ids, real, share)
        return GPT2018TaskOutput(loss, logits, lm_loss, decoded.hidden_states, decoded.attentions)


class GPT2018ForCausalLM(PromptNeeded, GPT2018PreTrainedModel, GenerationMixin):
    """Predicts every token from those before it (Eq. 1)."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}

    def __init__(self, config: GPT2018Config) -> None:
        super().__init__(config)
        self.model = GPT2018Model(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def _prepare_generated_length(self, generation_config: Any, *args: Any, **lengths: Any) -> Any:
        """As for any model, and no further than there are positions.

        Raises:
            ValueError: the prompt takes all of them.
        """
        above: Any = super()  # transformers says what `self` is by a protocol that no model fits
        prepared = above._prepare_generated_length(generation_config, *args, **lengths)
        ids, limit = lengths["input_ids_length"], self.config.max_position_embeddings
        prompt = lengths["inputs_tensor"].shape[1]  # ids, or vectors in their place
        if prompt >= limit:
            raise prompt_too_long(prompt, limit)
        most = ids + limit - prompt
        if prepared.max_length > most:
            logger.warning_once(f"texts end after {limit} tokens, prompt included: the model has no more positions")
            prepared.max_length = most
            prepared.min_length = min(prepared.min_length or 0, most)
        return prepared

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        cache: Cache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """Logits (B, T, V) of the token behind each and, with labels, the mean loss.

        Args:
            labels: (B, T), the ids themselves, -100 where there is nothing to predict: each is compared with the
                logits of the token before it, if there is one. In training, logits of positions without a label are
                zero where pads were not computed.
            logits_to_keep: only those of so many last positions, or of these positions; not with labels.
            shift_labels: (B, T), labels that stand one place further left already, in place of `labels`, where texts
                are divided among processes. Among the keywords, since Trainer asks for all labels of a signature.
        """
        shift_labels = kwargs.pop("shift_labels", None)
        if labels is not None or shift_labels is not None:
            use_cache = False if use_cache is None else use_cache
        outputs = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states}
        decoded = self.model(
            input_ids,
            attention_mask,
            position_ids,
            inputs_embeds,
            cache,
            use_cache,
            **outputs,
            return_dict=True,
        )
        states, loss, targets = decoded.last_hidden_state, None, shift_labels
        check_same_shape(states.shape[:2], labels=labels, shift_labels=shift_labels)
        if targets is None and labels is not None:
            targets = functional.pad(labels[:, 1:], (0, 1), value=-100)
        if targets is None:
            logits = self.lm_head(slice_logits_to_keep(states, logits_to_keep))
        else:
            if attention_mask is not None and attention_mask.shape == targets.shape:
                targets = targets.masked_fill(~attention_mask.bool(), -100)  # nothing is predicted from a pad
            packing = packing_for(self.config, targets != -100, False, False) if self.training else None
            if packing is None:
                logits = self.lm_head(states)
                loss = label_loss(self, logits, targets, **kwargs)
            else:
                packed = self.lm_head(packing.pack(states))  # (n, V)
                loss = label_loss(self, packed[None], packing.select(targets)[None], **kwargs)
                logits = packing.unpack(packed)
        return CausalLMOutputWithPast(
            loss=loss,
            logits=logits,
            cache=decoded.cache,
            hidden_states=decoded.hidden_states,
            attentions=decoded.attentions,
        )
