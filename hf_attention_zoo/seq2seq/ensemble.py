"""Several trained models that decode together.

    ensemble = TranslationEnsemble.from_checkpoints(["run-1", "run-2", "run-3"])
    ensemble.generate(**tokenizer(texts, return_tensors="pt", padding=True), num_beams=5)

At every step each member gives a distribution over the next word, and the search follows their combination:

    arithmetic   p = mean of p_m                       average of the probabilities
    geometric    p = prod p_m^(1/M), normalised        average of the logits; what Luong's released code does

Members may be of different architectures; they must share the vocabularies. Each keeps its own encoder states and its
own decoding state. Alignments are averaged over the members that have them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from hf_attention_zoo.parts.model_inputs import label_loss, shift_right
from hf_attention_zoo.seq2seq.decoding_state import for_outputs, reorder
from hf_attention_zoo.seq2seq.unknown_words import attends_to_source
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin

RULES = ("arithmetic", "geometric")
_SHARED_FIELDS = ("vocab_size", "decoder_vocab_size", "pad_token_id", "eos_token_id", "decoder_start_token_id")


@dataclass
class EnsembleEncoderOutput(BaseModelOutput):
    """What the members' encoders gave; `last_hidden_state` is the first one's."""

    members: tuple[Any, ...] | None = None


class EnsembleState(Cache):
    """The decoding states of all members; beams change places in all of them."""

    def __init__(self, members: Sequence[Cache]) -> None:
        super().__init__(layers=[])
        self.members: list[Any] = list(members)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.members[0].get_seq_length()

    def get_max_length(self, layer_idx: int | None = None) -> int:
        return -1

    def reset(self) -> None:
        for member in self.members:
            member.reset()

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Row i becomes what row beam_idx[i] was."""
        for member in self.members:
            reorder(member, beam_idx)

    def move_hypotheses(self, rows: Tensor) -> None:
        """Row i becomes what row rows[i] was, a row of the same source."""
        for member in self.members:
            member.move_hypotheses(rows)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row becomes `repeats` rows."""
        for member in self.members:
            member.batch_repeat_interleave(repeats)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows `indices`."""
        for member in self.members:
            member.batch_select_indices(indices)

    @property
    def can_keep_sources(self) -> bool:
        """Whether sources can leave the states of all members."""
        return all(getattr(member, "can_keep_sources", False) for member in self.members)

    def keep_sources(self, sources: Tensor) -> None:
        """Keep the sources of these numbers with all their hypotheses."""
        for member in self.members:
            member.keep_sources(sources)

    @property
    def is_compileable(self) -> bool:
        return False

    @property
    def is_croppable(self) -> bool:
        return False

    @property
    def is_linear(self) -> list[bool]:
        return [False]


class _EnsembleEncoder(nn.Module):
    """Runs the encoder of every member on the same source."""

    main_input_name = "input_ids"

    def __init__(self, encoders: Sequence[nn.Module]) -> None:
        super().__init__()
        self.encoders = tuple(encoders)  # not registered again: they belong to their models

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, return_dict: bool = True, **kwargs: Any
    ) -> EnsembleEncoderOutput:
        outputs = tuple(encoder(input_ids, attention_mask, return_dict=True, **kwargs) for encoder in self.encoders)
        return EnsembleEncoderOutput(last_hidden_state=outputs[0].last_hidden_state, members=outputs)


