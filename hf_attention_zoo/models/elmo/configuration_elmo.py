"""Configuration of ELMo (Peters et al. 2018, arXiv 1802.05365)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_choices, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

ACTIVATIONS = ("relu", "tanh")
LAYER_NORMALISATIONS = ("off", "bilm", "allennlp")
PAPER_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


@strict
class ELMoConfig(PreTrainedConfig):
    """Sizes and choices of ELMo; the defaults are those of the authors' training script and of their 93.6M weights.

    Args:
        vocab_size: words of the softmax, `<S>`, `</S>` and `<UNK>` first and the rest by frequency: 793,471. Only
            `ELMoForPreTraining` has a softmax; every other model reads any word by its characters.
        num_characters: rows of the character table: 256 bytes and 5 marks. Id 0, a pad, has no row.
        character_embedding_size: 16.
        filters: width and number of the convolutions' filters; None for the paper's seven widths, 2048 in all.
        activation: "relu", or "tanh" as the authors' code offers it.
        num_highway_layers: 2 (the released smaller models have 1).
        projection_size: what words are projected to, and h of each direction: 512.
        cell_size: c of each direction: 4096.
        num_layers: 2.
        cell_clip: limit of c: 3. None for no limit.
        projection_clip: limit of h: 3. None for no limit.
        skip_connections: add each layer's input to its output, from the second layer on.
        dropout: on the input of each LSTM layer and on the outputs of the top one: 0.1. Not in a frozen biLM.
        num_mixes: weighted sums of the layers (Eq. 1) that the model gives, each with weights of its own. With 0 the
            one sum is their plain mean, which is what a mix starts from.
        layer_normalization: before mixing: "off", or one of the authors' two forms: "bilm" normalises each layer over
            all words of the batch, "allennlp" over all words and boundaries. Both make a text depend on its batch.
        mix_dropout: of the heads, on ELMo vectors: 0.5.
        mix_l2: of the heads: what lambda |w|^2 (Section 3.3) adds to their loss, 0.001.
        freeze_bilm: of the heads: the biLM gives vectors and is not trained, as in the paper.
        task_lstm_cells: of the heads: cells of each direction of a BiLSTM over the ELMo vectors; 0 for none.
        num_negative_samples: of `ELMoForPreTraining`: words that a target is compared with in training, 8192. None or
            0 compares it with all, which evaluation always does.
        stateful: begin each call where the last one ended, as the authors' code does; the same text then has other
            vectors every time. `reset_state()` begins anew.
        initializer_range: not the paper's: None initialises as the authors' code does; a number is the standard
            deviation of every weight.
    """

    model_type = "elmo"
    keys_to_ignore_at_inference = [
        *INNER_OUTPUTS,
        "forward_loss",
        "backward_loss",
        "forward_logits",
        "backward_logits",
    ]
    attribute_map = {"num_hidden_layers": "num_layers"}

    vocab_size: int = 793_471
    num_characters: int = 261
    character_embedding_size: int = 16
    filters: list[list[int]] | None = None
    activation: str = "relu"
    num_highway_layers: int = 2
    projection_size: int = 512
    cell_size: int = 4096
    num_layers: int = 2
    cell_clip: float | int | None = 3.0
    projection_clip: float | int | None = 3.0
    skip_connections: bool = True
    dropout: float | int = 0.1
    num_mixes: int = 1
    layer_normalization: str = "off"
    mix_dropout: float | int = 0.5
    mix_l2: float | int = 0.001
    freeze_bilm: bool = True
    task_lstm_cells: int = 0
    num_negative_samples: int | None = 8192
    stateful: bool = False
    initializer_range: float | int | None = None
    pad_token_id: int | None = 1
    bos_token_id: int | None = 0
    eos_token_id: int | None = 1
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.filters is None:
            self.filters = [list(one) for one in PAPER_FILTERS]
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    @property
    def hidden_size(self) -> int:
        """Width of every layer: both directions, side by side."""
        return 2 * self.projection_size

    def validate_sizes(self) -> None:
        """Sizes are positive, probabilities below 1, limits above 0."""
        check_sizes(
            self,
            "vocab_size",
            "num_characters",
            "character_embedding_size",
            "projection_size",
            "cell_size",
            "num_layers",
        )
        for name in ("num_highway_layers", "num_mixes", "task_lstm_cells", "mix_l2"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give 0 (for none) or more")
        check_probabilities(self, "dropout", "mix_dropout")
        for name in ("cell_clip", "projection_clip", "initializer_range"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} is {value}; give a number above 0, or None for none")
        if not self.filters or any(len(one) != 2 or min(one) < 1 for one in self.filters):
            raise ValueError(f"filters are {self.filters!r}; give [[width, number], ...], each 1 or more")
        samples = self.num_negative_samples
        if samples is not None and samples < 0:
            raise ValueError(f"num_negative_samples is {samples}; give 0 or None for the full softmax, or more")

    def validate_choices(self) -> None:
        """Named choices are known."""
        check_choices(self, activation=ACTIVATIONS, layer_normalization=LAYER_NORMALISATIONS)
