"""What a search of ours must obey, read from the settings of transformers' `generate`.

`SearchRules.of` is the one place that decides whether a search may run: it knows every logits processor and stopping
criterion by its exact class, and gives None where one is unknown, so that transformers' own search obeys it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, StoppingCriteria
from transformers.generation import (
    EosTokenCriteria,
    MaxLengthCriteria,
    MinLengthLogitsProcessor,
    MinNewTokensLengthLogitsProcessor,
    SuppressTokensLogitsProcessor,
)

from hf_attention_zoo.seq2seq.source_length_limit import SourceLengthLimit

# What the model's forward gets at each step, besides the words and the cache.
STEP_ARGUMENTS = ("encoder_outputs", "attention_mask", "hypotheses_per_source")
STEP_FLAGS = ("use_cache", "output_attentions", "output_hidden_states")


@dataclass
class SearchRules:
    """Where hypotheses end, and which words are forbidden.

    Attributes:
        prompt: tokens of the prompt.
        max_length: tokens that a hypothesis may have, prompt included.
        ends: (E,) ids of the end symbols, or None.
        limits: (B,) tokens that the hypotheses of each source may have, prompt included; None without such a rule.
        forbidden: ids that no word may have.
        forbidden_until: (length, ids): ids that are forbidden while a hypothesis is shorter, prompt included.
    """

    prompt: int
    max_length: int
    ends: Tensor | None = None
    limits: Tensor | None = None
    forbidden: list[Tensor] = field(default_factory=list)
    forbidden_until: list[tuple[int, Tensor]] = field(default_factory=list)
    _masks: dict[int, Tensor] = field(default_factory=dict)  # number of rules -> words (V,) that they forbid

    @classmethod
    def of(
        cls,
        input_ids: Tensor,
        processors: Iterable[LogitsProcessor],
        criteria: Iterable[StoppingCriteria],
        config: GenerationConfig,
        arguments: dict[str, Any],
    ) -> SearchRules | None:
        """The rules of this call, or None if there is one that no search of ours knows.

        Args:
            input_ids: (N, T) prompts.
            processors, criteria, config: as `generate` has made them.
            arguments: the keywords for the model.
        """
        given = {name for name, value in arguments.items() if value is not None}
        other = config.do_sample or config.low_memory or config.prefill_chunk_size is not None
        if other or not arguments.get("use_cache") or given - {*STEP_ARGUMENTS, *STEP_FLAGS, "cache"}:
            return None
        rules = cls(input_ids.shape[1], config.max_length)
        known = [rules._take(rule, input_ids.device) for rule in (*processors, *criteria)]
        return rules if all(known) else None

    def _take(self, rule: Any, device: torch.device) -> bool:
        """Note a logits processor or a stopping criterion; false if its class is not known."""
        kind = type(rule)
        if kind is MaxLengthCriteria:
            self.max_length = min(self.max_length, rule.max_length)
        elif kind is EosTokenCriteria and self.ends is None:
            self.ends = rule.eos_token_id.to(device)
        elif kind is SourceLengthLimit and self.limits is None:
            self.limits = rule.limits.to(device)
        elif kind is MinLengthLogitsProcessor:
            self.forbidden_until.append((rule.min_length, rule.eos_token_id.to(device)))
        elif kind is MinNewTokensLengthLogitsProcessor:
            shortest = rule.prompt_length_to_skip + rule.min_new_tokens
            self.forbidden_until.append((shortest, rule.eos_token_id.to(device)))
        elif kind is SuppressTokensLogitsProcessor:
            self.forbidden.append(rule.suppress_tokens.to(device))
        else:
            return False
        return True

    def forbid(self, scores: Tensor, length: int, in_place: bool = False) -> Tensor:
        """Scores (N, V) of the words behind hypotheses of `length` tokens, with -inf at forbidden words.

        Args:
            scores: of all words.
            length: tokens of the hypotheses, prompt included.
            in_place: whether to write into them.
        """
        columns = [*self.forbidden, *(ids for until, ids in self.forbidden_until if length < until)]
        if not columns:
            return scores
        if len(columns) not in self._masks:  # rules end one after the other: their number tells which are left
            words = torch.arange(scores.shape[1], device=scores.device)
            self._masks[len(columns)] = torch.isin(words, torch.cat([ids.flatten() for ids in columns]))
        fill = scores.masked_fill_ if in_place else scores.masked_fill
        return fill(self._masks[len(columns)], -torch.inf)

    def ended(self, words: Tensor, length: int, sources: Tensor | None) -> Tensor:
        """Which hypotheses end with these words, (C, W) -> (C, W) bool.

        Args:
            words: ids.
            length: tokens of the hypotheses with them, prompt included.
            sources: (C,) numbers of the rows' sources; None if all are here.
        """
        if length >= self.max_length:
            return torch.ones_like(words, dtype=torch.bool)
        if self.ends is None:
            ended = torch.zeros_like(words, dtype=torch.bool)
        else:
            ended = words == self.ends if self.ends.numel() == 1 else torch.isin(words, self.ends)
        if self.limits is not None:
            limits = self.limits if sources is None else self.limits[sources]
            ended = ended | (limits <= length)[:, None]
        return ended
