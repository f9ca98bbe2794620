"""The model's side of a search: the prompt in one pass, then a word of every hypothesis at each step.

Sources that are finished can leave: their rows go out of the model's batch and of its cache. A step calls decoder and
output layer themselves where the model around them adds nothing, which for one sentence would take much of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.utils import ModelOutput

from hf_attention_zoo.loops.may_run import GLOBAL_HOOKS, HOOKS
from hf_attention_zoo.loops.packed_products import packed_output
from hf_attention_zoo.seq2seq.encoder_decoder import TranslationHead
from hf_attention_zoo.seq2seq.open_sources import select_rows
from hf_attention_zoo.seq2seq.search_rules import STEP_ARGUMENTS, STEP_FLAGS


@dataclass
class Step:
    """Logits (C K, 1, V) behind the last words, and the decoder's state."""

    logits: Tensor
    cache: Any


THIS_PACKAGE = f"{__name__.partition('.')[0]}."  # what the names of its modules begin with
REPLACED = ("forward", "logits_and_loss", "source_arguments", "earlier_states")


def adds_nothing(module: Any) -> bool:
    """Whether a call is what the module's class, one of this package, does: no hook, no method of somebody else's."""
    own = type(module).__module__.startswith(THIS_PACKAGE)
    return own and not any(name in vars(module) for name in REPLACED) and not any(getattr(module, h) for h in HOOKS)


class DecodingSteps:
    """Runs a model step by step.

    Args:
        model: an encoder-decoder of the zoo.
        input_ids: (B K, T) prompts, those of one source next to each other.
        config: the settings of `generate`.
        arguments: keywords for the model, as `generate` has made them.

    Attributes:
        number: B sources at first.
        sources: (C,) numbers of the sources that are still here, None while all are.
        cache: the decoder's state.
        outputs: what the decoder gave out at each step besides logits, where the settings ask for it.
    """

    def __init__(self, model: Any, input_ids: Tensor, config: GenerationConfig, arguments: dict[str, Any]) -> None:
        self.model, self.arguments, self.config = model, arguments, config
        self.number = input_ids.shape[0] // (arguments.get("hypotheses_per_source") or 1)
        self.sources: Tensor | None = None
        self.outputs: dict[str, tuple[Any, ...]] = {}
        if config.return_dict_in_generate and config.output_attentions:
            self.outputs |= {"decoder_attentions": (), "cross_attentions": ()}
        if config.return_dict_in_generate and config.output_hidden_states:
            self.outputs |= {"decoder_hidden_states": ()}
        self.cache: Any = arguments.get("cache")
        names = (*STEP_ARGUMENTS, *STEP_FLAGS)
        self._arguments = {name: arguments[name] for name in names if arguments.get(name) is not None}
        self._direct = (
            not self.outputs
            and not any(GLOBAL_HOOKS)
            and isinstance(model, TranslationHead)
            and type(model).forward is TranslationHead.forward
            and hasattr(model.model, "source_arguments")
            and adds_nothing(model)
            and adds_nothing(model.model)
        )
        self._output: Callable[[Tensor], Tensor] | None = None
        self._states: Callable[[Tensor, Any], Tensor] | None = None
        if self._direct:
            self._output = packed_output(model.lm_head, input_ids.shape[0])
        self._first: Any
        if self._begins(input_ids, config):
            self._first = self._next_directly(input_ids[:, 0])
        else:
            self._first = model._prefill(input_ids, config, arguments, is_first_iteration=not config.is_assistant)
        self.cache = self._first.cache
        if self._direct and hasattr(model.model.decoder, "search_step") and adds_nothing(model.model.decoder):
            self._states = model.model.decoder.search_step(input_ids.shape[0])

    def _begins(self, input_ids: Tensor, config: GenerationConfig) -> bool:
        """Whether the prompt is the start symbol alone, of which the decoder needs to be told nothing else."""
        fresh = self.cache is None or self.cache.get_seq_length() == 0
        read = isinstance(self._arguments.get("encoder_outputs"), ModelOutput)
        return self._direct and fresh and read and input_ids.shape[1] == 1 and not config.is_assistant

    @property
    def first(self) -> Any:
        """The model's output for the prompt, to be read once."""
        first, self._first = self._first, None
        return first

    def logits(self, output: Any) -> Tensor:
        """(C K, V) of the last word, in float32; keeps what was asked for of the rest."""
        self.cache = output.cache
        self.outputs = {name: (*kept, getattr(output, name, None)) for name, kept in self.outputs.items()}
        return output.logits[:, -1].float()

    def next(self, words: Tensor) -> Any:
        """The model's output for the next word of every hypothesis, (C K,)."""
        if self._direct:
            return self._next_directly(words)
        return self.model(decoder_input_ids=words[:, None], cache=self.cache, return_dict=True, **self._arguments)

    def _next_directly(self, words: Tensor) -> Step:
        """What the model would do, without what it does for others."""
        model, given = self.model, self._arguments
        if self._states is not None:
            return self._step(self._states(words, self.cache)[:, None], self.cache)
        states = model.model.earlier_states(given["encoder_outputs"], self.cache is not None)
        source = model.model.source_arguments(states, given.get("attention_mask"))
        decoded = model.model.decoder(
            words[:, None],
            *source,
            cache=self.cache,
            use_cache=True,
            output_attentions=False,
            output_hidden_states=False,
            hypotheses_per_source=given.get("hypotheses_per_source", 1),
            return_dict=True,
        )
        return self._step(decoded.last_hidden_state, decoded.cache)

    def _step(self, states: Tensor, cache: Any) -> Step:
        """States (N, 1, D) of the last words -> the step with their logits."""
        if self._output is not None:
            return Step(self._output(states[:, 0])[:, None], cache)
        return Step(self.model.logits_and_loss(states, None, None, cache)[0], cache)

    def keep_sources(self, staying: Tensor) -> None:
        """Keep the sources at these places of the present ones."""
        here = torch.arange(self.number, device=staying.device) if self.sources is None else self.sources
        number = len(here)
        self.cache.keep_sources(staying)
        for name in ("encoder_outputs", "attention_mask"):
            if name in self._arguments:
                self._arguments[name] = select_rows(self._arguments[name], staying, number)
        self.sources = here[staying]

    def given_out(self) -> dict[str, Any]:
        """What `generate` returns of the model's outputs."""
        encoder = self.arguments["encoder_outputs"]
        made: dict[str, Any] = {**self.outputs, "cache": self.cache}
        if self.config.output_attentions:
            made["encoder_attentions"] = encoder.get("attentions")
        if self.config.output_hidden_states:
            made["encoder_hidden_states"] = encoder.get("hidden_states")
        return made
