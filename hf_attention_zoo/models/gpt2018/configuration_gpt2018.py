"""Configuration of GPT (Radford et al. 2018)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_probabilities, check_transformer_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS


@strict
class GPT2018Config(PreTrainedConfig):
    """Sizes and choices of GPT; the defaults are the paper's.

    Args:
        vocab_size: rows of the token table W_e: 40,478, 40,000 merges and their symbols. The symbols of the
            fine-tuning formats come on top.
        hidden_size: d, Section 4.1: 768.
        num_hidden_layers: N: 12.
        num_attention_heads: h: 12.
        intermediate_size: width of the feed-forward layers: 3072.
        hidden_act: of the feed-forward layers: "gelu_pytorch_tanh", the approximation of x Phi(x) by tanh with which
            the published model was trained; "gelu" is the function itself.
        residual_dropout: on every sub-layer's output: 0.1.
        embedding_dropout: on the sum of token and position: 0.1.
        attention_dropout: on the attention weights: 0.1.
        classifier_dropout: before a task's layer: 0.1.
        max_position_embeddings: rows of the position table W_p: 512.
        initializer_range: deviation of the normal distribution of all weights: 0.02.
        layer_norm_eps: 1e-5.
        tie_word_embeddings: words are predicted with the token table.
        auxiliary_loss_weight: lambda of Eq. 5, the part of the language model's loss in fine-tuning: 0.5; 0 leaves it
            out.
        classifier_bias: whether W_y has a bias. Eq. 3 has none, the authors' code has one.
        similarity: read a pair of texts in both orders and add up what the two readings give (Section 3.3). Needs
            `delimiter_token_id`.
    """

    model_type = "gpt2018"
    auto_map = dict[str, str]()  # no code of its own on the Hub; TRL looks there for the class of a model
    keys_to_ignore_at_inference = [*INNER_OUTPUTS, "lm_loss"]

    vocab_size: int = 40_478
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu_pytorch_tanh"
    residual_dropout: float | int = 0.1
    embedding_dropout: float | int = 0.1
    attention_dropout: float | int = 0.1
    classifier_dropout: float | int = 0.1
    max_position_embeddings: int = 512
    initializer_range: float | int = 0.02
    layer_norm_eps: float = 1e-5
    auxiliary_loss_weight: float | int = 0.5
    classifier_bias: bool = False
    similarity: bool = False
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    delimiter_token_id: int | None = None
    tie_word_embeddings: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive and go together, dropouts are probabilities."""
        check_transformer_sizes(self)
        check_probabilities(self, "residual_dropout", "embedding_dropout", "attention_dropout", "classifier_dropout")
        if self.auxiliary_loss_weight < 0:
            raise ValueError(f"auxiliary_loss_weight is {self.auxiliary_loss_weight}; give 0 (none) or more")
        if self.similarity and self.delimiter_token_id is None:
            raise ValueError(
                "similarity=True without delimiter_token_id: the model must know which symbol stands between the two "
                "texts; give the id of the tokenizer's delimiter"
            )
