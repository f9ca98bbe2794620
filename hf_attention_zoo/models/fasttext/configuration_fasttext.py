"""Configuration of the fastText classifier (Joulin et al. 2016, arXiv 1607.01759)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_choices, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS
from hf_attention_zoo.parts.text_vectors import TextVectors

OUTPUTS = ("softmax", "hierarchical_softmax")


@strict
class FastTextConfig(TextVectors, PreTrainedConfig):
    """Sizes and choices of the classifier; the defaults are those of the paper's sentiment experiments.

    Args:
        vocab_size: rows of A, the words of the vocabulary and behind them the buckets of hashed n-grams: Section 2.2
            has 10,000,000 buckets. The paper does not give the number of words; 100,000 is our choice.
        embedding_size: Section 3.1: 10 hidden units.
        output: "softmax", or "hierarchical_softmax" over the Huffman tree of the labels, for many (Section 2.1).
        label_counts: how often each label occurs, which makes the tree; training counts them. None for equal counts.
        sparse_gradients: gradients of A hold only the rows that a batch has read, as the authors' code updates them;
            for `optim="sgd"` without clipping and decay.
    """

    model_type = "fasttext"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]
    attribute_map = {"hidden_size": "embedding_size"}

    vocab_size: int = 10_100_000
    embedding_size: int = 10
    output: str = "softmax"
    label_counts: list[int] | None = None
    sparse_gradients: bool = False
    pad_token_id: int | None = 0

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, counts not negative."""
        check_sizes(self, "vocab_size", "embedding_size")
        if self.label_counts is not None and any(count < 0 for count in self.label_counts):
            raise ValueError(f"label_counts holds {min(self.label_counts)}; a label occurs 0 times or more")

    def validate_choices(self) -> None:
        """Named choices are known."""
        check_choices(self, output=OUTPUTS)
