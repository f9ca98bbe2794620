"""RNNsearch: neural machine translation by jointly learning to align and translate.

Bahdanau, Cho and Bengio, ICLR 2015 (arXiv 1409.0473). Where the equations are:

    encoder, h_j = [forward; backward]            A.2.1   BidirectionalGatedEncoder, GatedUnit
    s_0 = tanh(W_s backward h_1)                  A.2.2   RNNsearchDecoder.initial_state
    e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)      A.1.2   AdditiveAttention
    alpha_ij = softmax, c_i = sum alpha_ij h_j    Eq. 5-6 Attention.forward
    s_i = f(s_{i-1}, y_{i-1}, c_i)                A.2.2   step_paper, GatedUnit with a context
    p(y_i) = g(y_{i-1}, s_i, c_i), maxout         A.2.2   MaxoutReadout, lm_head

Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows, S source and T target positions,
m embedding, n hidden, l maxout units, V target vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqModelOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.attention.additive import AdditiveAttention
from hf_attention_zoo.attention.attention_base import AttendedSource
from hf_attention_zoo.loops.decoder_loop import State, unroll
from hf_attention_zoo.loops.gated_loop import project_context, project_inputs
from hf_attention_zoo.loops.may_run import twin_may_run
from hf_attention_zoo.loops.weight_tape import WeightTape, in_loop
from hf_attention_zoo.models.rnnsearch.configuration_rnnsearch import RNNsearchConfig
from hf_attention_zoo.models.rnnsearch.step_rnnsearch import DecoderStep, may_step
from hf_attention_zoo.parts.model_inputs import check_vectors, encoder_mask, one_of
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.bidirectional import BidirectionalGatedEncoder, first_real_position
from hf_attention_zoo.recurrent.gated_initialisation import initialise_gated_
from hf_attention_zoo.recurrent.gated_unit import GatedUnit
from hf_attention_zoo.recurrent.readout import MaxoutReadout
from hf_attention_zoo.seq2seq.decoding_state import DecodingState, for_outputs
from hf_attention_zoo.seq2seq.encoder_decoder import EncoderDecoderBody, TranslationHead, check_rows
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin

# Which biases a gated unit has, for each choice of the config.
UNIT_BIASES: dict[str, Literal["all", "candidate", "none"]] = {
    "affine": "all",
    "groundhog": "candidate",
    "none": "none",
}


class RNNsearchPreTrainedModel(PreTrainedModel):
    """Initialisation (appendix B.1) and what transformers needs to know."""

    config: RNNsearchConfig
    config_class = RNNsearchConfig
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules = ["RNNsearchEncoder", "RNNsearchDecoder"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Recurrent matrices: random orthogonal; W_a, U_a: N(0, 0.001^2); v_a, biases: 0; the rest: N(0, 0.01^2)."""
        initialise_gated_(module, self.config.initializer_range, zero=("score_vector",))
        if isinstance(module, AdditiveAttention):  # comes after its children
            for projection in (module.query_projection, module.key_projection):
                if isinstance(projection, nn.Linear):
                    init.normal_(projection.weight, std=self.config.attention_initializer_range)


