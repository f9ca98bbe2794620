"""The encoder of the deep LSTM translators: the source, last word first if the config says so, through all layers.

Shapes: B sources, S positions, E embedding, H cells, L layers.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers.utils import can_return_tuple

from hf_attention_zoo.parts.model_inputs import encoder_mask, one_of
from hf_attention_zoo.recurrent.bidirectional import put_back, take
from hf_attention_zoo.recurrent.reversing import check_something_is_read, ends_with_symbol, plan_reading
from hf_attention_zoo.seq2seq.encoder_decoder import EncoderStates


class StackedEncoder:
    """Stands before the `PreTrainedModel` among the base classes. The class has `embed_tokens`, `lstm` and `dropout`.

    Attributes:
        needs_a_word: whether a source without a token is an error; else all of its states are zero.
    """

    needs_a_word = False
    embed_tokens: Any
    lstm: Any
    dropout: Any
    config: Any

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> EncoderStates:
        """ids (B, S) or embeddings (B, S, E), mask (B, S) -> top states (B, S, H) and final states (B, L, H).

        The top states stand in the order of the sentence, whichever way it was read.

        Raises:
            ValueError: neither or both of ids and embeddings, or a row without a token where one is needed.
        """
        one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        mask = encoder_mask(attention_mask, embedded)
        plan = plan_reading(
            mask,
            ends_with_symbol(input_ids, mask, self.config.eos_token_id),
            reverse=self.config.reverse_source,
            read_end=self.config.source_eos,
        )
        if self.needs_a_word:
            check_something_is_read(plan)
        embedded = self.dropout(embedded)
        outputs, hidden, cell = self.lstm(take(embedded, plan.order), lengths=plan.lengths)
        states = put_back(outputs, plan.order)  # (B, S, H)
        return EncoderStates(
            last_hidden_state=states,
            hidden_states=(embedded, states) if output_hidden_states else None,
            final_hidden=hidden,
            final_cell=cell,
            read_mask=plan.read,
        )
