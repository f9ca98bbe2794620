"""Configuration of long short-term memory (Hochreiter and Schmidhuber 1997) and of its later forms."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_above_zero, check_choices, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

FORMS = ("original", "forget_gate", "peephole")


@strict
class LSTM1997Config(PreTrainedConfig):
    """Sizes and choices of the LSTM; the defaults are those of the paper's Experiment 1, the embedded Reber grammar.

    Args:
        vocab_size: input and output units: the 7 symbols of the grammar.
        embedding_size: None, as in the paper: symbols are one-hot vectors, and W x_t is a column of W; or the size of
            a learned vector of each, which W maps to gates and cells.
        hidden_size: H, memory cells of a layer: 6, three blocks of two.
        block_size: cells that share their gates: 2. A divisor of `hidden_size`.
        num_hidden_layers: layers of cells, each on the outputs of the one below: 1.
        form: "original", of 1997, without a forget gate; "forget_gate" (Gers, Schmidhuber and Cummins 2000), with tanh
            in place of both squashing functions, as in every library; "peephole" (Graves 2013), whose gates see their
            cell, too.
        truncated_gradients: whether errors that leave a cell for the next step are cut off; None as in the form's
            paper: of the first two they are, with peepholes they are not, and cannot be.
        input_gate_bias: where the biases of input gates begin: 0; below, gates begin nearly closed (Experiment 4).
        forget_gate_bias: where those of forget gates begin: 1, open.
        output_gate_bias: where those of output gates begin: 0; below, gates begin nearly closed (Experiment 1).
        output_bias: whether the layer that predicts has a bias. The paper's has none.
        dropout: on what each layer reads and on the cells that the output reads. The paper has none.
        stateful: in training, each row of a batch goes on from the state in which the same row of the last batch
            ended; for rows that follow one another.
        initializer_range: reach of the uniform distribution of all weights: 0.2 (Experiment 1); 0.1 in others.
    """

    model_type = "lstm1997"
    auto_map = dict[str, str]()  # no code of its own on the Hub; TRL looks there for the class of a model
    keys_to_ignore_at_inference = [*INNER_OUTPUTS]

    vocab_size: int = 7
    embedding_size: int | None = None
    hidden_size: int = 6
    block_size: int = 2
    num_hidden_layers: int = 1
    form: str = "original"
    truncated_gradients: bool | None = None
    input_gate_bias: float | int = 0.0
    forget_gate_bias: float | int = 1.0
    output_gate_bias: float | int = 0.0
    output_bias: bool = False
    dropout: float | int = 0.0
    stateful: bool = False
    initializer_range: float | int = 0.2
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_form()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive and go together, the dropout is a probability."""
        check_sizes(self, "vocab_size", "embedding_size", "hidden_size", "block_size", "num_hidden_layers")
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")
        if self.hidden_size % self.block_size:
            raise ValueError(
                f"hidden_size {self.hidden_size} is no multiple of block_size {self.block_size}; change one of them"
            )
        if self.tie_word_embeddings:
            raise ValueError("tie_word_embeddings=True: reading and predicting have two tables here; leave it False")

    def validate_form(self) -> None:
        """The form is known and its options are its own."""
        check_choices(self, form=FORMS)
        if self.form == "peephole" and self.block_size != 1:
            raise ValueError(f"form='peephole' with block_size {self.block_size}: each gate sees one cell; give 1")
        if self.form == "peephole" and self.truncated_gradients:
            raise ValueError(
                "form='peephole' with truncated_gradients=True: through peepholes errors leave the cells as well; "
                "leave it out, or choose form='forget_gate'"
            )
