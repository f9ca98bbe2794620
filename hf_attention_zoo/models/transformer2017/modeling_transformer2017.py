"""Attention is all you need: an encoder and a decoder of attention and feed-forward layers.

Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser and Polosukhin, NIPS 2017 (arXiv 1706.03762). Where the
equations are:

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V     Eq. 1        attention/multi_head.py
    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O  Section 3.2.2  attention/multi_head.py
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                Eq. 2        parts/post_norm_layers.py
    LayerNorm(x + Sublayer(x))                            Section 3.1  parts/post_norm_layers.py
    sqrt(d) E[w_t] + PE(t)                                Section 3.4  TokenStack.positioned, attention/positions.py
    p(y_t) = softmax(y_T E^T)                             Section 3.4  lm_head

No norm follows the last layer. Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows,
S source and T target positions, D model size, h heads, V target vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.cache_utils import Cache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqModelOutput,
)
from transformers.utils import can_return_tuple
from transformers.utils.deprecation import deprecate_kwarg

from hf_attention_zoo.attention.packing import Packing
from hf_attention_zoo.attention.positions import Positions
from hf_attention_zoo.models.transformer2017.configuration_transformer2017 import Transformer2017Config
from hf_attention_zoo.models.transformer2017.inputs_transformer2017 import (
    SharedTable,
    check_ids,
    mask_of_source,
    target_mask,
)
from hf_attention_zoo.models.transformer2017.layers_transformer2017 import DecoderLayer, EncoderLayer
from hf_attention_zoo.models.transformer2017.step_transformer2017 import layer_steps, may_step
from hf_attention_zoo.parts.model_inputs import (
    check_vectors,
    encoder_mask,
    label_loss,
    one_of,
    up_to_last_label,
)
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.parts.post_norm_layers import run_layers
from hf_attention_zoo.parts.text_inputs import masking_config, token_order, wanted_outputs
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.seq2seq.encoder_decoder import TranslationHead, check_rows
from hf_attention_zoo.seq2seq.shared_source_cache import SharedSourceCache
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


class Transformer2017PreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know."""

    config: Transformer2017Config
    config_class = Transformer2017Config
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["EncoderLayer", "DecoderLayer"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _can_compile_fullgraph = True

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """As the authors' code: tables N(0, 1 / D), matrices Glorot-uniform, biases zero, norms the identity.

        The code drew the three projections of self-attention as one matrix, and those of a source's keys and values
        as another: the sums of their widths are the widths that count.

        With `initializer_range`, tables and matrices are N(0, initializer_range^2).
        """
        bias, spread = getattr(module, "bias", None), self.config.initializer_range
        if isinstance(module, (nn.Embedding, nn.Linear)):
            if spread is not None:
                init.normal_(module.weight, std=spread)
            elif isinstance(module, nn.Embedding) or getattr(module, "is_table", False):
                init.normal_(module.weight, std=self.config.hidden_size**-0.5)
            else:
                reach = math.sqrt(6 / (module.in_features + getattr(module, "fan_out", module.out_features)))
                init.uniform_(module.weight, -reach, reach)
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
        if bias is not None:
            init.zeros_(bias)


class TokenStack(Transformer2017PreTrainedModel):
    """What encoder and decoder share: embeddings and positions."""

    def __init__(self, config: Transformer2017Config, vocabulary: int) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(vocabulary, config.hidden_size)  # E
        self.positions = Positions(
            config.position_encoding, config.hidden_size, config.max_position_embeddings, config.position_offset
        )
        self.dropout = nn.Dropout(config.dropout)

    def positioned(self, vectors: Tensor, first: int | Tensor = 0, order: Tensor | None = None) -> Tensor:
        """Dropout(sqrt(D) E[w_t] + PE(t))   (Sections 3.4, 3.5, 5.4): (N, T, D) -> (N, T, D).

        Args:
            vectors: E[w_t].
            first: position of the first of them.
            order: (N, T) positions of their own for every row, in place of those that follow `first`.
        """
        length, first = (vectors.shape[1], first) if order is None else (first + vectors.shape[1], 0)
        table = self.positions(length, first, device=vectors.device, dtype=vectors.dtype)
        return self.dropout(vectors * math.sqrt(self.config.hidden_size) + (table if order is None else table[order]))


class Transformer2017Encoder(TokenStack):
    """Reads the source."""

    def __init__(self, config: Transformer2017Config) -> None:
        super().__init__(config, config.vocab_size)
        self.layers = nn.ModuleList([EncoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.gradient_checkpointing = False
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
    ) -> BaseModelOutput:
        """States (B, S, D) of the source; hidden states (the embeddings, then every layer) and weights on request.

        Positions count the tokens that the mask shows, so that pads may stand on either side.
        """
        vectors = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        with_weights, with_states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        if input_ids is not None:
            check_ids("source", input_ids)
            vectors = self.embed_tokens(input_ids)
        real = encoder_mask(attention_mask, vectors)
        states = self.positioned(vectors, order=None if attention_mask is None else token_order(real))
        mask = create_bidirectional_mask(
            masking_config(self.config, with_weights), states, None if attention_mask is None else real
        )
        packing = None if with_weights or with_states or attention_mask is None else Packing.of(real)
        if packing is not None:
            states = packing.pack(states)
        states, seen, (weights,) = run_layers(self.layers, states, mask, with_weights, packing=packing)
        return BaseModelOutput(
            last_hidden_state=states,
            hidden_states=seen if with_states else None,
            attentions=weights if with_weights else None,
        )


class Transformer2017Decoder(TokenStack):
    """Writes the target."""

    def __init__(self, config: Transformer2017Config) -> None:
        super().__init__(config, config.target_rows)
        self.layers = nn.ModuleList([DecoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.gradient_checkpointing = False
        self.post_init()

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """States (N, T, D) after the previous target words (N, T) and the source (B, S, D).

        Args:
            attention_mask: (N, words before and T), 1 at tokens; positions count tokens. Or a mask of four
                dimensions for the kernel.
            encoder_hidden_states, encoder_attention_mask: not read once the cache has the source's keys and values.
            cache: of the words before these.
            hypotheses_per_source: K.
        """
        vectors = one_of(decoder_input_ids=input_ids, decoder_inputs_embeds=inputs_embeds)
        config = self.config
        with_weights, with_states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        use_cache = config.use_cache if use_cache is None else use_cache
        if input_ids is not None:
            check_ids("target", input_ids)
            vectors = self.embed_tokens(input_ids)
            if config.decoder_start == "zero":
                start = needed(config.decoder_start_token_id, "decoder_start_token_id", "set it in the config")
                vectors = vectors.masked_fill((input_ids == start)[..., None], 0.0)
        check_vectors("target", vectors)
        if cache is not None or use_cache:
            cache = SharedSourceCache.new(config) if cache is None else SharedSourceCache.of(cache)
        if cache is not None and cache.has_source:
            sources, begun_rows = cache.sources, cache.rows
            if cache.source_mask is None and encoder_attention_mask is not None:
                cache.source_mask = encoder_attention_mask.bool()
            encoder_attention_mask = cache.source_mask
            source = None
        else:
            source = needed(encoder_hidden_states, "encoder_hidden_states", "give them, or a cache with the source")
            sources, begun_rows = source.shape[0], source.shape[0] * hypotheses_per_source
            if encoder_attention_mask is not None:
                encoder_attention_mask = encoder_mask(encoder_attention_mask, source)
            if cache is not None:
                cache.source_mask = encoder_attention_mask
        check_rows(vectors.shape[0], sources, begun_rows)

        first = cache.get_seq_length() if cache is not None else 0
        real = attention_mask.bool() if attention_mask is not None and attention_mask.ndim == 2 else None
        order = None if real is None else token_order(target_mask(real, vectors, first))
        states = self.positioned(vectors, first, None if order is None else order[:, -vectors.shape[1] :])
        masking = masking_config(self.config, with_weights)
        mask = create_causal_mask(
            masking,
            states,
            attention_mask if real is None else real,
            None if cache is None else cache.self_attention_cache,
        )
        queries = states.view(sources, -1, states.shape[-1])
        source_mask = mask_of_source(masking, queries, encoder_attention_mask, cache)
        packing = source_packing = None
        if not with_weights and not with_states:
            if cache is None:
                packing = Packing.of(real)
            if source is not None:
                source_packing = Packing.of(encoder_attention_mask)
        if packing is not None:
            states = packing.pack(states)
        if source_packing is not None and source is not None:
            source = source_packing.pack(source)
        given = (source, mask, source_mask, with_weights)
        more: dict[str, Any] = {"packing": packing, "source_packing": source_packing, "cache": cache}
        states, seen, (self_weights, cross_weights) = run_layers(self.layers, states, *given, **more)
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=states,
            cache=cache if use_cache else None,
            hidden_states=seen if with_states else None,
            attentions=self_weights if with_weights else None,
            cross_attentions=cross_weights if with_weights else None,
        )

    def search_step(self, rows: int) -> Callable[[Tensor, Any], Tensor] | None:
        """A fast twin of `forward` for a search: the next words (N,) and the state -> states (N, D).

        Args:
            rows: N at first.

        Returns:
            None where the formula has to run.
        """
        config = self.config
        if config.decoder_start == "zero" or not may_step(self.layers, config._attn_implementation):
            return None
        layers = layer_steps(self.layers, rows)

        def step(words: Tensor, cache: SharedSourceCache) -> Tensor:
            states = self.positioned(self.embed_tokens(words[:, None]), cache.get_seq_length())  # (N, 1, D)
            source_mask = mask_of_source(config, states.view(cache.sources, -1, states.shape[-1]), None, cache)
            states = states[:, 0]
            for layer in layers:
                states = layer(states, cache, source_mask)
            return states

        return step


class Transformer2017Model(SharedTable, Transformer2017PreTrainedModel):
    """Encoder and decoder without the output layer."""

    def __init__(self, config: Transformer2017Config) -> None:
        super().__init__(config)
        if config.share_encoder_decoder_embeddings:
            self._tied_weights_keys = {"encoder.embed_tokens.weight": "decoder.embed_tokens.weight"}
        self.encoder = Transformer2017Encoder(config)
        self.decoder = Transformer2017Decoder(config)
        self.post_init()

    def earlier_states(self, outputs: Any, begun: bool) -> BaseModelOutput:
        """What an earlier encoder call returned, in the form that the encoder gives."""
        return outputs if isinstance(outputs, BaseModelOutput) else BaseModelOutput(*outputs[:3])

    def source_arguments(self, states: Any, attention_mask: Tensor | None) -> tuple[Tensor | None, ...]:
        """What the decoder takes between words and state: no mask of words, the source's states and mask."""
        return None, states.last_hidden_state, attention_mask

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Any, ...] | None = None,
        cache: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Decoder outputs for given previous words; see the head for the arguments.

        Raises:
            ValueError: if neither or both of ids and embeddings are given on a side, or masks and ids have shapes that
                do not go together.
        """
        wanted = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states}
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask, inputs_embeds, **wanted, return_dict=True)
        encoded: Any = self.earlier_states(encoder_outputs, begun=cache is not None)
        decoded = self.decoder(
            decoder_input_ids,
            decoder_attention_mask,
            encoded.last_hidden_state,
            attention_mask,
            cache=cache,
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            hypotheses_per_source=hypotheses_per_source,
            **wanted,
            return_dict=True,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=decoded.last_hidden_state,
            cache=decoded.cache,
            decoder_hidden_states=decoded.hidden_states,
            decoder_attentions=decoded.attentions,
            cross_attentions=decoded.cross_attentions,
            encoder_last_hidden_state=encoded.last_hidden_state,
            encoder_hidden_states=encoded.hidden_states,
            encoder_attentions=encoded.attentions,
        )


class Transformer2017ForConditionalGeneration(
    SharedTable, TranslationHead, Transformer2017PreTrainedModel, ZooGenerationMixin
):
    """The Transformer with its output layer p(y_t) = softmax(y_T E^T), for translation and parsing."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: Transformer2017Config) -> None:
        super().__init__(config)
        if config.share_encoder_decoder_embeddings:
            self._tied_weights_keys = {
                **self._tied_weights_keys,
                "model.encoder.embed_tokens.weight": "model.decoder.embed_tokens.weight",
            }
        self.model = Transformer2017Model(config)
        self.lm_head = nn.Linear(config.hidden_size, config.target_rows, bias=config.output_bias)
        self.lm_head.is_table = True
        self.post_init()

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return True

    def _prepare_cache_for_generation(
        self, generation_config: Any, model_kwargs: Any, *args: Any, **more: Any
    ) -> bool:
        above: Any = super()  # whose `self` has a type that no model fits, see `ZooGenerationMixin`
        prepared = above._prepare_cache_for_generation(generation_config, model_kwargs, *args, **more)
        if model_kwargs.get("cache") is not None:
            model_kwargs["cache"] = SharedSourceCache.of(model_kwargs["cache"])
        return prepared

    def mask_of_targets(self, given: Tensor | None, labels: Tensor, cache: Cache | None) -> Tensor | None:
        """In training, words behind a row's last label are not computed."""
        return up_to_last_label(labels) if self.training and given is None and cache is None else given

    def logits_and_loss(
        self, states: Tensor, labels: Tensor | None, mask: Tensor | None, cache: Cache | None, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Of the words that the mask shows, where that is known in training."""
        packing = Packing.of(mask) if self.training and cache is None else None
        if packing is None or (labels is not None and labels.shape != states.shape[:2]):
            return super().logits_and_loss(states, labels, mask, cache, **kwargs)
        packed = self.lm_head(packing.pack(states))  # (R, V)
        loss = None if labels is None else label_loss(self, packed[None], packing.pack(labels)[None], **kwargs)
        return packing.unpack(packed), loss
