"""Configuration of the RNN encoder-decoder (Cho et al. 2014, arXiv 1406.1078)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

FORMS = ("paper", "groundhog")


@strict
class RNNEncoderDecoderConfig(PreTrainedConfig):
    """Sizes and choices of the RNN encoder-decoder; the defaults are the paper's.

    Args:
        vocab_size: rows of the source embedding (the paper's 15,000 words and the end symbol).
        decoder_vocab_size: rows of the target embedding and of the output layer; `vocab_size` if not given.
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
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 15_001
    decoder_vocab_size: int | None = None
    embedding_size: int = 100
    hidden_size: int = 1000
    maxout_size: int = 500
    output_rank: int | None = 100
    form: str = "paper"
    biases: bool = True
    dropout: float | int = 0.0
    initializer_range: float = 0.01
    num_hidden_layers: int = 1
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | list[int] | None = 3
    decoder_start_token_id: int | None = 2
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Every size is positive, and there is one layer."""
        for name in ("vocab_size", "decoder_vocab_size", "embedding_size", "hidden_size", "maxout_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; sizes are 1 or more")
        if self.output_rank is not None and self.output_rank < 1:
            raise ValueError(f"output_rank is {self.output_rank}; give 1 or more, or None for a plain output layer")
        if self.num_hidden_layers != 1:
            raise ValueError(
                f"num_hidden_layers is {self.num_hidden_layers}: the RNN encoder-decoder has one recurrent layer a "
                "side; for stacked layers use the `seq2seq_lstm` architecture"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; give a probability of at least 0 and below 1")
        if self.initializer_range <= 0:
            raise ValueError(f"initializer_range is {self.initializer_range}; give a number above 0")

    def validate_choices(self) -> None:
        """The form has a known name, and tied embeddings fit the output layer."""
        if self.form not in FORMS:
            raise ValueError(f"form is {self.form!r}; choose one of {', '.join(FORMS)}")
        output_size = self.output_rank or self.maxout_size
        if self.tie_word_embeddings and output_size != self.embedding_size:
            raise ValueError(
                f"tie_word_embeddings needs an output layer as wide as the embedding: {output_size} units "
                f"(output_rank or maxout_size) and embedding_size {self.embedding_size} differ"
            )
