"""Configuration of BERT (Devlin et al. 2018, arXiv 1810.04805)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_probabilities, check_transformer_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS


@strict
class BERT2018Config(PreTrainedConfig):
    """Sizes and choices of BERT; the defaults are those of BERT base, uncased.

    Args:
        vocab_size: rows of the word table: 30,522 (uncased), 28,996 (cased).
        hidden_size: H, Section 3: 768 (base), 1024 (large).
        num_hidden_layers: L: 12 (base), 24 (large).
        num_attention_heads: A: 12 (base), 16 (large).
        intermediate_size: width of the feed-forward layers, 4H: 3072 (base), 4096 (large).
        hidden_act: of the feed-forward layers and of the masked-word head: "gelu", x Phi(x) by the error function,
            with which the published models were trained ("gelu_pytorch_tanh" is the later approximation).
        hidden_dropout_prob: on the embeddings, on every sub-layer's output and before task layers: 0.1.
        attention_probs_dropout_prob: on the attention weights: 0.1.
        classifier_dropout: before task layers; as `hidden_dropout_prob` if None.
        max_position_embeddings: the longest input: 512.
        type_vocab_size: segments: 2.
        left_to_right: every token sees those before it only, the ablation of Section 5.1. The labels of the
            masked-word head are then the next words, each at the place of the word before it, and what is read off
            [CLS] is read off the last token.
        sparse_prediction: in training with labels, predict at the labelled positions only, as the paper does;
            `logits` are then (n, V), in the order of those positions.
        initializer_range: deviation of the truncated normal distribution of all weights: 0.02.
        layer_norm_eps: 1e-12.
        tie_word_embeddings: the masked-word head predicts with the word table.
    """

    model_type = "bert2018"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 30_522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float | int = 0.1
    attention_probs_dropout_prob: float | int = 0.1
    classifier_dropout: float | int | None = None
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    left_to_right: bool = False
    sparse_prediction: bool = True
    initializer_range: float | int = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    tie_word_embeddings: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive and go together, dropouts are probabilities."""
        check_transformer_sizes(self, "type_vocab_size")
        check_probabilities(self, "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout")
