"""A neural probabilistic language model: words have vectors, and n-grams that were never seen have neighbours.

Bengio, Ducharme, Vincent and Jauvin, Journal of Machine Learning Research 3, 2003. Where the equations are:

    x = [C(w_{t-1}); ...; C(w_{t-n+1})]    Section 2    word_windows
    a = d + H x                            Section 2    hidden_projection
    y = b + W x + U tanh(a)                Section 2    lm_head, its weight [U W]; without direct connections U
    P(w_t | ...) = softmax(y)              Section 2    the loss

Input and output have two tables; the vectors C go through no nonlinearity. The paper reads its corpus as one stream
(`stateful`), in which the end of a sentence is nothing special. The state is x: the last n - 1 words.

Shapes: B rows, T positions, m features, h hidden units, V words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from hf_attention_zoo.loops.decoder_loop import State
from hf_attention_zoo.models.nnlm.configuration_nnlm import NNLMConfig
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.uniform_initialisation import initialise_uniform_
from hf_attention_zoo.recurrent.word_window import word_windows
from hf_attention_zoo.seq2seq.recurrent_texts import CausalHead, RecurrentBody
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


class NNLMPreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know."""

    config: NNLMConfig
    config_class = NNLMConfig
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules: list[str] = []
    _keys_to_ignore_on_load_unexpected = [r"^lm_head\."]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Every weight and bias from U(-r, r)."""
        initialise_uniform_(module, self.config.initializer_range)


class NNLMModel(RecurrentBody, NNLMPreTrainedModel):
    """Vectors of words and the hidden units that read n - 1 of them.

    States are what the outputs read: tanh(d + H x), and behind it x itself with direct connections.
    """

    def __init__(self, config: NNLMConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # C
        self.hidden_projection = nn.Linear((config.order - 1) * config.embedding_size, config.hidden_size)  # H, d
        self.post_init()

    def zero_state(self, words: Tensor) -> State:
        return {"words": words.new_zeros(words.shape[0], (self.config.order - 1) * self.config.embedding_size)}

    def read(self, words: Tensor, real: Tensor | None, state: State) -> tuple[list[Tensor], State]:
        """(B, T, m) -> (B, T, h + (n - 1) m), or (B, T, h), and the last words."""
        x = word_windows(words, state["words"], real)
        hidden = torch.tanh(self.hidden_projection(functional.dropout(x, self.config.dropout, self.training)))
        states = torch.cat([hidden, x], dim=2) if self.config.direct_connections else hidden
        return [states], {"words": x[:, -1]}


class NNLMForCausalLM(CausalHead, NNLMPreTrainedModel, ZooGenerationMixin):
    """Predicts the next word from the n - 1 before it."""

    def __init__(self, config: NNLMConfig) -> None:
        super().__init__(config)
        self.model = NNLMModel(config)
        direct = (config.order - 1) * config.embedding_size if config.direct_connections else 0
        self.lm_head = nn.Linear(config.hidden_size + direct, config.vocab_size)  # [U W], b
        self.post_init()
