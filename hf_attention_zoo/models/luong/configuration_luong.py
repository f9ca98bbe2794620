"""Configuration of Luong's attention models (Luong, Pham and Manning 2015, arXiv 1508.04025)."""

from huggingface_hub.dataclasses import strict

from hf_attention_zoo.parts.config_checks import (
    check_above_zero,
    check_choices,
    check_probabilities,
    check_sizes,
    check_tied_width,
)
from hf_attention_zoo.seq2seq.translator_config import TranslatorConfig

SCORES = ("dot", "general", "concat", "location")
WINDOWS = ("global", "local-m", "local-p")
CONCAT_SOURCE_WEIGHTS = ("learned", "identity")
POSITION_GRADIENTS = ("full", "half")


@strict
class LuongConfig(TranslatorConfig):
    """Sizes and choices of the attention models of Luong et al.; the defaults are the paper's best single model.

    Args:
        vocab_size: rows of the source embedding (Section 4.1: the 50,000 most frequent words).
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

    vocab_size: int = 50_000
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

    def validate_sizes(self) -> None:
        """Every size is positive and there is one alignment."""
        check_sizes(
            self,
            "vocab_size",
            "decoder_vocab_size",
            "embedding_size",
            "hidden_size",
            "num_hidden_layers",
            "window_half_width",
            "location_max_length",
        )
        if self.num_attention_heads != 1:
            raise ValueError(
                f"num_attention_heads is {self.num_attention_heads}: this model has one alignment per target word; "
                "for several heads use the `transformer2017` architecture"
            )
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")

    def validate_choices(self) -> None:
        """Named choices are known and go together."""
        check_choices(
            self,
            attention_score=SCORES,
            attention_window=WINDOWS,
            concat_source_weight=CONCAT_SOURCE_WEIGHTS,
            position_gradient=POSITION_GRADIENTS,
        )
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
        check_tied_width(self, self.hidden_size, "hidden_size")
