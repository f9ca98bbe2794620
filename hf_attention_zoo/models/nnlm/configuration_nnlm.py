"""Configuration of the neural probabilistic language model (Bengio et al. 2003)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_above_zero, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS


@strict
class NNLMConfig(PreTrainedConfig):
    """Sizes and choices of the neural language model; the defaults are those of MLP1 of the paper's Table 1.

    Args:
        vocab_size: V, words: 16,383, of the Brown corpus.
        order: n: a word is predicted from the n - 1 words before it: 5.
        embedding_size: m, features of a word: 60.
        hidden_size: h, hidden units: 50. 0 for none, as MLP3 has it, with direct connections alone.
        direct_connections: whether the features of the context are joined to the outputs directly, too (W); without
            them W = 0.
        dropout: on the features that the hidden units read, and on all that the outputs read. The paper has none.
        stateful: in training, each row of a batch goes on from the words with which the same row of the last batch
            ended, as the paper streams its corpus; for rows that follow one another.
        initializer_range: reach of the uniform distribution of all weights: 0.1. The paper does not say.
    """

    model_type = "nnlm"
    auto_map = dict[str, str]()  # no code of its own on the Hub; TRL looks there for the class of a model
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 16_383
    order: int = 5
    embedding_size: int = 60
    hidden_size: int = 50
    direct_connections: bool = True
    dropout: float | int = 0.0
    stateful: bool = False
    initializer_range: float | int = 0.1
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive and go together, the dropout is a probability."""
        check_sizes(self, "vocab_size", "order", "embedding_size")
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")
        if self.order < 2:
            raise ValueError(f"order is {self.order}; give 2 or more: words are predicted from order - 1 others")
        if self.hidden_size < 0 or not (self.hidden_size or self.direct_connections):
            raise ValueError(
                f"hidden_size is {self.hidden_size}; give 1 or more, or 0 with direct_connections=True alone"
            )
        if self.tie_word_embeddings:
            raise ValueError("tie_word_embeddings=True: C and the outputs are two tables here; leave it False")