class RNNsearchEncoder(RNNsearchPreTrainedModel):
    """Annotations of a source sentence (A.2.1)."""

    def __init__(self, config: RNNsearchConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # E_x
        self.embedding_bias = embedding_bias(config)
        bias = UNIT_BIASES[config.biases]
        self.reader = BidirectionalGatedEncoder(
            GatedUnit(config.embedding_size, config.hidden_size, bias=bias),
            GatedUnit(config.embedding_size, config.hidden_size, bias=bias),
        )
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """ids (B, S) or embeddings (B, S, m), mask (B, S) -> annotations (B, S, 2n), zero at pads."""
        one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        mask = encoder_mask(attention_mask, embedded)
        if self.embedding_bias is not None:
            embedded = embedded + self.embedding_bias
        embedded = self.dropout(embedded)
        annotations = self.reader(embedded, mask)  # (B, S, 2n)
        return BaseModelOutput(
            last_hidden_state=annotations, hidden_states=(embedded, annotations) if output_hidden_states else None
        )


class RNNsearchDecoder(RNNsearchPreTrainedModel):
    """Aligns and translates, one target position after the other (A.2.2)."""

    def __init__(self, config: RNNsearchConfig) -> None:
        super().__init__(config)
        annotation_size, some_bias = 2 * config.hidden_size, config.biases != "none"
        self.embed_tokens = token_table(config.target_rows, config.embedding_size)  # E_y
        self.embedding_bias = embedding_bias(config)
        self.initial_state = nn.Linear(config.hidden_size, config.hidden_size, bias=some_bias)  # W_s
        self.attention = AdditiveAttention(
            config.hidden_size, annotation_size, config.attention_size, bias=config.biases == "affine"
        )
        self.unit = GatedUnit(
            config.embedding_size,
            config.hidden_size,
            context_size=annotation_size,
            bias=UNIT_BIASES[config.biases],
        )
        self.readout = MaxoutReadout(
            (config.hidden_size, config.embedding_size, annotation_size), config.maxout_size, bias=some_bias
        )  # U_o, V_o, C_o
        rank = config.output_rank
        self.output_factor = nn.Linear(config.maxout_size, rank, bias=False) if rank else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def begin(self, annotations: Tensor, mask: Tensor, copies: int) -> State:
        """s_0 = tanh(W_s backward h_1 + b): the backward half of the first real annotation, (B, S, 2n) -> (N, n)."""
        rows = torch.arange(annotations.shape[0], device=annotations.device)
        backward_first = annotations[rows, first_real_position(mask), self.config.hidden_size :]  # (B, n)
        hidden = torch.tanh(self.initial_state(backward_first))
        return {"hidden": hidden.repeat_interleave(copies, 0) if copies > 1 else hidden}

    def search_step(self, rows: int) -> Callable[[Tensor, Any], Tensor] | None:
        """A fast twin of `forward` for a search: the next words (N,) and the state -> maxout units (N, l).

        Args:
            rows: N at first.

        Returns:
            None where the formula has to run.
        """
        return DecoderStep(self, rows) if may_step(self) else None

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        cache: DecodingState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Previous target words (N, T), annotations (B, S, 2n), mask (B, S) -> maxout units (N, T, l)."""
        one_of(decoder_input_ids=input_ids, decoder_inputs_embeds=inputs_embeds)
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds  # e(y_{i-1}), (N, T, m)
        check_vectors("target", words)
        if self.embedding_bias is not None:
            words = words + self.embedding_bias
        words = self.dropout(words)
        cache = DecodingState() if use_cache and cache is None else cache

        if cache is not None and cache.source:
            kept, state = cache.source, cache.hypothesis
            source = AttendedSource(*(kept[name] for name in ("values", "keys", "mask")))
        else:
            annotations = needed(
                encoder_hidden_states, "encoder_hidden_states", "give them, or a cache that has begun"
            )
            mask = encoder_mask(encoder_attention_mask, annotations)
            source = self.attention.prepare(annotations, mask)  # U_a h_j, once
            kept = {"values": source.values, "keys": source.keys, "mask": source.mask}
            state = self.begin(annotations, mask, hypotheses_per_source)
        sources = source.values.shape[0]
        check_rows(words.shape[0], sources, state["hidden"].shape[0])
        timing = self.config.decoder_timing
        if timing == "groundhog" and "context" not in state:  # no word before the first
            words = torch.cat([torch.zeros_like(words[:, :1]), words[:, 1:]], dim=1)
        tape = WeightTape.start()
        unit, inputs, heard = in_loop(self.unit, tape), words, source.values
        if unit is not self.unit:  # it reads W y and, since C c_i = sum_j alpha_ij C h_j, mixtures of C h_j: both once
            if "gates" not in kept:
                kept["gates"] = project_context(self.unit, source.values)  # (B, S, 3n)
            inputs, heard = project_inputs(self.unit, words), kept["gates"]
        mixed = replace(source, values=heard)
        attend = self.attention.in_loop(mixed, tape)

        def by_source(rows: Tensor) -> Tensor:  # (N, D) -> (B, K, D)
            return rows.view(sources, -1, rows.shape[-1])

        def step_paper(inputs: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
            previous = state["hidden"]
            context, alignment = attend(by_source(previous), mixed)  # c_i (or C c_i), alpha_i of Eq. 5-6 with s_{i-1}
            hidden = unit(inputs[0], previous, context.flatten(0, 1))  # s_i
            speaks = hidden if timing == "paper" else previous  # the appendix lets s_{i-1} speak
            return {"state": speaks, "alignment": alignment.flatten(0, 1)}, {"hidden": hidden}

        def step_groundhog(inputs: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
            hidden = state["hidden"]
            if "context" in state:  # all steps but the first consume y_{i-1} with the context that spoke it
                hidden = unit(inputs[0], hidden, state["context"])
            context, alignment = (tensor.flatten(0, 1) for tensor in attend(by_source(hidden), mixed))
            return {"state": hidden, "alignment": alignment}, {"hidden": hidden, "context": context}

        step = step_groundhog if timing == "groundhog" else step_paper
        outputs, state = unroll(step, (inputs,), state)
        alignments = outputs["alignment"].view(sources, -1, source.mask.shape[1])  # (B, K T, S)
        if twin_may_run(self.readout.projections[2]):  # linear, too: C_o c_i = sum_j alpha_ij C_o h_j
            if "units" not in kept:
                kept["units"] = self.readout.project(2, source.values)  # (B, S, 2l)
            context_units = torch.bmm(alignments.to(kept["units"].dtype), kept["units"])  # (B, K T, 2l)
            units = self.readout(outputs["state"], words, projected=context_units.view(*words.shape[:2], -1))
        else:
            contexts = torch.bmm(alignments.to(source.values.dtype), source.values).view(*words.shape[:2], -1)
            units = self.readout(outputs["state"], words, contexts)  # t_i, (N, T, l)
        units = self.output_factor(self.dropout(units))

        if cache is not None:
            cache.source, cache.hypothesis, cache.seen_tokens = kept, state, cache.seen_tokens + words.shape[1]
        return Seq2SeqModelOutput(
            last_hidden_state=units,
            cache=for_outputs(cache if use_cache else None),
            decoder_hidden_states=(words, outputs["state"]) if output_hidden_states else None,
            cross_attentions=(outputs["alignment"][:, None],) if output_attentions else None,  # (N, 1, T, S)
        )


class RNNsearchModel(EncoderDecoderBody, RNNsearchPreTrainedModel):
    """Encoder and decoder without the output layer."""

    def __init__(self, config: RNNsearchConfig) -> None:
        super().__init__(config)
        self.encoder = RNNsearchEncoder(config)
        self.decoder = RNNsearchDecoder(config)
        self.post_init()

    def earlier_states(self, outputs: Any, begun: bool) -> BaseModelOutput:
        return outputs if isinstance(outputs, BaseModelOutput) else BaseModelOutput(*outputs[:2])

    def source_arguments(self, states: BaseModelOutput, attention_mask: Tensor | None) -> tuple[Tensor | None, ...]:
        return states.last_hidden_state, attention_mask


class RNNsearchForConditionalGeneration(TranslationHead, RNNsearchPreTrainedModel, ZooGenerationMixin):
    """RNNsearch with its output layer p(y_i) = softmax(W_o t_i + b), for translation."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: RNNsearchConfig) -> None:
        super().__init__(config)
        self.model = RNNsearchModel(config)
        self.lm_head = nn.Linear(
            config.output_rank or config.maxout_size, config.target_rows, bias=config.biases != "none"
        )  # W_o
        self.post_init()


def embedding_bias(config: RNNsearchConfig) -> nn.Parameter | None:
    """The authors' code adds a bias to every embedding."""
    return nn.Parameter(torch.zeros(config.embedding_size)) if config.biases == "groundhog" else None
