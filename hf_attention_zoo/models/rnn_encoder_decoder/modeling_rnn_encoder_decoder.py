"""The RNN encoder-decoder: one phrase becomes a vector, and the vector another phrase.

Cho et al., EMNLP 2014 (arXiv 1406.1078v3). Where the equations of appendix A are:

    h_t = z h_{t-1} + (1 - z) h~_t, with z, r, h~       A.1   GatedUnit, run by RNNEncoderDecoderEncoder
    c = tanh(V h_N)                                     A.1   RNNEncoderDecoderEncoder
    h'_0 = tanh(V' c)                                   A.2   RNNEncoderDecoderDecoder.begin
    h'_t with z', r' and
      h~'_t = tanh(W' e(y_{t-1}) + r' (U' h'_{t-1} + C c)) A.2  GatedUnit, reset after the product
    C c, C_z c, C_r c, O_c c, the same at every step    A.2   RNNEncoderDecoderDecoder.source_terms
    s_t = maxout(O_h h'_t + O_y e(y_{t-1}) + O_c c)     A.2   MaxoutReadout
    p(y_t) = softmax(G s_t), G of rank 100              A.2   output_factor, lm_head
    log p(y | x), the feature of Section 3.1                  RNNEncoderDecoderForConditionalGeneration.score

Nothing precedes the first word: there e(y_0) is the zero vector, whatever the start symbol. What `form="groundhog"`
changes is told in the configuration; its lines here say "authors' code".

Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows, S source and T target positions,
d embedding, n hidden, l maxout units, V target vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqModelOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.loops.gated_loop import project_context
from hf_attention_zoo.loops.may_run import twin_may_run
from hf_attention_zoo.losses.token_loss import log_likelihood
from hf_attention_zoo.models.rnn_encoder_decoder.configuration_rnn_encoder_decoder import RNNEncoderDecoderConfig
from hf_attention_zoo.parts.model_inputs import check_vectors, encoder_mask, one_of
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.bidirectional import put_back, take
from hf_attention_zoo.recurrent.gated_initialisation import initialise_gated_
from hf_attention_zoo.recurrent.gated_unit import GatedUnit, read_states
from hf_attention_zoo.recurrent.readout import MaxoutReadout
from hf_attention_zoo.recurrent.reversing import check_something_is_read, plan_reading
from hf_attention_zoo.seq2seq.decoding_state import DecodingState, for_outputs
from hf_attention_zoo.seq2seq.encoder_decoder import EncoderDecoderBody, TranslationHead, check_rows
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


@dataclass
class SummarisedSource(BaseModelOutput):
    """What the encoder hands to the decoder.

    Attributes:
        last_hidden_state: (B, S, n) states at their source positions, zero at pads.
        summary: c, (B, n).
    """

    summary: Tensor | None = None

    @classmethod
    def of(cls, outputs: Any, begun: bool = False) -> SummarisedSource:
        """An earlier encoder call's result, whether it came as an object or as a tuple.

        Raises:
            ValueError: if it does not hold the summary and decoding has not `begun` (then the cache has what it gave).
        """
        if isinstance(outputs, cls):
            return outputs
        if begun:
            return cls(outputs[0])
        if isinstance(outputs, tuple) and len(outputs) >= 2 and getattr(outputs[-1], "ndim", 0) == 2:
            return cls(last_hidden_state=outputs[0], summary=outputs[-1])
        raise ValueError(
            f"encoder_outputs is a {type(outputs).__name__} without the summary of the source; give what "
            "model.get_encoder() returns"
        )


class RNNEncoderDecoderPreTrainedModel(PreTrainedModel):
    """Initialisation (Section 4.1) and what transformers needs to know."""

    config: RNNEncoderDecoderConfig
    config_class = RNNEncoderDecoderConfig
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules = ["RNNEncoderDecoderEncoder", "RNNEncoderDecoderDecoder"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Recurrent matrices: random orthogonal; biases: 0; the rest: N(0, 0.01^2)."""
        initialise_gated_(module, self.config.initializer_range)


