"""Effective approaches to attention-based neural machine translation: attention after the top decoder layer.

Luong, Pham and Manning, EMNLP 2015 (arXiv 1508.04025). Where the equations are:

    encoder states s, reversed source              Section 2, 4.1   StackedEncoder, StackedLSTM, plan_reading
    score(h_t, s): dot, general, concat            Eq. 7            attention/{dot_product,general,concat}.py
    a_t = softmax(W_a h_t)                         Eq. 8            attention/location.py
    p_t, window, Gaussian                          Eq. 9-10         attention/local_window.py
    c_t = sum_s a_t(s) s                           Section 3        Attention.forward
    attentional = tanh(W_c [c_t; h_t])             Eq. 5            LuongDecoder.forward
    input feeding: [e(y_{t-1}); attentional_{t-1}] Section 3.3      LuongDecoder.forward, StackedLSTM.step
    p(y_t) = softmax(W_s attentional)              Eq. 6            lm_head

Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows, S source and T target positions,
E embedding, H cells, V target vocabulary.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import Seq2SeqModelOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention, SourceAttention
from hf_attention_zoo.attention.concat import ConcatAttention
from hf_attention_zoo.attention.dot_product import DotProductAttention
from hf_attention_zoo.attention.general import GeneralAttention
from hf_attention_zoo.attention.local_window import (
    MonotonicLocalAttention,
    PositionedSource,
    PredictiveLocalAttention,
)
from hf_attention_zoo.attention.location import LocationAttention
from hf_attention_zoo.loops.decoder_loop import State, unroll
from hf_attention_zoo.loops.lstm_backward import project_first_layer
from hf_attention_zoo.loops.weight_tape import WeightTape, in_loop
from hf_attention_zoo.models.luong.configuration_luong import LuongConfig
from hf_attention_zoo.parts.model_inputs import check_vectors, one_of
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.stacked_lstm import StackedLSTM, split_layers
from hf_attention_zoo.recurrent.uniform_initialisation import initialise_uniform_
from hf_attention_zoo.seq2seq.decoding_state import DecodingState, for_outputs
from hf_attention_zoo.seq2seq.encoder_decoder import EncoderDecoderBody, EncoderStates, TranslationHead, check_rows
from hf_attention_zoo.seq2seq.stacked_encoder import StackedEncoder
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


class LuongPreTrainedModel(PreTrainedModel):
    """Initialisation (Section 4.1) and what transformers needs to know."""

    config: LuongConfig
    config_class = LuongConfig
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules = ["LuongDecoder"]

    def _init_weights(self, module: nn.Module) -> None:
        """Every weight: U(-0.1, 0.1)."""
        initialise_uniform_(module, self.config.initializer_range)


class LuongEncoder(StackedEncoder, LuongPreTrainedModel):
    """Reads the source, last word first, and keeps its states at the words' own places; see `StackedEncoder`."""

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)
        self.lstm = StackedLSTM(
            config.embedding_size, config.hidden_size, config.num_hidden_layers, dropout=config.dropout
        )
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()