class TranslationEnsemble(PreTrainedModel, ZooGenerationMixin):
    """Sequence-to-sequence models of the zoo as one model that generates.

    Args:
        members: at least one trained model; their weights are shared with it, not copied.
        combine: "arithmetic" or "geometric", see above.

    Raises:
        ValueError: if there is no member, they do not share their vocabularies, or the rule is unknown.
    """

    config_class = PreTrainedConfig
    main_input_name = "input_ids"
    _is_stateful = True
    # It attends to nothing itself: what its members' config asks for is theirs.
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    def __init__(
        self, members: Sequence[PreTrainedModel], combine: Literal["arithmetic", "geometric"] = "arithmetic"
    ) -> None:
        members = list(members)
        _check_members(members, combine)
        super().__init__(copy.deepcopy(members[0].config))
        self.generation_config = copy.deepcopy(members[0].generation_config)
        self.members = nn.ModuleList(members)
        self.combine = combine
        self.encoder = _EnsembleEncoder([member.get_encoder() for member in members])
        self.eval()

    @classmethod
    def from_checkpoints(
        cls,
        checkpoints: Sequence[str | PathLike[str]],
        combine: Literal["arithmetic", "geometric"] = "arithmetic",
        **kwargs: Any,
    ) -> TranslationEnsemble:
        """Load the members from folders or Hub ids; keywords are those of `from_pretrained`."""
        from transformers import AutoModelForSeq2SeqLM

        return cls([AutoModelForSeq2SeqLM.from_pretrained(path, **kwargs) for path in checkpoints], combine)

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # each member makes its own

    def get_encoder(self, *args: Any, **kwargs: Any) -> nn.Module:
        """All encoders as one."""
        return self.encoder

    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        """Not offered: an ensemble has no weights of its own."""
        raise ValueError(
            "an ensemble is not saved as one model: save each of its `members`, and put them together again with "
            "TranslationEnsemble.from_checkpoints"
        )

    @property
    def alignment_shift(self) -> int:
        """That of the members that attend, see `LuongForConditionalGeneration`; 0 for models that say nothing.

        Raises:
            ValueError: if members disagree, since their averaged alignment belongs to no one word.
        """
        shifts = {getattr(member, "alignment_shift", 0) for member in self.members if attends_to_source(member)}
        if len(shifts) > 1:
            raise ValueError(
                f"the members' alignments explain words {sorted(shifts)} steps after their prediction, so that their "
                "mean belongs to no one word: unknown words cannot be replaced, and align wants shift=0 or shift=1"
            )
        return shifts.pop() if shifts else 0

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Targets moved one to the right behind the start symbol, (B, T) -> (B, T)."""
        return shift_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: EnsembleEncoderOutput | None = None,
        cache: EnsembleState | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """Log-probabilities of the combination as `logits` (B, T, V), and with labels their mean loss."""
        if labels is not None and decoder_input_ids is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if encoder_outputs is None and (cache is None or cache.get_seq_length() == 0):
            encoder_outputs = self.encoder(input_ids, attention_mask)
        encoded = None if encoder_outputs is None else encoder_outputs.members
        outputs = [
            member(
                attention_mask=attention_mask,
                decoder_input_ids=decoder_input_ids,
                decoder_attention_mask=decoder_attention_mask,
                encoder_outputs=None if encoded is None else encoded[k],
                cache=None if cache is None else cache.members[k],
                use_cache=use_cache,
                output_attentions=output_attentions,
                hypotheses_per_source=hypotheses_per_source,
                return_dict=True,
            )
            for k, member in enumerate(self.members)
        ]
        logits = combined([output.logits for output in outputs], self.combine)
        states = [output.cache for output in outputs]
        attentions = [output.cross_attentions[-1] for output in outputs if output.cross_attentions]
        return Seq2SeqLMOutput(
            loss=None if labels is None else label_loss(self, logits, labels),
            logits=logits,
            cache=for_outputs(EnsembleState(states) if all(state is not None for state in states) else None),
            cross_attentions=(torch.stack([a.mean(1, keepdim=True) for a in attentions]).mean(0),)
            if attentions
            else None,
            encoder_last_hidden_state=None if encoder_outputs is None else encoder_outputs.last_hidden_state,
        )


def combined(logits: Sequence[Tensor], rule: str) -> Tensor:
    """Log-probabilities of the combination of M distributions given by logits (..., V), in float32 or better."""
    logs = torch.stack([x if x.dtype == torch.float64 else x.float() for x in logits]).log_softmax(-1)
    if rule == "arithmetic":
        return logs.logsumexp(0) - math.log(len(logits))
    return logs.mean(0).log_softmax(-1)


def _check_members(members: Sequence[PreTrainedModel], combine: str) -> None:
    if not members:
        raise ValueError("an ensemble needs at least one member")
    if combine not in RULES:
        raise ValueError(f"combine is {combine!r}; choose one of {', '.join(RULES)}")
    first = members[0].config
    for k, member in enumerate(members[1:], start=1):
        for name in _SHARED_FIELDS:
            ours, theirs = getattr(first, name, None), getattr(member.config, name, None)
            if ours != theirs:
                raise ValueError(
                    f"members 0 and {k} have {name} {ours} and {theirs}; members must be trained with one tokenizer"
                )