class RNNEncoderDecoderEncoder(RNNEncoderDecoderPreTrainedModel):
    """Reads a source into one vector."""

    def __init__(self, config: RNNEncoderDecoderConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # E_x
        self.embedding_bias = embedding_bias(config)
        self.unit = GatedUnit(config.embedding_size, config.hidden_size, **unit_form(config))  # W, W_z, W_r; U, ...
        # V; the authors' code has none and hands h_N over
        self.summarise = (
            nn.Linear(config.hidden_size, config.hidden_size, bias=config.biases) if config.form == "paper" else None
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
    ) -> SummarisedSource:
        """ids (B, S) or embeddings (B, S, d), mask (B, S) -> c (B, n), and the states (B, S, n) on the way to it.

        Raises:
            ValueError: if a row has no token.
        """
        one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        mask = encoder_mask(attention_mask, embedded)
        plan = plan_reading(mask, torch.zeros_like(mask[:, 0]), reverse=False, read_end=True)
        check_something_is_read(plan)
        if self.embedding_bias is not None:
            embedded = embedded + self.embedding_bias
        embedded = self.dropout(embedded)
        # Pads are read after the last word, so no state that matters sees one; as zeros they cannot spoil a gradient.
        real = embedded.masked_fill(~mask[..., None], 0.0)
        start = real.new_zeros(real.shape[0], self.config.hidden_size)
        states = read_states(self.unit, take(real, plan.order), start)
        rows = torch.arange(states.shape[0], device=states.device)
        last = states[rows, plan.lengths - 1]  # h_N, (B, n)
        states = put_back(states, plan.order).masked_fill(~mask[..., None], 0.0)
        return SummarisedSource(
            last_hidden_state=states,
            hidden_states=(embedded, states) if output_hidden_states else None,
            summary=last if self.summarise is None else torch.tanh(self.summarise(last)),
        )


class RNNEncoderDecoderDecoder(RNNEncoderDecoderPreTrainedModel):
    """Writes a target from the one vector, which takes part in every step and in the output layer."""

    def __init__(self, config: RNNEncoderDecoderConfig) -> None:
        super().__init__(config)
        hidden, units = config.hidden_size, config.maxout_size
        after = {"reset": "after", "reset_bias": False} if config.form == "paper" else {}
        self.embed_tokens = token_table(config.target_rows, config.embedding_size)  # E_y
        self.embedding_bias = embedding_bias(config)
        self.initial_state = nn.Linear(hidden, hidden, bias=config.biases)  # V'
        self.unit = GatedUnit(
            config.embedding_size, hidden, context_size=hidden, **{**unit_form(config), **after}
        )  # W', U', C and their gates
        self.readout = MaxoutReadout(
            (hidden, config.embedding_size, hidden), units, bias=config.biases
        )  # O_h, O_y, O_c
        rank = config.output_rank
        self.output_factor = nn.Linear(units, rank, bias=False) if rank else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def begin(self, summary: Tensor, copies: int) -> Tensor:
        """h'_0 = tanh(V' c + b), (B, n) -> (N, n)."""
        return _per_hypothesis(torch.tanh(self.initial_state(summary)), copies)

    def source_terms(self, summary: Tensor) -> dict[str, Tensor]:
        """What takes part in every step, formed once per source.

        Returns:
            summary (B, n): c; readout (B, 2l): before the maxout; gates (B, 3n): C_z c, C_r c and C c, which the twin
            of the unit reads.
        """
        terms = {"summary": summary, "readout": self.readout.project(2, summary)}
        return terms | ({"gates": project_context(self.unit, summary)} if twin_may_run(self.unit) else {})

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        encoder_states: SummarisedSource | None = None,
        inputs_embeds: Tensor | None = None,
        cache: DecodingState | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Previous target words (N, T) and c of B sources -> what the output layer reads (N, T, rank or l)."""
        one_of(decoder_input_ids=input_ids, decoder_inputs_embeds=inputs_embeds)
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds  # e(y_{t-1}), (N, T, d)
        check_vectors("target", words)
        if self.embedding_bias is not None:
            words = words + self.embedding_bias
        words = self.dropout(words)
        cache = DecodingState() if use_cache and cache is None else cache
        begun = cache if cache is not None and cache.hypothesis else None
        if begun is not None:
            source, hidden = begun.source, begun.hypothesis["hidden"]
        else:
            words = functional.pad(words[:, 1:], (0, 0, 1, 0))  # e(y_0) = 0
            given = None if encoder_states is None else encoder_states.summary
            summary = needed(given, "encoder_states", "give what the encoder returned, or a cache that has begun")
            source = self.source_terms(summary)
            hidden = self.begin(summary, hypotheses_per_source)
        sources = source["readout"].shape[0]
        check_rows(words.shape[0], sources, hidden.shape[0])
        terms = {name: _per_hypothesis(term, words.shape[0] // sources) for name, term in source.items()}

        # authors' code: the initial state speaks the first word, and updates begin with the second
        spoken = [hidden[:, None]] if self.config.form == "groundhog" and begun is None else []
        consumed = words[:, len(spoken) :]
        if consumed.shape[1]:
            spoken.append(read_states(self.unit, consumed, hidden, terms["summary"], terms.get("gates")))
        states = torch.cat(spoken, dim=1)  # h'_t, (N, T, n)
        units = self.readout(states, words, projected=terms["readout"][:, None])  # s_t, (N, T, l)
        units = self.output_factor(self.dropout(units))

        if cache is not None:
            cache.source, cache.hypothesis = source, {"hidden": states[:, -1]}
            cache.seen_tokens += words.shape[1]
        return Seq2SeqModelOutput(
            last_hidden_state=units,
            cache=for_outputs(cache if use_cache else None),
            decoder_hidden_states=(words, states) if output_hidden_states else None,
        )


class RNNEncoderDecoderModel(EncoderDecoderBody, RNNEncoderDecoderPreTrainedModel):
    """Encoder and decoder without the output layer."""

    encoder_result = SummarisedSource

    def __init__(self, config: RNNEncoderDecoderConfig) -> None:
        super().__init__(config)
        self.encoder = RNNEncoderDecoderEncoder(config)
        self.decoder = RNNEncoderDecoderDecoder(config)
        self.post_init()

    def sentence_vectors(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """The vectors c of phrases or sentences, (B, S) -> (B, n); the paper draws them in two dimensions, Fig. 5."""
        return self.encoder(input_ids, attention_mask, return_dict=True).summary


class RNNEncoderDecoderForConditionalGeneration(TranslationHead, RNNEncoderDecoderPreTrainedModel, ZooGenerationMixin):
    """The RNN encoder-decoder with its output layer p(y_t) = softmax(G s_t + b), to score and to translate."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: RNNEncoderDecoderConfig) -> None:
        super().__init__(config)
        self.model = RNNEncoderDecoderModel(config)
        self.lm_head = nn.Linear(
            config.output_rank or config.maxout_size, config.target_rows, bias=config.biases
        )  # G, or its second factor
        self.post_init()

    def sentence_vectors(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """See `RNNEncoderDecoderModel.sentence_vectors`."""
        return self.model.sentence_vectors(input_ids, attention_mask)

    def score(self, input_ids: Tensor, labels: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """log p(target | source) of pairs, the feature that the paper adds to a phrase table (Section 3.1).

        For texts, and for any sequence-to-sequence model: `hf_attention_zoo.score`.

        Args:
            input_ids, attention_mask: (B, S) sources with their end symbols.
            labels: (B, T) targets with their end symbols, -100 at pads.

        Returns:
            (B), sums over the words of each target, its end symbol included.
        """
        words = self.prepare_decoder_input_ids_from_labels(labels)
        made = self(input_ids, attention_mask, decoder_input_ids=words, use_cache=False, return_dict=True)
        return log_likelihood(made.logits, labels)


def unit_form(config: RNNEncoderDecoderConfig) -> dict[str, Any]:
    """What the gated units of both sides have in common."""
    paper = config.form == "paper"
    return {
        "update": "keep" if paper else "new",
        "bias": ("all" if paper else "candidate") if config.biases else "none",
    }


def embedding_bias(config: RNNEncoderDecoderConfig) -> nn.Parameter | None:
    """The authors' code adds a bias to every embedding."""
    has_bias = config.form == "groundhog" and config.biases
    return nn.Parameter(torch.zeros(config.embedding_size)) if has_bias else None


def _per_hypothesis(term: Tensor, copies: int) -> Tensor:
    """(B, ...) -> (B K, ...), each row `copies` times."""
    return term if copies == 1 else term.repeat_interleave(copies, 0)
