"""Configuration of RNNsearch (Bahdanau, Cho and Bengio 2015, arXiv 1409.0473)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

TIMINGS = ("paper", "groundhog", "appendix")
BIASES = ("affine", "groundhog", "none")


@strict
class RNNsearchConfig(PreTrainedConfig):
    """Sizes and choices of RNNsearch; the defaults are the paper's.

    Args:
        vocab_size: rows of the source embedding (the paper's 30,000 words and the end symbol).
        decoder_vocab_size: rows of the target embedding and of the output layer; `vocab_size` if not given.
        embedding_size: m, A.2.3.
        hidden_size: n, units of each encoder direction and of the decoder, A.2.3.
        attention_size: n', hidden units of the alignment model, A.2.3.
        maxout_size: l, maxout units of the output layer (two pieces each), A.2.3.
        decoder_timing: which state reads and which speaks. "paper": Section 3.1, s_i speaks; "appendix": A.2.2 as
            printed, s_{i-1} speaks; "groundhog": the authors' code, which produced the published numbers: the state
            has consumed y_{i-1} before it aligns, and no step is spent on the start symbol.
        biases: "affine": one per affine map (the paper leaves them out "to increase readability"); "groundhog": where
            the authors' code has them; "none".
        output_rank: rank of the factorised output layer of the authors' code (620), None for the paper's plain one.
        dropout: on embeddings and on the maxout units; the paper has none.
        initializer_range: standard deviation of the weights that are neither recurrent nor part of the alignment, B.1.
        attention_initializer_range: standard deviation of W_a and U_a, B.1.
    """

    model_type = "rnnsearch"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 30_001
    decoder_vocab_size: int | None = None
    embedding_size: int = 620
    hidden_size: int = 1000
    attention_size: int = 1000
    maxout_size: int = 500
    decoder_timing: str = "paper"
    biases: str = "affine"
    output_rank: int | None = None
    dropout: float | int = 0.0
    initializer_range: float = 0.01
    attention_initializer_range: float = 0.001
    num_hidden_layers: int = 1
    num_attention_heads: int = 1
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | list[int] | None = 3
    decoder_start_token_id: int | None = 2
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Every size is positive, and the two that this model fixes are left alone."""
        for name in (
            "vocab_size",
            "decoder_vocab_size",
            "embedding_size",
            "hidden_size",
            "attention_size",
            "maxout_size",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; sizes are 1 or more")
        if self.output_rank is not None and self.output_rank < 1:
            raise ValueError(f"output_rank is {self.output_rank}; give 1 or more, or None for a plain output layer")
        if self.num_hidden_layers != 1 or self.num_attention_heads != 1:
            raise ValueError(
                f"num_hidden_layers={self.num_hidden_layers} and num_attention_heads={self.num_attention_heads}: "
                "RNNsearch has one recurrent layer and one alignment; for stacked layers use the `luong` architecture"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; give a probability of at least 0 and below 1")

    def validate_choices(self) -> None:
        """Named choices are known, and tied embeddings fit the output layer."""
        for name, allowed in (("decoder_timing", TIMINGS), ("biases", BIASES)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(allowed)}")
        output_size = self.output_rank or self.maxout_size
        if self.tie_word_embeddings and output_size != self.embedding_size:
            raise ValueError(
                f"tie_word_embeddings needs an output layer as wide as the embedding: {output_size} units "
                f"(output_rank or maxout_size) and embedding_size {self.embedding_size} differ"
            )
