"""Configuration of the RNN encoder-decoder (Cho et al. 2014, arXiv 1406.1078)."""

from huggingface_hub.dataclasses import strict

from hf_attention_zoo.parts.config_checks import (
    check_above_zero,
    check_choices,
    check_probabilities,
    check_sizes,
    check_tied_width,
)
from hf_attention_zoo.seq2seq.translator_config import TranslatorConfig

FORMS = ("paper", "groundhog")


@strict
class RNNEncoderDecoderConfig(TranslatorConfig):
    """Sizes and choices of the RNN encoder-decoder; the defaults are the paper's.

    Args:
        vocab_size: rows of the source embedding (the paper's 15,000 words and the end symbol).
        embedding_size: d, Section 4.1: input matrices of rank 100.
        hidden_size: n, units of the encoder and of the decoder, Section 4.1.
        maxout_size: l, maxout units of the output layer (two pieces each), Section 4.1.
        output_rank: rank of the factorised output matrix G, Section 4.1; None for a plain one.
        form: "paper": the equations of appendix A. The encoder resets before the recurrent product and the decoder
            after it, context included; z keeps the old state; c = tanh(V h_N). "groundhog": the authors' code, which
            produced the published numbers. Both reset before the product, the context stays outside the reset, z takes
            the new state, c = h_N, and the first word is spoken by the initial state, without an update.
        biases: whether the maps have biases, which the paper leaves out. In the paper's form one for each affine map;
            in the authors' where their code has them: embeddings, candidates, initial state and output layers.
        dropout: on embeddings and on the maxout units; the paper has none.
        initializer_range: standard deviation of the weights that are not recurrent, Section 4.1.
    """

    model_type = "rnn_encoder_decoder"

    vocab_size: int = 15_001
    embedding_size: int = 100
    hidden_size: int = 1000
    maxout_size: int = 500
    output_rank: int | None = 100
    form: str = "paper"
    biases: bool = True
    dropout: float | int = 0.0
    initializer_range: float = 0.01
    num_hidden_layers: int = 1

    def validate_sizes(self) -> None:
        """Every size is positive, and there is one layer."""
        check_sizes(self, "vocab_size", "decoder_vocab_size", "embedding_size", "hidden_size", "maxout_size")
        if self.output_rank is not None and self.output_rank < 1:
            raise ValueError(f"output_rank is {self.output_rank}; give 1 or more, or None for a plain output layer")
        if self.num_hidden_layers != 1:
            raise ValueError(
                f"num_hidden_layers is {self.num_hidden_layers}: the RNN encoder-decoder has one recurrent layer a "
                "side; for stacked layers use the `seq2seq_lstm` architecture"
            )
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")

    def validate_choices(self) -> None:
        """The form has a known name, and tied embeddings fit the output layer."""
        check_choices(self, form=FORMS)
        output_size = self.output_rank or self.maxout_size
        check_tied_width(self, output_size, "output_rank or maxout_size")
