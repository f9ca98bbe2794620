"""Configuration of the LSTM of Sutskever, Vinyals and Le (2014, arXiv 1409.3215)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

BIASES = ("none", "one", "two")


@strict
class Seq2SeqLSTMConfig(PreTrainedConfig):
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
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

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
        """Every size is positive."""
        for name in ("vocab_size", "decoder_vocab_size", "embedding_size", "hidden_size", "num_hidden_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; sizes are 1 or more")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; give a probability of at least 0 and below 1")
        if self.initializer_range <= 0:
            raise ValueError(f"initializer_range is {self.initializer_range}; give a number above 0")

    def validate_choices(self) -> None:
        """The biases have a known name, and tied embeddings fit the output layer."""
        if self.biases not in BIASES:
            raise ValueError(f"biases is {self.biases!r}; choose one of {', '.join(BIASES)}")
        if self.tie_word_embeddings and self.hidden_size != self.embedding_size:
            raise ValueError(
                f"tie_word_embeddings needs embeddings as wide as the top layer: embedding_size "
                f"{self.embedding_size} and hidden_size {self.hidden_size} differ"
            )
