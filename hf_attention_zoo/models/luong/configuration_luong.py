"""Configuration of Luong's attention models (Luong, Pham and Manning 2015, arXiv 1508.04025)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

SCORES = ("dot", "general", "concat", "location")
WINDOWS = ("global", "local-m", "local-p")
CONCAT_SOURCE_WEIGHTS = ("learned", "identity")
POSITION_GRADIENTS = ("full", "half")


@strict
class LuongConfig(PreTrainedConfig):
    """Sizes and choices of the attention models of Luong et al.; the defaults are the paper's best single model.

    Args:
        vocab_size: rows of the source embedding (Section 4.1: the 50,000 most frequent words).
        decoder_vocab_size: rows of the target embedding and of the output layer; `vocab_size` if not given.
        embedding_size: Section 4.1: 1000.
        hidden_size: cells of each layer, Section 4.1: 1000.
        num_hidden_layers: layers of the encoder and of the decoder, Section 4.1: 4.
        attention_score: "dot", "general", "concat" (Eq. 7) or "location" (Eq. 8).
        attention_window: "global" (Section 3.1), "local-m" or "local-p" (Section 3.2). The location score gives each
            source position a fixed row of weights; the paper has it with global attention only.
        window_half_width: D, Section 4.1: 10.
        location_max_length: rows of W_a of the location score; later positions are never attended to. 50, the longest
            sentence that the paper trains on.
        input_feeding: feed the attentional vector to the first decoder layer at the next step (Section 3.3).
        reverse_source: read the source words last to first (Section 4.1).
        source_eos: read the source's end symbol, after all words (the paper: every sentence ends with one). False is
            the released code's form: neither read nor attended to, unless the sentence has nothing else.
        concat_source_weight: "learned": W_a of the concat score acts on [h; s]; "identity": the released code's form,
            behind the paper's concat results (their footnote): its half for the source is fixed to the identity.
        position_gradient: "full", or "half" as the released code had until October 2015, when the paper's local-p
            models had been trained.
        dropout: on the input of every layer, the fed-back vector included; Section 4.1: 0.2.
        initializer_range: every weight is uniform within plus or minus this, Section 4.1: 0.1. There are no biases.
    """

    model_type = "luong"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 50_000
    decoder_vocab_size: int | None = None
    embedding_size: int = 1000
    hidden_size: int = 1000
    num_hidden_layers: int = 4
    attention_score: str = "general"
    attention_window: str = "local-p"
    window_half_width: int = 10
    location_max_length: int = 50
    input_feeding: bool = True
    reverse_source: bool = True
    source_eos: bool = True
    concat_source_weight: str = "learned"
    position_gradient: str = "full"
    dropout: float | int = 0.2
    initializer_range: float = 0.1
    num_attention_heads: int = 1
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
        """Every size is positive and there is one alignment."""
        for name in (
            "vocab_size",
            "decoder_vocab_size",
            "embedding_size",
            "hidden_size",
            "num_hidden_layers",
            "window_half_width",
            "location_max_length",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; sizes are 1 or more")
        if self.num_attention_heads != 1:
            raise ValueError(
                f"num_attention_heads is {self.num_attention_heads}: this model has one alignment per target word; "
                "for several heads use the `transformer2017` architecture"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; give a probability of at least 0 and below 1")
        if self.initializer_range <= 0:
            raise ValueError(f"initializer_range is {self.initializer_range}; give a number above 0")

    def validate_choices(self) -> None:
        """Named choices are known and go together."""
        for name, allowed in (
            ("attention_score", SCORES),
            ("attention_window", WINDOWS),
            ("concat_source_weight", CONCAT_SOURCE_WEIGHTS),
            ("position_gradient", POSITION_GRADIENTS),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(allowed)}")
        if self.attention_score == "location" and self.attention_window != "global":
            raise ValueError(
                f"attention_score='location' with attention_window={self.attention_window!r}: the location score does "
                "not look at the source, so that the paper has it with attention_window='global' only; for a window "
                "choose the score dot, general or concat"
            )
        if self.concat_source_weight == "identity" and self.attention_score != "concat":
            raise ValueError(
                f"concat_source_weight='identity' with attention_score={self.attention_score!r}: it is a form of the "
                "concat score; set attention_score='concat' or leave concat_source_weight='learned'"
            )
        if self.position_gradient == "half" and self.attention_window != "local-p":
            raise ValueError(
                f"position_gradient='half' with attention_window={self.attention_window!r}: only local-p predicts a "
                "position; set attention_window='local-p' or leave position_gradient='full'"
            )
        if self.tie_word_embeddings and self.hidden_size != self.embedding_size:
            raise ValueError(
                f"tie_word_embeddings needs embeddings as wide as the attentional vector: embedding_size "
                f"{self.embedding_size} and hidden_size {self.hidden_size} differ"
            )
