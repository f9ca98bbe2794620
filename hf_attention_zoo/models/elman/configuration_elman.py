"""Configuration of the simple recurrent network (Elman 1990)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_above_zero, check_choices, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

ACTIVATION_NAMES = ("logistic", "tanh")


@strict
class ElmanConfig(PreTrainedConfig):
    """Sizes and choices of the simple recurrent network; the defaults are those of the paper's simple sentences.

    Args:
        vocab_size: input and output units: 31, of the network that reads sentences of 29 words.
        embedding_size: None, as in the paper: words are one-hot vectors, and W x_t is a column of W; or the size of a
            learned vector of each word, which W maps to the hidden units.
        hidden_size: H, hidden units, and as many context units: 150.
        activation: f of the hidden units: "logistic", as in the paper, or "tanh".
        truncation: errors go back through so many steps in time: 1, as in the paper, where the context is an input
            like any other; None for back-propagation through time. Labels are learnt from the last state alone, so
            that a model of labels needs more than 1.
        dropout: on the words and on the hidden units that the output reads. The paper has none.
        stateful: in training, each row of a batch goes on from the state in which the same row of the last batch
            ended, as the paper's networks do, whose text is one stream; for rows that follow one another.
        initializer_range: reach of the uniform distribution of all weights: 0.1. The paper does not say.
    """

    model_type = "elman"
    auto_map = dict[str, str]()  # no code of its own on the Hub; TRL looks there for the class of a model
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 31
    embedding_size: int | None = None
    hidden_size: int = 150
    activation: str = "logistic"
    truncation: int | None = 1
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
        """Sizes and steps are positive, the dropout is a probability, names are known."""
        check_sizes(self, "vocab_size", "embedding_size", "hidden_size", "truncation")
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")
        check_choices(self, activation=ACTIVATION_NAMES)
        if self.tie_word_embeddings:
            raise ValueError("tie_word_embeddings=True: W and V are two tables in this network; leave it False")
