"""Configuration of the Transformer (Vaswani et al. 2017, arXiv 1706.03762)."""

from typing import Any

from huggingface_hub.dataclasses import strict

from hf_attention_zoo.parts.config_checks import (
    check_above_zero,
    check_choices,
    check_head_division,
    check_probabilities,
    check_sizes,
)
from hf_attention_zoo.seq2seq.translator_config import TranslatorConfig

POSITION_ENCODINGS = ("sinusoidal", "tensor2tensor", "marian", "learned")
DECODER_STARTS = ("symbol", "zero")


@strict
class Transformer2017Config(TranslatorConfig):
    """Sizes and choices of the Transformer; the defaults are the paper's base model.

    Args:
        vocab_size: rows of the source embedding. Section 5.1: about 37,000 pieces, shared by both languages.
        hidden_size: d_model. Table 3: 512 (base), 1024 (big).
        num_hidden_layers: N, of the encoder and of the decoder: 6.
        num_attention_heads: h: 8 (base), 16 (big).
        head_dim: d_k, the size of a head's queries and keys; `hidden_size / num_attention_heads` if not given.
        value_head_dim: d_v; as `head_dim` if not given.
        intermediate_size: d_ff: 2048 (base), 4096 (big).
        dropout: P_drop, on every sub-layer's output and on the sums of embeddings and positions: 0.1 (big: 0.3).
        attention_dropout: on the attention weights. The paper has none in translation; its parser has 0.2 in the
            authors' settings.
        activation_dropout: inside the feed-forward layers; the paper has none.
        position_encoding: "sinusoidal": Section 3.5; "tensor2tensor": the authors' code, with other frequencies and
            all sines before the cosines; "marian": the paper's frequencies in that order; "learned": variant E of
            Table 3.
        position_offset: number of the first position; 0 in the paper, pad id + 1 in fairseq.
        max_position_embeddings: rows of the learned table, 512 if not given. Sinusoids have no limit: with them it
            is always None.
        attention_bias: whether the attention's projections have biases. The paper's formulas have none; the authors'
            code of 2017 has them, and with them (and 40,960 rows) the counts of Table 3 come out.
        output_bias: whether the output layer has a bias; the paper has none (Marian has).
        decoder_start: "symbol": the first decoder input is the embedding of `decoder_start_token_id`; "zero": it is a
            vector of zeros, as in the authors' code.
        hidden_act: the feed-forward layer's function; the paper's is max(0, x).
        layer_norm_eps: 1e-6 in the authors' code; the paper does not say.
        initializer_range: standard deviation of all tables and matrices before training, as transformers' own models
            begin (0.02); None: as in the authors' code, tables N(0, 1 / D) and matrices Glorot-uniform. The paper
            does not say.
        share_encoder_decoder_embeddings: source and target have one table (Section 3.4); needs `tie_word_embeddings`
            and one vocabulary.
        tie_word_embeddings: the output layer is the target table (Section 3.4).
    """

    model_type = "transformer2017"

    vocab_size: int = 37_000
    hidden_size: int = 512
    num_hidden_layers: int = 6
    num_attention_heads: int = 8
    head_dim: int | None = None
    value_head_dim: int | None = None
    intermediate_size: int = 2048
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    position_encoding: str = "sinusoidal"
    position_offset: int = 0
    max_position_embeddings: int | None = None
    attention_bias: bool = False
    output_bias: bool = False
    decoder_start: str = "symbol"
    hidden_act: str = "relu"
    layer_norm_eps: float = 1e-6
    initializer_range: float | None = None
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        if self.position_encoding != "learned":
            self.max_position_embeddings = None  # others read it as a limit, and there is none
        elif self.max_position_embeddings is None:
            self.max_position_embeddings = 512
        self.validate_sizes()  # before a head's size follows from them
        if self.head_dim is None:
            check_head_division(self, "change one of them, or give head_dim")
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.value_head_dim is None:
            self.value_head_dim = self.head_dim
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, dropouts are probabilities."""
        check_sizes(
            self,
            "vocab_size",
            "decoder_vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "head_dim",
            "value_head_dim",
            "intermediate_size",
            "max_position_embeddings",
        )
        if self.position_offset < 0:
            raise ValueError(f"position_offset is {self.position_offset}; give 0 or more")
        check_probabilities(self, "dropout", "attention_dropout", "activation_dropout")
        check_above_zero(self, "layer_norm_eps", "initializer_range")

    def validate_choices(self) -> None:
        """Named choices are known and go together."""
        check_choices(self, position_encoding=POSITION_ENCODINGS, decoder_start=DECODER_STARTS)
        if self.position_encoding != "learned" and self.hidden_size % 2:
            raise ValueError(
                f"hidden_size {self.hidden_size} is odd; sinusoids come in pairs: give an even number, or "
                "position_encoding='learned'"
            )
        if self.share_encoder_decoder_embeddings and not self.tie_word_embeddings:
            raise ValueError(
                "share_encoder_decoder_embeddings=True with tie_word_embeddings=False: the paper's shared table is "
                "the output layer, too; tie that, or set share_encoder_decoder_embeddings=False"
            )
        if self.share_encoder_decoder_embeddings and self.vocab_size != self.decoder_vocab_size:
            raise ValueError(
                f"one table for both sides needs one vocabulary, but vocab_size is {self.vocab_size} and "
                f"decoder_vocab_size {self.decoder_vocab_size}; train a tokenizer with shared=True, or set "
                "share_encoder_decoder_embeddings=False"
            )
