"""Configuration of word2vec (Mikolov et al. 2013, arXiv 1310.4546 and 1301.3781)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_choices, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

FORMS = ("skip_gram", "cbow")
OUTPUTS = ("negative_sampling", "hierarchical_softmax")
CONTEXT_GRADIENTS = ("mean", "sum")


@strict
class Word2VecConfig(PreTrainedConfig):
    """Sizes and choices; the defaults are those of arXiv 1310.4546, Section 3.

    Args:
        vocab_size: 692,000 words that occur five times or more in a billion.
        embedding_size: 300.
        form: "skip_gram", in which a word predicts each word around it, or "cbow" (arXiv 1301.3781, Section 3.1), in
            which the mean of the words around predicts the word.
        output: "negative_sampling" (Equation 4), or "hierarchical_softmax" over the Huffman tree of the words
            (Equation 3).
        window: words on each side at most, c; 5 in Section 4.1.
        num_negative_samples: k. Section 2.2 finds 5 to 20 useful for small data and 2 to 5 enough for large.
        noise_power: the noise is the words' frequency to this power (Section 2.2).
        word_counts: how often each word occurs, which makes the noise and the tree; pre-training counts them. None
            for equal counts.
        context_gradient: "mean", the derivative of the mean that "cbow" computes; "sum" is that of the authors' code,
            which gives each word of the context the whole gradient of the mean, as if it were their sum.
        sparse_gradients: gradients of the two tables hold only the rows that a batch has read, for vocabularies of
            which a batch reads a small part; for `optim="sgd"` and `"adagrad"` without clipping and decay.
    """

    model_type = "word2vec"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]
    attribute_map = {"hidden_size": "embedding_size"}

    vocab_size: int = 692_000
    embedding_size: int = 300
    form: str = "skip_gram"
    output: str = "negative_sampling"
    window: int = 5
    num_negative_samples: int = 5
    noise_power: float | int = 0.75
    word_counts: list[int] | None = None
    context_gradient: str = "mean"
    sparse_gradients: bool = False
    pad_token_id: int | None = 0

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, and each word has a count."""
        check_sizes(self, "vocab_size", "embedding_size", "window", "num_negative_samples")
        if self.word_counts is None:
            return
        if len(self.word_counts) != self.vocab_size:
            raise ValueError(
                f"word_counts has {len(self.word_counts)} numbers for {self.vocab_size} words; give one for each, or "
                "None"
            )
        if any(count < 0 for count in self.word_counts) or not any(self.word_counts):
            raise ValueError(
                f"word_counts has {min(self.word_counts)} as its least number and sums to {sum(self.word_counts)}; a "
                "word occurs 0 times or more, and some word occurs"
            )

    def validate_choices(self) -> None:
        """Named choices are known."""
        check_choices(self, form=FORMS, output=OUTPUTS, context_gradient=CONTEXT_GRADIENTS)
