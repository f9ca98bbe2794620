"""Configuration of the LSTM of Sutskever, Vinyals and Le (2014, arXiv 1409.3215)."""

from huggingface_hub.dataclasses import strict

from hf_attention_zoo.parts.config_checks import (
    check_above_zero,
    check_choices,
    check_probabilities,
    check_sizes,
    check_tied_width,
)
from hf_attention_zoo.seq2seq.translator_config import TranslatorConfig

BIASES = ("none", "one", "two")


@strict
class Seq2SeqLSTMConfig(TranslatorConfig):
    """Sizes and choices of the deep LSTM; the defaults are the paper's.

    Args:
        vocab_size: rows of the source embedding, Section 3.1: 160,000.
        decoder_vocab_size: rows of the target embedding and of the output layer, Section 3.1: 80,000; `vocab_size` if
            None.
        embedding_size: Section 3.4: 1000.
        hidden_size: cells of each layer, Section 3.4: 1000.
        num_hidden_layers: layers of the encoder and of the decoder, Section 3.4: 4.
        reverse_source: read the source words last to first, the end symbol still last (Section 3.3).
        source_eos: read the source's end symbol (Section 2). False: it is left out, unless the sentence has nothing
            else.
        biases: biases per gate: "one"; "two", as torch.nn.LSTM has them; "none", which is what the paper's count of
            384 million has, and leaves the output layer without one, too.
        peephole: diagonal weights from the cell to the gates, as in Graves (2013), whose cell the paper cites.
        dropout: on embeddings and between layers; the paper has none.
        initializer_range: every weight is uniform within plus or minus this, Section 3.4: 0.08.
    """

    model_type = "seq2seq_lstm"

    vocab_size: int = 160_000
    decoder_vocab_size: int | None = 80_000
    embedding_size: int = 1000
    hidden_size: int = 1000
    num_hidden_layers: int = 4
    reverse_source: bool = True
    source_eos: bool = True
    biases: str = "one"
    peephole: bool = False
    dropout: float | int = 0.0
    initializer_range: float = 0.08

    def validate_sizes(self) -> None:
        """Every size is positive."""
        check_sizes(self, "vocab_size", "decoder_vocab_size", "embedding_size", "hidden_size", "num_hidden_layers")
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")

    def validate_choices(self) -> None:
        """The biases have a known name, and tied embeddings fit the output layer."""
        check_choices(self, biases=BIASES)
        check_tied_width(self, self.hidden_size, "hidden_size")
