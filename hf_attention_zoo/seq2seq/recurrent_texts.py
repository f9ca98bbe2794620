"""What networks that read one text with a state share: the body that goes through it, and the heads.

The equations stay in the cells and in the models' own files. Shapes: B rows, T positions, H hidden units, V words.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import (
    BaseModelOutputWithPast,
    CausalLMOutputWithPast,
    SequenceClassifierOutputWithPast,
)
from transformers.modeling_utils import slice_logits_to_keep
from transformers.utils import can_return_tuple

from hf_attention_zoo.loops.decoder_loop import State
from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.losses.classification_loss import classification_loss
from hf_attention_zoo.parts.model_inputs import label_loss
from hf_attention_zoo.parts.prompts import PromptNeeded
from hf_attention_zoo.parts.text_inputs import check_same_shape, text_shape, wanted_outputs
from hf_attention_zoo.recurrent.reading_in_time import read_in_time
from hf_attention_zoo.seq2seq.decoding_state import DecodingState


class RecurrentBody:
    """Reads texts layer by layer; stands before the `PreTrainedModel` among the base classes.

    The class has `embed_tokens` and `layers`, cells of `recurrent/` from below; or a `zero_state` and a `read` of its
    own.

    Attributes:
        carried: where the rows of the last batch of a training ended, for a `stateful` config.
    """

    config: Any
    training: bool
    embed_tokens: nn.Module
    layers: Any  # an nn.ModuleList of cells
    carried: State | None = None

    @property
    def truncation(self) -> int | None:
        """Steps that errors go back in time at most; None for all."""
        return None

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        cache: DecodingState | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPast:
        """States (B, T, H) of the top layer after each token; at a pad that of the token before it, or 0.

        Args:
            input_ids: (B, T), or `inputs_embeds`, (B, T, width of the table).
            attention_mask: (B, tokens in the cache and T), 1 at tokens; pads, on either side, leave the state as it
                is. By default all are tokens.
            token_type_ids: not read: of a pair of texts, the second is read behind the first.
            cache: the state after the tokens before these.

        Raises:
            ValueError: inputs of other shapes, or a cache of another number of rows.
        """
        rows, length = text_shape(input_ids, inputs_embeds)
        _, with_states = wanted_outputs(self.config, None, output_hidden_states)
        use_cache = self.config.use_cache if use_cache is None else use_cache
        cache = DecodingState() if use_cache and cache is None else cache
        words = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        real = self._real_tokens(attention_mask, rows, length, 0 if cache is None else cache.get_seq_length())
        begun = cache.hypothesis if cache is not None and cache.hypothesis else self._first_state(words)
        check_same_shape((rows,), cache=next(iter(begun.values()))[:, 0])
        outputs, state = self.read(words, real, begun)
        if cache is not None:
            cache.hypothesis, cache.seen_tokens = state, cache.seen_tokens + length
        if self.config.stateful and self.training:
            self.carried = {name: tensor.detach() for name, tensor in state.items()}
        return BaseModelOutputWithPast(
            last_hidden_state=outputs[-1],
            cache=cache if use_cache else None,
            hidden_states=(words, *outputs) if with_states else None,
        )

    def read(self, words: Tensor, real: Tensor | None, state: State) -> tuple[list[Tensor], State]:
        """Every layer over the whole text, each on what the one below gives: (B, T, E) -> (B, T, H) each."""
        outputs: list[Tensor] = []
        ends: State = {}
        below = words
        for number, layer in enumerate(self.layers):
            begun = {name.removesuffix(f"_{number}"): state[name] for name in state if name.endswith(f"_{number}")}
            below = functional.dropout(below, self.config.dropout, self.training)
            below, end = read_in_time(layer, below, begun, real, self.truncation)
            outputs.append(below)
            ends |= {f"{name}_{number}": tensor for name, tensor in end.items()}
        return outputs, ends

    def _real_tokens(self, mask: Tensor | None, rows: int, length: int, seen: int) -> Tensor | None:
        """Which of these positions are tokens, (B, T) bool; None if all are."""
        if mask is None:
            return None
        real = mask[:, -length:].bool()
        if is_recorded():
            return real
        check_same_shape((rows, seen + length), attention_mask=mask)
        return None if bool(real.all()) else real

    def zero_state(self, words: Tensor) -> State:
        """The state before the first token of a text."""
        return {
            f"{name}_{number}": tensor
            for number, layer in enumerate(self.layers)
            for name, tensor in layer.zero_state(words).items()
        }

    def _first_state(self, words: Tensor) -> State:
        """That of new texts, or in the training of a `stateful` model what the last batch left."""
        state = self.zero_state(words)
        if not (self.config.stateful and self.training and self.carried):
            return state
        for name, tensor in state.items():
            kept = self.carried[name][: len(tensor)].to(tensor)
            state[name] = torch.cat([kept, tensor[len(kept) :]])
        return state

    def reset_state(self) -> None:
        """Let the next batch of a stateful training begin from zero."""
        self.carried = None

    def carried_tensors(self) -> State:
        """`carried`, for the checkpoints of a run: name -> (B, ...)."""
        return self.carried or {}

    def carry_on(self, tensors: State) -> None:
        """Go on from what `carried_tensors` gave."""
        self.carried = tensors


class CausalHead(PromptNeeded):
    """Predicts every token from those before it; stands first among the base classes.

    The class has `model`, a body with a `DecodingState` or another cache of its own, and `lm_head`.
    """

    model: Any
    lm_head: Any
    config: Any
    training: bool

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the body makes its own DecodingState

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        cache: DecodingState | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """Logits (B, T, V) of the token behind each and, with labels, the mean loss; the rest as of the body.

        Args:
            labels: (B, T), the ids themselves, -100 where there is nothing to predict: each is compared with the
                logits of the token before it, if there is one.
            logits_to_keep: only those of so many last positions, or of these positions; not with labels.
            shift_labels: (B, T), labels that stand one place further left already, in place of `labels`, where texts
                are divided among processes. Among the keywords, since Trainer asks for all labels of a signature.
        """
        targets = kwargs.pop("shift_labels", None)
        if targets is None and labels is not None:
            targets = functional.pad(labels[:, 1:], (0, 1), value=-100)
        if targets is not None:
            use_cache = False if use_cache is None else use_cache
        read = self.model(
            input_ids,
            attention_mask,
            inputs_embeds=inputs_embeds,
            cache=cache,
            use_cache=use_cache,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        states, loss = read.last_hidden_state, None
        if targets is None:
            states = slice_logits_to_keep(states, logits_to_keep)
        logits = self.lm_head(functional.dropout(states, self.config.dropout, self.training))
        if targets is not None:
            check_same_shape(states.shape[:2], labels=targets)
            if attention_mask is not None and attention_mask.shape == targets.shape:
                targets = targets.masked_fill(~attention_mask.bool(), -100)  # nothing is predicted from a pad
            loss = label_loss(self, logits, targets, **kwargs)
        return CausalLMOutputWithPast(loss=loss, logits=logits, cache=read.cache, hidden_states=read.hidden_states)


class LabelHead:
    """Labels, or numbers, of texts: the state after the last token, one linear layer; stands first among the bases.

    The class has `model`, a body whose state stays at pads, and `classifier`.
    """

    model: Any
    classifier: Any
    config: Any
    training: bool

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutputWithPast:
        """Logits (B, num_labels) and, with labels, the loss; the rest as of the body.

        Args:
            attention_mask: by default all ids but `pad_token_id` are tokens. A text without a token has the state 0.
            labels: (B), or floats as `config.problem_type` says.
        """
        pad = self.config.pad_token_id
        if attention_mask is None and input_ids is not None and pad is not None:
            attention_mask = input_ids != pad
        read = self.model(
            input_ids,
            attention_mask,
            inputs_embeds=inputs_embeds,
            use_cache=False,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        last = read.last_hidden_state[:, -1]  # pads have left it as it was
        logits = self.classifier(functional.dropout(last, self.config.dropout, self.training))
        loss = None if labels is None else classification_loss(self, logits, labels, **kwargs)
        return SequenceClassifierOutputWithPast(loss=loss, logits=logits, hidden_states=read.hidden_states)
