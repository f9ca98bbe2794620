"""Configuration of the structured self-attentive sentence embedding (Lin et al. 2017, arXiv 1703.03130)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_above_zero, check_choices, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS
from hf_attention_zoo.parts.text_vectors import TextVectors

CONNECTIONS = ("full", "pruned")
PENALTY_NORMS = ("squared", "unsquared")


@strict
class SelfAttentiveConfig(TextVectors, PreTrainedConfig):
    """Sizes and choices of the structured self-attentive model; the defaults are those of the paper's Yelp experiment.

    Args:
        vocab_size: rows of the embedding. The paper does not give it; 50,000 is our choice.
        embedding_size: Section 4.2: word2vec vectors of 100 dimensions (Section 4.3: GloVe of 300).
        hidden_size: u, cells of each direction of the BiLSTM: 300; its states are twice as wide.
        attention_size: d_a, the hidden layer of the attention: 350 (150 for sentence pairs).
        num_hops: r, rows of the annotation and of the embedding matrix: 30. `num_attention_heads` is another name.
        sentence_pairs: classify two texts by the gated encoder (Appendix B) instead of one.
        gated_size: k, the width to which each row of both embedding matrices is projected before they are multiplied,
            for pairs. The paper does not give it; 600 = 2u makes up its count of parameters.
        connection: what stands between the matrix and the labels: "full", one ReLU layer over all of it, or "pruned",
            the groups of Appendix A.
        classifier_size: b, units of the ReLU layer: 3000 (2000 for tweets, 4000 for pairs). For "full" only.
        row_group_size: p, units for each row of the matrix: 150 (25 for tweets, 300 for pairs). For "pruned" only.
        column_group_size: q, units for each column: 10 (20 for tweets, 10 for pairs). For "pruned" only.
        penalty_coefficient: weight of the penalty in the loss: 1 (0.3 for pairs; 0 leaves it out). In a pair the
            penalties of both texts are added.
        penalty_norm: "squared", the squared Frobenius norm of Eq. 8; "unsquared", its root, is what two widely read
            reimplementations compute.
        dropout: on the ReLU units, Section 4.2: 0.5.
        embedding_dropout: on the embedded words. The paper has none.
        initializer_range: standard deviation of embeddings and LSTM weights; all other weights are Glorot-uniform and
            biases 0. The paper does not say.
    """

    model_type = "self_attentive"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS, "penalty"]
    attribute_map = {"num_attention_heads": "num_hops"}

    vocab_size: int = 50_000
    embedding_size: int = 100
    hidden_size: int = 300
    attention_size: int = 350
    num_hops: int = 30
    sentence_pairs: bool = False
    gated_size: int = 600
    connection: str = "full"
    classifier_size: int = 3000
    row_group_size: int = 150
    column_group_size: int = 10
    penalty_coefficient: float | int = 1.0
    penalty_norm: str = "squared"
    dropout: float | int = 0.5
    embedding_dropout: float | int = 0.0
    initializer_range: float | int = 0.1
    pad_token_id: int | None = 0

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, probabilities below 1, the penalty not negative."""
        check_sizes(
            self,
            "vocab_size",
            "embedding_size",
            "hidden_size",
            "attention_size",
            "num_hops",
            "gated_size",
            "classifier_size",
            "row_group_size",
            "column_group_size",
        )
        check_probabilities(self, "dropout", "embedding_dropout")
        if self.penalty_coefficient < 0:
            raise ValueError(f"penalty_coefficient is {self.penalty_coefficient}; give 0 (no penalty) or more")
        check_above_zero(self, "initializer_range")

    def validate_choices(self) -> None:
        """Named choices are known."""
        check_choices(self, connection=CONNECTIONS, penalty_norm=PENALTY_NORMS)
