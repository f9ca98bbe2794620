"""What the zoo's sequence-to-sequence models add to transformers' `generate`."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import GenerationConfig, GenerationMixin
from transformers.cache_utils import Cache

from hf_attention_zoo.generation.length_penalty import GNMTLengthPenalty


class ZooGenerationMixin(GenerationMixin):
    """`GenerationMixin` with the decoding options of the papers.

    - `gnmt_length_penalty=alpha`: scores are log P / ((5 + |Y|) / 6) ** alpha. Also read from the generation config.
    - Un-normalised search, as most papers of the time used: `length_penalty=0.0, early_stopping="never"`.
    - The encoder's states are not copied for the beams or samples of a sentence: they share them.
    """

    def generate(self, *args: Any, gnmt_length_penalty: float | None = None, **kwargs: Any) -> Any:
        """`GenerationMixin.generate`, and `gnmt_length_penalty` (a number of at least 0; needs `num_beams` > 1)."""
        config: GenerationConfig = kwargs.get("generation_config") or self.generation_config
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
        return super().generate(*args, **kwargs)

    def _expand_inputs_for_generation(
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = False,
        input_ids: Tensor | None = None,
        **model_kwargs: Any,
    ) -> tuple[Tensor | None, dict[str, Any]]:
        if expand_size == 1 or not is_encoder_decoder:
            return super()._expand_inputs_for_generation(expand_size, is_encoder_decoder, input_ids, **model_kwargs)
        shared = {
            name: model_kwargs.pop(name) for name in ("encoder_outputs", "attention_mask") if name in model_kwargs
        }
        if shared.get("encoder_outputs") is None:
            raise ValueError("generate was called with neither a source nor encoder_outputs")
        input_ids, model_kwargs = super()._expand_inputs_for_generation(expand_size, False, input_ids, **model_kwargs)
        model_kwargs.update(shared, hypotheses_per_source=expand_size)
        return input_ids, model_kwargs

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, next_sequence_length: int | None = None, cache: Cache | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        if next_sequence_length is None and cache is not None and cache.get_seq_length() > 0:
            # a cache handed to generate: only the tokens that it has not seen go in
            next_sequence_length = input_ids.shape[1] - cache.get_seq_length()
        return super().prepare_inputs_for_generation(
            input_ids, next_sequence_length=next_sequence_length, cache=cache, **kwargs
        )
