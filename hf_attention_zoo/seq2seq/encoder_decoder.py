"""What the encoder-decoders with a handed-over state share: the form of an encoder's result, the body and the head.

The equations stay in the models' own files: an encoder that returns `EncoderStates`, a decoder that takes them.
Shapes: B sources, K hypotheses per source (1 except in generation), N = B K rows, S source and T target positions,
L layers, H units, V target vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.utils import can_return_tuple
from transformers.utils.deprecation import deprecate_kwarg

from hf_attention_zoo.parts.model_inputs import check_target_mask, label_loss, shift_right
from hf_attention_zoo.seq2seq.decoding_state import DecodingState
from hf_attention_zoo.seq2seq.two_vocabularies import TwoVocabularies


@dataclass
class EncoderStates(BaseModelOutput):
    """What an encoder of recurrent layers hands to the decoder.

    Attributes:
        last_hidden_state: (B, S, H) top states at their source positions, zero where nothing was read.
        final_hidden, final_cell: (B, L, H) states of every layer after the last token that was read.
        read_mask: (B, S) bool, true at the positions that were read.
    """

    final_hidden: Tensor | None = None
    final_cell: Tensor | None = None
    read_mask: Tensor | None = None

    @staticmethod
    def parts(states: EncoderStates | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """last_hidden_state, final_hidden, final_cell and read_mask, from which a decoder begins.

        Raises:
            ValueError: there are no states, or a part of them is missing.
        """
        found = () if states is None else (states.last_hidden_state, states.final_hidden, states.final_cell)
        read = None if states is None else states.read_mask
        given = [part for part in (*found, read) if part is not None]
        if len(given) != 4:
            raise ValueError(
                "encoder_states is not given or not whole; give what the encoder returned, or a cache that has begun"
            )
        return given[0], given[1], given[2], given[3]

    @classmethod
    def of(cls, outputs: Any, begun: bool = False) -> EncoderStates:
        """An earlier encoder call's result, whether it came as an object or as a tuple.

        Raises:
            ValueError: if it does not hold the final states and decoding has not `begun` (then the cache has them).
        """
        if isinstance(outputs, cls):
            return outputs
        if begun:
            return cls(outputs[0])
        if isinstance(outputs, tuple) and len(outputs) >= 4:
            return cls(outputs[0], final_hidden=outputs[-3], final_cell=outputs[-2], read_mask=outputs[-1])
        raise ValueError(
            f"encoder_outputs is a {type(outputs).__name__} without the final states of the layers; give what "
            "model.get_encoder() returns"
        )


class EncoderDecoderBody(TwoVocabularies):
    """Teacher-forced pass of an encoder and a decoder; stands before the `PreTrainedModel` among the base classes.

    The class has `encoder`, called with ids, mask and embeddings, and `decoder`, called with previous target words and
    what the encoder returned, an `encoder_result`. A decoder that takes something else of the source overrides
    `earlier_states` and `source_arguments`.
    """

    encoder_result: Any = EncoderStates
    encoder: Any
    decoder: Any
    config: Any

    def earlier_states(self, outputs: Any, begun: bool) -> Any:
        """What an earlier encoder call returned, in the form that the encoder gives; see `EncoderStates.of`."""
        return self.encoder_result.of(outputs, begun=begun)

    def source_arguments(self, states: Any, attention_mask: Tensor | None) -> tuple[Any, ...]:
        """What the decoder takes of the source."""
        return (states,)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: DecodingState | None = None,
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
            ValueError: if neither or both of ids and embeddings are given on a side, or the target is padded on the
                left.
        """
        config = self.config
        check_target_mask(decoder_attention_mask)
        if output_hidden_states is None:
            output_hidden_states = config.output_hidden_states
        if encoder_outputs is None:
            states = self.encoder(
                input_ids, attention_mask, inputs_embeds, output_hidden_states=output_hidden_states, return_dict=True
            )
        else:
            begun = cache is not None and bool(cache.hypothesis)
            states = self.earlier_states(encoder_outputs, begun)
        decoded = self.decoder(
            decoder_input_ids,
            *self.source_arguments(states, attention_mask),
            decoder_inputs_embeds,
            cache=cache,
            use_cache=config.use_cache if use_cache is None else use_cache,
            output_attentions=config.output_attentions if output_attentions is None else output_attentions,
            output_hidden_states=output_hidden_states,
            hypotheses_per_source=hypotheses_per_source,
            return_dict=True,
        )
        decoded.encoder_last_hidden_state = states.last_hidden_state
        decoded.encoder_hidden_states = states.hidden_states
        return decoded


