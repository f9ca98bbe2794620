"""Sequence to sequence learning with neural networks: a deep LSTM reads, a second one writes.

Sutskever, Vinyals and Le, NIPS 2014 (arXiv 1409.3215). The paper prints one equation and describes the rest:

    reading x_T, ..., x_1, </s> into one state v    Section 2, 3.3   StackedEncoder, plan_reading
    p(y_1..y_T' | x) = prod p(y_t | v, y_1..y_t-1)  Eq. 1            Seq2SeqLSTMDecoder, lm_head
    the cell                                        Graves 2013      lstm_cell, StackedLSTM
    v: h and c of every layer                       Section 3.4      EncoderStates, sentence_vectors

Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows, S source and T target positions,
E embedding, H cells, L layers, V target vocabulary.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import Seq2SeqModelOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.models.seq2seq_lstm.configuration_seq2seq_lstm import Seq2SeqLSTMConfig
from hf_attention_zoo.parts.model_inputs import check_vectors, one_of
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.stacked_lstm import StackedLSTM, split_layers
from hf_attention_zoo.recurrent.uniform_initialisation import initialise_uniform_
from hf_attention_zoo.seq2seq.decoding_state import DecodingState, for_outputs
from hf_attention_zoo.seq2seq.encoder_decoder import EncoderDecoderBody, EncoderStates, TranslationHead, check_rows
from hf_attention_zoo.seq2seq.stacked_encoder import StackedEncoder
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin

VectorPart = Literal["all", "top"]


class Seq2SeqLSTMPreTrainedModel(PreTrainedModel):
    """Initialisation (Section 3.4) and what transformers needs to know."""

    config: Seq2SeqLSTMConfig
    config_class = Seq2SeqLSTMConfig
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules = ["Seq2SeqLSTMDecoder"]

    def _init_weights(self, module: nn.Module) -> None:
        """Every weight and bias: U(-0.08, 0.08)."""
        initialise_uniform_(module, self.config.initializer_range)


class Seq2SeqLSTMEncoder(StackedEncoder, Seq2SeqLSTMPreTrainedModel):
    """Reads the source, last word first, into the states of its layers; see `StackedEncoder`."""

    needs_a_word = True

    def __init__(self, config: Seq2SeqLSTMConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)
        self.lstm = build_stack(config)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()


class Seq2SeqLSTMDecoder(Seq2SeqLSTMPreTrainedModel):
    """A language model of the target that starts from the encoder's final state."""

    def __init__(self, config: Seq2SeqLSTMConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.target_rows, config.embedding_size)
        self.lstm = build_stack(config)
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
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Previous target words (N, T) and the encoder's final states of B sources -> top states (N, T, H)."""
        one_of(decoder_input_ids=input_ids, decoder_inputs_embeds=inputs_embeds)
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds  # (N, T, E)
        check_vectors("target", words)
        words = self.dropout(words)
        cache = DecodingState() if use_cache and cache is None else cache
        if cache is not None and cache.hypothesis:
            mask, state = cache.source["mask"], cache.hypothesis
        else:
            _, final_hidden, final_cell, mask = EncoderStates.parts(encoder_states)
            state = split_layers(final_hidden, final_cell)
            if hypotheses_per_source > 1:
                state = {name: tensor.repeat_interleave(hypotheses_per_source, 0) for name, tensor in state.items()}
        check_rows(words.shape[0], mask.shape[0], state["hidden_0"].shape[0])
        outputs, state = self.lstm(words, state)
        if cache is not None:
            cache.source = {"mask": mask}  # not read again; it says how many hypotheses a source has
            cache.hypothesis, cache.seen_tokens = state, cache.seen_tokens + words.shape[1]
        return Seq2SeqModelOutput(
            last_hidden_state=outputs,
            cache=for_outputs(cache if use_cache else None),
            decoder_hidden_states=(words, outputs) if output_hidden_states else None,
        )


class Seq2SeqLSTMModel(EncoderDecoderBody, Seq2SeqLSTMPreTrainedModel):
    """Encoder and decoder without the output layer."""

    def __init__(self, config: Seq2SeqLSTMConfig) -> None:
        super().__init__(config)
        self.encoder = Seq2SeqLSTMEncoder(config)
        self.decoder = Seq2SeqLSTMDecoder(config)
        self.post_init()

    def sentence_vectors(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, part: VectorPart = "all"
    ) -> Tensor:
        """The fixed-size vectors that the encoder makes of sentences (the paper draws a projection of them).

        Args:
            input_ids: (B, S).
            attention_mask: (B, S).
            part: "all": h of every layer, then c of every layer, (B, 2LH), the 8000 numbers of the paper's model;
                "top": h of the top layer, (B, H). The paper does not say which of them its figure shows.

        Raises:
            ValueError: if `part` is something else.
        """
        if part not in ("all", "top"):
            raise ValueError(f"part is {part!r}; choose 'all' (h and c of every layer) or 'top' (h of the top layer)")
        states = self.encoder(input_ids, attention_mask, return_dict=True)
        if part == "top":
            return states.final_hidden[:, -1]
        return torch.cat([states.final_hidden.flatten(1), states.final_cell.flatten(1)], dim=1)


class Seq2SeqLSTMForConditionalGeneration(TranslationHead, Seq2SeqLSTMPreTrainedModel, ZooGenerationMixin):
    """The deep LSTM with its output layer p(y_t) = softmax(W_s h_t + b), for translation."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: Seq2SeqLSTMConfig) -> None:
        super().__init__(config)
        self.model = Seq2SeqLSTMModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.target_rows, bias=config.biases != "none")  # W_s
        self.post_init()

    def sentence_vectors(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, part: VectorPart = "all"
    ) -> Tensor:
        """See `Seq2SeqLSTMModel.sentence_vectors`."""
        return self.model.sentence_vectors(input_ids, attention_mask, part)


def build_stack(config: Seq2SeqLSTMConfig) -> StackedLSTM:
    """The layers of one side."""
    return StackedLSTM(
        config.embedding_size,
        config.hidden_size,
        config.num_hidden_layers,
        biases=cast(Literal["none", "one", "two"], config.biases),  # the config allows no others
        peephole=config.peephole,
        dropout=config.dropout,
    )
