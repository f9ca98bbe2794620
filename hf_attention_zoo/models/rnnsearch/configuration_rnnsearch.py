"""Configuration of RNNsearch (Bahdanau, Cho and Bengio 2015, arXiv 1409.0473)."""

from huggingface_hub.dataclasses import strict

from hf_attention_zoo.parts.config_checks import check_choices, check_probabilities, check_sizes, check_tied_width
from hf_attention_zoo.seq2seq.translator_config import TranslatorConfig

TIMINGS = ("paper", "groundhog", "appendix")
BIASES = ("affine", "groundhog", "none")


@strict
class RNNsearchConfig(TranslatorConfig):
    """Sizes and choices of RNNsearch; the defaults are the paper's.

    Args:
        vocab_size: rows of the source embedding (the paper's 30,000 words and the end symbol).
        embedding_size: m, A.2.3.
        hidden_size: n, units of each encoder direction and of the decoder, A.2.3.
        attention_size: n', hidden units of the alignment model, A.2.3.
        maxout_size: l, maxout units of the output layer (two pieces each), A.2.3.
        decoder_timing: which state reads and which speaks. "paper": Section 3.1, s_i speaks; "appendix": A.2.2 as
            printed, s_{i-1} speaks; "groundhog": the authors' code, which produced the published numbers: the state
            has consumed y_{i-1} before it aligns, and no step is spent on the start symbol.
        biases: "affine": one per affine map (the paper leaves them out "to increase readability"); "groundhog": where
            the authors' code has them; "none".
        output_rank: rank of the factorised output layer of the authors' code (620), None for the paper's plain one.
        dropout: on embeddings and on the maxout units; the paper has none.
        initializer_range: standard deviation of the weights that are neither recurrent nor part of the alignment, B.1.
        attention_initializer_range: standard deviation of W_a and U_a, B.1.
    """

    model_type = "rnnsearch"

    vocab_size: int = 30_001
    embedding_size: int = 620
    hidden_size: int = 1000
    attention_size: int = 1000
    maxout_size: int = 500
    decoder_timing: str = "paper"
    biases: str = "affine"
    output_rank: int | None = None
    dropout: float | int = 0.0
    initializer_range: float = 0.01
    attention_initializer_range: float = 0.001
    num_hidden_layers: int = 1
    num_attention_heads: int = 1

    def validate_sizes(self) -> None:
        """Every size is positive, and the two that this model fixes are left alone."""
        check_sizes(
            self, "vocab_size", "decoder_vocab_size", "embedding_size", "hidden_size", "attention_size", "maxout_size"
        )
        if self.output_rank is not None and self.output_rank < 1:
            raise ValueError(f"output_rank is {self.output_rank}; give 1 or more, or None for a plain output layer")
        if self.num_hidden_layers != 1 or self.num_attention_heads != 1:
            raise ValueError(
                f"num_hidden_layers={self.num_hidden_layers} and num_attention_heads={self.num_attention_heads}: "
                "RNNsearch has one recurrent layer and one alignment; for stacked layers use the `luong` architecture"
            )
        check_probabilities(self, "dropout")

    def validate_choices(self) -> None:
        """Named choices are known, and tied embeddings fit the output layer."""
        check_choices(self, decoder_timing=TIMINGS, biases=BIASES)
        output_size = self.output_rank or self.maxout_size
        check_tied_width(self, output_size, "output_rank or maxout_size")
