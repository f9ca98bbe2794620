"""What the zoo's sequence-to-sequence models add to transformers' `generate`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, GenerationMixin, LogitsProcessorList, StoppingCriteriaList
from transformers.cache_utils import Cache
from transformers.generation import BaseStreamer

from hf_attention_zoo.seq2seq.beam_search import BeamSearch
from hf_attention_zoo.seq2seq.decoding_steps import THIS_PACKAGE, DecodingSteps
from hf_attention_zoo.seq2seq.greedy_search import greedy_search
from hf_attention_zoo.seq2seq.length_penalty import GNMTLengthPenalty
from hf_attention_zoo.seq2seq.open_sources import OpenSources, current_search
from hf_attention_zoo.seq2seq.search_rules import SearchRules
from hf_attention_zoo.seq2seq.source_length_limit import limit_by_source

# Settings of a generation config that transformers does not know.
ZOO_SETTINGS = ("gnmt_length_penalty", "max_length_beyond_source")

# What `generate` hands on and what is cut when finished sources leave: rows of sources, rows of hypotheses.
SOURCE_ROWS, HYPOTHESIS_ROWS = ("encoder_outputs", "attention_mask"), ("decoder_attention_mask",)

# What transformers' search asks the model at each step. A search of ours does not: it knows the answers of the zoo.
ASKED_AT_EACH_STEP = ("prepare_inputs_for_generation", "_update_model_kwargs_for_generation")
OURS = (THIS_PACKAGE, "transformers.")

# Whether the caller of `generate` has the cache, too: then all of its rows stay in it.
cache_is_given: ContextVar[bool] = ContextVar("cache_is_given", default=False)


def is_own_method(model: Any, name: str) -> bool:
    """Whether a method is that of the zoo or of transformers, replaced neither by a subclass nor on the model."""
    return name not in vars(model) and getattr(type(model), name).__module__.startswith(OURS)


class ZooGenerationMixin(GenerationMixin):
    """`GenerationMixin` with the decoding options of the papers.

    - `gnmt_length_penalty=alpha`: scores are log P / ((5 + |Y|) / 6) ** alpha. Also read from the generation config.
    - `max_length_beyond_source=n`: every target may have n tokens more than its own source (Vaswani et al.: 50), where
      no other limit is given in the call. Also read from the generation config.
    - Un-normalised search, as most papers of the time used: `length_penalty=0.0, early_stopping="never"`.
    - The encoder's states are not copied for the beams or samples of a sentence: they share them.
    - Beam search leaves out the sources that are finished, where nothing but the sequences is returned. (A model that
      draws at random while it decodes draws for the others only.)
    - Without `attention_mask`, pads among the source ids are masked (transformers does so for decoders only).
    """

    config: Any
    main_input_name: str

    @property
    def generation_config(self) -> GenerationConfig:
        """The defaults of `generate`, saved with the model; None in a model that does not generate."""
        state: Any = self.__dict__
        return state.get("_generation_config")

    @generation_config.setter
    def generation_config(self, value: GenerationConfig | None) -> None:
        if value is not None:
            value._from_model_config = False  # a saved config with this mark loses `gnmt_length_penalty` on loading
        self.__dict__["_generation_config"] = value

    def generate(
        self,
        *args: Any,
        gnmt_length_penalty: float | None = None,
        max_length_beyond_source: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """`GenerationMixin.generate` and two settings more.

        Args:
            gnmt_length_penalty: a number of at least 0; needs `num_beams` > 1.
            max_length_beyond_source: a whole number of at least 0.
        """
        for name in ("num_beams", "num_return_sequences"):  # transformers divides by them
            value = kwargs.get(name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"{name}={value!r}; give a whole number of at least 1")
        config: GenerationConfig | None = kwargs.get("generation_config") or self.generation_config
        alpha = gnmt_length_penalty
        if alpha is None and "length_penalty" not in kwargs:
            alpha = getattr(config, "gnmt_length_penalty", None)
        if alpha is not None:
            if not isinstance(alpha, (int, float)) or isinstance(alpha, bool) or alpha < 0:
                raise ValueError(
                    f"gnmt_length_penalty is {alpha!r}; give a number of at least 0 (GNMT used 0.2, 0.6 to 1)"
                )
            if "length_penalty" in kwargs:
                raise ValueError("length_penalty and gnmt_length_penalty are two rules for the same thing; give one")
            kwargs["length_penalty"] = GNMTLengthPenalty(alpha)
        if self.config.is_encoder_decoder:
            source = self._check_source(args[0] if args else kwargs.get("inputs"), kwargs)
            beyond = max_length_beyond_source
            if beyond is None and kwargs.get("max_length") is None and kwargs.get("max_new_tokens") is None:
                beyond = getattr(config, "max_length_beyond_source", None)
            if beyond is not None:
                if self.main_input_name != "input_ids":
                    raise ValueError(
                        "max_length_beyond_source counts the words of a source, and "
                        f"{self.main_input_name} have none; give max_new_tokens"
                    )
                limit_by_source(beyond, source, self._start_symbol(config, kwargs), kwargs)
        token = current_search.set(None)  # a search inside of another one, as of a logits processor, is its own
        given = cache_is_given.set(kwargs.get("cache") is not None)
        try:
            return super().generate(*args, **kwargs)
        finally:
            current_search.reset(token)
            cache_is_given.reset(given)

    @staticmethod
    def _start_symbol(config: GenerationConfig | None, kwargs: dict[str, Any]) -> Any:
        """Id, or one of each row, that transformers puts in front of prompts that do not begin with it."""
        for name in ("decoder_start_token_id", "bos_token_id"):
            for found in (kwargs.get(name), getattr(config, name, None)):
                if found is not None:
                    return found
        return None

    def _check_source(self, inputs: Tensor | None, kwargs: dict[str, Any]) -> Tensor:
        """The source: ids, embeddings or states, (B, S) or (B, S, D). Without a mask its pads are masked.

        Raises:
            ValueError: there is none (transformers would translate the start symbol).
        """
        if kwargs.get("encoder_outputs") is not None:
            return kwargs["encoder_outputs"][0]
        names = dict.fromkeys((self.main_input_name, "input_ids", "inputs_embeds"))
        given = [inputs, *(kwargs.get(name) for name in names)]
        source = next((tensor for tensor in given if tensor is not None), None)
        if source is None:
            raise ValueError(f"generate was called without a source; give one of {', '.join(names)}, encoder_outputs")
        pad = self.config.pad_token_id
        if kwargs.get("attention_mask") is None and pad is not None and source.ndim == 2:
            kwargs["attention_mask"] = (source != pad).long()
        return source

    def compute_transition_scores(
        self,
        sequences: Tensor,
        scores: tuple[Tensor, ...],
        beam_indices: Tensor | None = None,
        normalize_logits: bool = False,
    ) -> Tensor:
        """Score of each generated word, as in transformers, where a target vocabulary of its own size gives nonsense.

        Args:
            sequences: (R, prompt + T) returned sequences.
            scores: T tensors (N, V), from `output_scores=True` or `output_logits=True`.
            beam_indices: (R, T) row of `scores` that each word came from, -1 after the end; None without beams.
            normalize_logits: turn scores into log-probabilities first.

        Returns:
            (R, T), 0 after the end of a beam.
        """
        steps = torch.stack(scores, dim=1)  # (N, T, V)
        if normalize_logits:
            steps = steps.log_softmax(-1)
        if beam_indices is None:
            beam_indices = torch.arange(steps.shape[0], device=steps.device)[:, None].expand(-1, steps.shape[1])
        length = int((beam_indices >= 0).sum(1).max())
        beams = beam_indices[:, :length]
        words = sequences[:, sequences.shape[1] - length :]
        chosen = steps[beams.clamp(min=0), torch.arange(length, device=steps.device), words]
        return chosen.masked_fill(beams < 0, 0.0)

    # transformers says what `self` is in these by a protocol that no model fits: its `device` can be set. So what is
    # above is called without types.

    def _expand_inputs_for_generation(
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = False,
        input_ids: Tensor | None = None,
        **model_kwargs: Any,
    ) -> Any:
        above: Any = super()
        expand = above._expand_inputs_for_generation
        if expand_size == 1 or not is_encoder_decoder:
            return expand(expand_size, is_encoder_decoder, input_ids, **model_kwargs)
        shared = {
            name: model_kwargs.pop(name) for name in ("encoder_outputs", "attention_mask") if name in model_kwargs
        }
        expanded_ids, expanded = expand(expand_size, False, input_ids, **model_kwargs)
        return expanded_ids, {**expanded, **shared, "hypotheses_per_source": expand_size}

    def _beam_search(
        self,
        input_ids: Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        **kwargs: Any,
    ) -> Any:
        settings = input_ids, logits_processor, stopping_criteria, generation_config
        beams, shared = generation_config.num_beams, kwargs.get("hypotheses_per_source", 1)
        rules = self._search_rules(*settings, synced_gpus, kwargs)
        if rules is not None and shared == beams:
            steps = DecodingSteps(self, input_ids, generation_config, kwargs)
            return BeamSearch(steps, rules, generation_config).run(input_ids)
        more_wanted = generation_config.return_dict_in_generate or synced_gpus or cache_is_given.get()
        others = (value for name, value in kwargs.items() if name not in (*SOURCE_ROWS, *HYPOTHESIS_ROWS))
        more_rows = any(isinstance(value, Tensor) and value.shape[:1] == input_ids.shape[:1] for value in others)
        if shared == beams and not more_wanted and not more_rows:
            current_search.set(OpenSources(input_ids.shape[0] // beams, beams))  # until `generate` ends
        above: Any = super()
        return above._beam_search(*settings, synced_gpus=synced_gpus, **kwargs)

    def _sample(
        self,
        input_ids: Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        streamer: BaseStreamer | None = None,
        **kwargs: Any,
    ) -> Any:
        settings = input_ids, logits_processor, stopping_criteria, generation_config
        rules = self._search_rules(*settings, synced_gpus, kwargs) if streamer is None else None
        # Without an end symbol, sources at their limit write on until the last one is there.
        if rules is not None and not (rules.ends is None and rules.limits is not None):
            steps = DecodingSteps(self, input_ids, generation_config, kwargs)
            return greedy_search(steps, rules, generation_config, input_ids)
        above: Any = super()
        return above._sample(*settings, synced_gpus=synced_gpus, streamer=streamer, **kwargs)

    def _search_rules(
        self,
        input_ids: Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool,
        arguments: dict[str, Any],
    ) -> SearchRules | None:
        """The rules for a search of ours, or None where transformers' own has to run."""
        cache = arguments.get("cache")
        fixed = cache is not None and not getattr(cache, "can_keep_sources", False)
        if synced_gpus or fixed or cache_is_given.get() or not self.config.is_encoder_decoder:
            return None
        if not all(is_own_method(self, name) for name in ASKED_AT_EACH_STEP):
            return None
        return SearchRules.of(input_ids, logits_processor, stopping_criteria, generation_config, arguments)

    def _check_early_stop_heuristic(self, **kwargs: Any) -> Tensor:  # type: ignore[override]  # static there
        can_improve = super()._check_early_stop_heuristic(**kwargs)
        search = current_search.get()
        if search is not None:
            search.note(can_improve, kwargs["is_sent_finished"], kwargs["early_stopping"])
        return can_improve

    def _reorder_cache(self, cache: Any, beam_idx: Tensor) -> Any:
        search = current_search.get()
        if search is not None and not search.all_computed:
            beam_idx = search.origins(beam_idx)
        cache.move_hypotheses(beam_idx)  # a beam follows one of its own source
        return cache

    def _update_model_kwargs_for_generation(
        self, outputs: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        search = current_search.get()
        if search is not None and not search.all_computed:
            outputs.logits = search.all_rows(outputs.logits)
        return super()._update_model_kwargs_for_generation(outputs, model_kwargs, *args, **kwargs)

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, next_sequence_length: int | None = None, cache: Cache | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        search = current_search.get()
        if search is not None:
            search.leave_finished(cache)
            if not search.all_computed:
                input_ids = search.of_rows(input_ids)
                given = {name: value for name, value in kwargs.items() if value is not None}
                kwargs |= {name: search.of_sources(name, given[name]) for name in given.keys() & {*SOURCE_ROWS}}
                kwargs |= {name: search.of_rows(given[name]) for name in given.keys() & {*HYPOTHESIS_ROWS}}
        if next_sequence_length is None and cache is not None and cache.get_seq_length() > 0:
            # a cache handed to generate: only the tokens that it has not seen go in
            next_sequence_length = input_ids.shape[1] - cache.get_seq_length()
        return super().prepare_inputs_for_generation(
            input_ids, next_sequence_length=next_sequence_length, cache=cache, **kwargs
        )
