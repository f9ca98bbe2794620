"""The part of a configuration that all translators share."""

from __future__ import annotations

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS


@strict
class TranslatorConfig(PreTrainedConfig):
    """Two vocabularies and the symbols of a translator. Each model adds its sizes and choices, and checks them.

    Args:
        decoder_vocab_size: rows of the target embedding and of the output layer; `vocab_size` if not given.
    """

    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 30_000
    decoder_vocab_size: int | None = None
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | list[int] | None = 3
    decoder_start_token_id: int | None = 2
    tie_word_embeddings: bool = False

    @property
    def target_rows(self) -> int:
        """Rows of the target side: `decoder_vocab_size`, or as many as the source has."""
        return self.vocab_size if self.decoder_vocab_size is None else self.decoder_vocab_size

    def __post_init__(self, **kwargs: Any) -> None:
        self.decoder_vocab_size = self.target_rows
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, probabilities below 1."""

    def validate_choices(self) -> None:
        """Named choices are known and go together."""
