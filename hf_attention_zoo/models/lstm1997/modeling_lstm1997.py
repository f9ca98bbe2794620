"""Long short-term memory: cells whose error neither vanishes nor explodes, behind gates that learn when to open.

Hochreiter and Schmidhuber, Long Short-Term Memory, Neural Computation 9, 1997. Where the equations are:

    y_in, y_out, s_t = s_{t-1} + y_in g(net_c), y_t = y_out h(s_t)    Section 4         MemoryBlocks
    blocks of cells that share their gates                            Section 4         block_size
    errors are cut off where they leave a cell                        Section 4, A.1    truncated_gradients
    s_t = f s_{t-1} + i g                                             Gers et al. 2000  ForgettingBlocks
    gates that see their cell                                         Graves 2013       ForgettingBlocks, peephole

The paper's output units are logistic and learn from squared errors; here they are the softmax of any language model,
and the loss its cross entropy. Pads, on either side, leave the state as it is.

Shapes: B rows, T positions, E embedding, H cells, V words.
"""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers import initialization as init

from hf_attention_zoo.models.lstm1997.configuration_lstm1997 import LSTM1997Config
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.forgetting_blocks import ForgettingBlocks
from hf_attention_zoo.recurrent.memory_blocks import MemoryBlocks
from hf_attention_zoo.recurrent.uniform_initialisation import initialise_uniform_
from hf_attention_zoo.seq2seq.recurrent_texts import CausalHead, LabelHead, RecurrentBody
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


class LSTM1997PreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know."""

    config: LSTM1997Config
    config_class = LSTM1997Config
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules = ["MemoryBlocks", "ForgettingBlocks"]
    _keys_to_ignore_on_load_unexpected = [r"^(lm_head|classifier)\."]  # heads: each reads the body of any checkpoint

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Every weight and bias from U(-r, r), but for those of gates, which begin where the config says."""
        initialise_uniform_(module, self.config.initializer_range)
        if isinstance(module, MemoryBlocks | ForgettingBlocks):
            config, bias = self.config, module.gate_bias
            starts = {"i": config.input_gate_bias, "f": config.forget_gate_bias, "o": config.output_gate_bias}
            begun = bias.new_tensor([starts[gate] for gate in module.gate_order])
            init.copy_(bias, begun.repeat_interleave(len(bias) // len(begun)))


class LSTM1997Model(RecurrentBody, LSTM1997PreTrainedModel):
    """Words and layers of memory cells."""

    def __init__(self, config: LSTM1997Config) -> None:
        super().__init__(config)
        self.layers = nn.ModuleList([memory_layer(config, number) for number in range(config.num_hidden_layers)])
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size or self.layers[0].width)
        self.post_init()


def memory_layer(config: LSTM1997Config, number: int) -> MemoryBlocks | ForgettingBlocks:
    """The cells of a layer, of the config's form."""
    truncated = config.form != "peephole" if config.truncated_gradients is None else config.truncated_gradients
    sizes = (config.hidden_size if number else config.embedding_size, config.hidden_size, config.block_size)
    if config.form == "original":
        return MemoryBlocks(*sizes, truncated=truncated)
    return ForgettingBlocks(*sizes, truncated=truncated, peephole=config.form == "peephole")


class LSTM1997ForCausalLM(CausalHead, LSTM1997PreTrainedModel, ZooGenerationMixin):
    """Predicts the next word from the cells' outputs."""

    def __init__(self, config: LSTM1997Config) -> None:
        super().__init__(config)
        self.model = LSTM1997Model(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=config.output_bias)
        self.post_init()


class LSTM1997ForSequenceClassification(LabelHead, LSTM1997PreTrainedModel):
    """Labels of texts, from the cells' outputs after the last word."""

    def __init__(self, config: LSTM1997Config) -> None:
        super().__init__(config)
        self.num_labels = number_of_labels(config)
        self.model = LSTM1997Model(config)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels, bias=config.output_bias)
        self.post_init()