class LuongDecoder(LuongPreTrainedModel):
    """Stacked LSTM, alignment with the top state, attentional vector."""

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.embed_tokens = token_table(config.target_rows, config.embedding_size)
        self.lstm = StackedLSTM(
            config.embedding_size,
            size,
            config.num_hidden_layers,
            dropout=config.dropout,
            feed_size=size if config.input_feeding else None,
        )
        self.attention = build_attention(config)
        self.source_class = AttendedSource if config.attention_window == "global" else PositionedSource
        self.attentional = nn.Linear(2 * size, size, bias=False)  # W_c
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        encoder_states: EncoderStates | None = None,
        inputs_embeds: Tensor | None = None,
        cache: DecodingState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Previous target words (N, T) and the encoder's states of B sources -> attentional vectors (N, T, H)."""
        one_of(decoder_input_ids=input_ids, decoder_inputs_embeds=inputs_embeds)
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds  # e(y_{t-1}), (N, T, E)
        check_vectors("target", words)
        words = self.dropout(words)
        cache = DecodingState() if use_cache and cache is None else cache

        if cache is not None and cache.source:
            source, state = self.source_class(**cache.source), cache.hypothesis
        else:
            states, _, _, read_mask = EncoderStates.parts(encoder_states)
            source = self.attention.prepare(states, read_mask)
            state = self.begin(encoder_states, hypotheses_per_source)
        sources = source.values.shape[0]
        check_rows(words.shape[0], sources, state["hidden_0"].shape[0])
        seen = 0 if cache is None else cache.seen_tokens
        times = torch.arange(seen, seen + words.shape[1], device=words.device)[None]  # (1, T), t of each word

        def by_source(hidden: Tensor, times: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
            """h (N, T, H) at t (1, T) as queries (B, K T, H) and, if attention asks for it, the time of each."""
            query = hidden.reshape(sources, -1, hidden.shape[-1])
            return query, (times.repeat(1, query.shape[1] // times.shape[1]),) if self.moves_window else ()

        if self.config.input_feeding:
            tape = WeightTape.start()
            lstm, attend = in_loop(self.lstm, tape), self.attention.in_loop(source, tape)
            project = in_loop(self.attentional, tape)
            inputs = words if lstm is self.lstm else project_first_layer(self.lstm, words)  # of the twin: W x, at once

            def step(inputs: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
                hidden, following = lstm(inputs[0], state, self.dropout(state["attentional"]))
                query, where = by_source(hidden[:, None], inputs[1][:, None])
                context, alignment = attend(query, source, *where)  # c_t, (B, K, H), a_t, (B, K, S)
                both = torch.cat([context.flatten(0, 1), hidden], dim=-1)
                attentional = torch.tanh(project(both))  # Eq. 5, (N, H)
                following["attentional"] = attentional
                made = {"attentional": attentional, "alignment": alignment.flatten(0, 1)}
                return made | ({"hidden": hidden} if output_hidden_states else {}), following

            outputs, state = unroll(step, (inputs, times), state)
        else:  # nothing is fed back: one call of the library and one batched attention for all targets
            hidden, state = self.lstm(words, state)  # h_t, (N, T, H)
            query, where = by_source(hidden, times)
            context, alignment = self.attention(query, source, *where)
            both = torch.cat([context.view(hidden.shape), hidden], dim=-1)
            outputs = {
                "hidden": hidden,
                "attentional": torch.tanh(self.attentional(both)),  # Eq. 5, (N, T, H)
                "alignment": alignment.view(*hidden.shape[:2], -1),
            }

        if cache is not None:
            cache.source = {field.name: getattr(source, field.name) for field in fields(source)}
            cache.hypothesis, cache.seen_tokens = state, seen + words.shape[1]
        return Seq2SeqModelOutput(
            last_hidden_state=outputs["attentional"],
            cache=for_outputs(cache if use_cache else None),
            decoder_hidden_states=(words, outputs["hidden"]) if output_hidden_states else None,
            cross_attentions=(outputs["alignment"][:, None],) if output_attentions else None,  # (N, 1, T, S)
        )

    @property
    def moves_window(self) -> bool:
        """Whether attention asks for the target position."""
        return self.config.attention_window != "global"

    def begin(self, encoder_states: EncoderStates | None, copies: int) -> State:
        """The encoder's last state of every layer, and a fed-back vector of zero."""
        _, final_hidden, final_cell, _ = EncoderStates.parts(encoder_states)
        state = split_layers(final_hidden, final_cell)
        if self.config.input_feeding:
            state["attentional"] = torch.zeros_like(state["hidden_0"])
        return {name: tensor.repeat_interleave(copies, 0) if copies > 1 else tensor for name, tensor in state.items()}


class LuongModel(EncoderDecoderBody, LuongPreTrainedModel):
    """Encoder and decoder without the output layer."""

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        self.encoder = LuongEncoder(config)
        self.decoder = LuongDecoder(config)
        self.post_init()


class LuongForConditionalGeneration(TranslationHead, LuongPreTrainedModel, ZooGenerationMixin):
    """Luong's model with its output layer p(y_t) = softmax(W_s attentional), for translation."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        self.model = LuongModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.target_rows, bias=False)  # W_s
        self.post_init()

    @property
    def alignment_shift(self) -> int:
        """Steps between the prediction of a word and the weights that tell which source word it stands for.

        A content-based score is computed from a state that has read y_{t-1}, and tends to point at the source of that
        word: y_t is explained one step later, when it is the input (shift 1; the end symbol needs none). The location
        score points at the word that is about to be predicted (shift 0).
        """
        return 0 if self.config.attention_score == "location" else 1


def build_attention(config: LuongConfig) -> SourceAttention:
    """The score and the window that the config names."""
    size = config.hidden_size
    if config.attention_score == "location":
        return LocationAttention(size, config.location_max_length)
    if config.attention_score == "dot":
        mechanism: Attention = DotProductAttention()
    elif config.attention_score == "general":
        mechanism = GeneralAttention(size, size)
    else:
        fixed = config.concat_source_weight == "identity"
        mechanism = ConcatAttention(size, size, size, "identity" if fixed else "learned")
    if config.attention_window == "global":
        return mechanism
    if config.attention_window == "local-m":
        return MonotonicLocalAttention(mechanism, config.window_half_width)
    scale = {"full": 1.0, "half": 0.5}[config.position_gradient]
    return PredictiveLocalAttention(mechanism, config.window_half_width, size, size, scale)