class TranslationHead(TwoVocabularies):
    """The output layer's forward, loss and conversions; stands first among the base classes.

    The class has `model`, a body, and `lm_head`.
    """

    model: Any
    lm_head: Any
    config: Any

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the decoder makes its own DecodingState

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Targets moved one to the right behind the start symbol, (B, T) -> (B, T)."""
        return shift_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)

    def mask_of_targets(self, given: Tensor | None, labels: Tensor, cache: Any) -> Tensor | None:
        """(N, T) which target words are computed, if labels are given."""
        return given

    def logits_and_loss(
        self, states: Tensor, labels: Tensor | None, mask: Tensor | None, cache: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor | None]:
        """The decoder's states (N, T, H) -> (N, T, V) and, with labels, the loss."""
        logits = self.lm_head(states)
        return logits, None if labels is None else label_loss(self, logits, labels, **kwargs)

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "5.40.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | tuple[Tensor, ...] | None = None,
        cache: Any = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Logits and, with labels, the loss.

        Args:
            input_ids: (B, S) source ids with their end symbol; or `inputs_embeds` (B, S, embedding size), rows of the
                source table, whose last real one is taken to be the end symbol's.
            attention_mask: (B, S), 1 at tokens; pads may stand on either side.
            decoder_input_ids: (N, T) previous target words; made from `labels` if not given.
            decoder_attention_mask: (N, T), 1 at tokens. Pads on the right need none, since later words are never
                seen; the Transformer does not compute them where it is given, so that their logits are of no use.
            encoder_outputs: what `get_encoder()` returned earlier, in place of the source.
            cache: what an earlier call gave out: the decoder after the words that it has seen.
            labels: (N, T) target ids, -100 where there is nothing to predict.
            output_attentions: give out the weights; in the Transformer the plain kernel computes them then.
            hypotheses_per_source: K, set by `generate` when beams share a source.

        Returns:
            loss (mean over target tokens, or their sum over `num_items_in_batch`) and logits (N, T, V); on request the
            hidden states of both sides and, of models that have them, cross_attentions, one tensor (N, h, T, S) per
            layer (h and the layers 1 in recurrent models), encoder_attentions (B, h, S, S) and decoder_attentions
            (N, h, T, T).

        Raises:
            ValueError: if neither labels nor decoder inputs are given, or a side has both ids and embeddings.
        """
        if labels is not None:
            use_cache = False if use_cache is None else use_cache
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
            decoder_attention_mask = self.mask_of_targets(decoder_attention_mask, labels, cache)
        decoded = self.model(
            input_ids,
            attention_mask,
            decoder_input_ids,
            decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            cache=cache,
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            hypotheses_per_source=hypotheses_per_source,
            return_dict=True,
        )
        made = dict(decoded)
        states = made.pop("last_hidden_state")
        logits, loss = self.logits_and_loss(states, labels, decoder_attention_mask, cache, **kwargs)
        return Seq2SeqLMOutput(loss=loss, logits=logits, **made)


def check_rows(rows: int, sources: int, state_rows: int) -> None:
    """Target rows fit the sources and the cached state, or ValueError."""
    if rows % sources or state_rows != rows:
        raise ValueError(
            f"{rows} target rows for {sources} sources and a state of {state_rows} rows; give one target row per "
            "source (per hypothesis in generation)"
        )
