"""Configuration of the hierarchical attention network (Yang et al. 2016, ACL N16-1174)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_above_zero, check_choices, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS
from hf_attention_zoo.parts.text_vectors import TextVectors

POOLINGS = ("attention", "average", "max")


@strict
class HANConfig(TextVectors, PreTrainedConfig):
    """Sizes and choices of the hierarchical attention network; the defaults are the paper's (Section 3.3).

    Args:
        vocab_size: rows of the embedding. The paper keeps the words that occur more than 5 times and does not say how
            many those are; 50,000 is our choice.
        embedding_size: 200.
        hidden_size: units of each direction of each GRU, 50; annotations are twice as wide.
        attention_size: width of the word and of the sentence context vector, 100.
        pooling: how words become a sentence and sentences a document: "attention" (HN-ATT, the paper's model),
            "average" (HN-AVE) or "max" (HN-MAX). The two baselines have no attention parameters.
        dropout: on embedded words, sentence vectors and document vectors. The paper names none.
        initializer_range: standard deviation of every weight but the recurrent ones, which start orthogonal; biases
            start at 0. The paper says only that context vectors start at random values.
    """

    model_type = "han"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 50_000
    embedding_size: int = 200
    hidden_size: int = 50
    attention_size: int = 100
    pooling: str = "attention"
    dropout: float | int = 0.0
    initializer_range: float | int = 0.1
    pad_token_id: int | None = 0

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, probabilities below 1."""
        check_sizes(self, "vocab_size", "embedding_size", "hidden_size", "attention_size")
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")

    def validate_choices(self) -> None:
        """The way of pooling is known."""
        check_choices(self, pooling=POOLINGS)
