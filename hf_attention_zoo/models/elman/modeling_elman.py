"""The simple recurrent network: hidden units that read the next word beside a copy of their own last values.

Jeffrey L. Elman, Finding Structure in Time, Cognitive Science 14, 1990. Where the equations are:

    h_t = f(W x_t + U h_{t-1} + b)     Figure 2             SimpleCell
    y_t = g(V h_t + c)                 Figure 2             lm_head, classifier
    h_{t-1} is an input like another   "context units"      truncation=1

The paper gives its networks in pictures; these are their equations. It trains output units that are logistic, too,
with squared errors of the next word's one-hot vector; here g is the softmax of any language model, and the loss its
cross entropy. Where a text ends is nothing special, and pads, on either side, leave the state as it is.

Shapes: B rows, T positions, E embedding, H hidden units, V words.
"""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedModel

from hf_attention_zoo.models.elman.configuration_elman import ElmanConfig
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.recurrent.simple_cell import SimpleCell
from hf_attention_zoo.recurrent.uniform_initialisation import initialise_uniform_
from hf_attention_zoo.seq2seq.recurrent_texts import CausalHead, LabelHead, RecurrentBody
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


class ElmanPreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know."""

    config: ElmanConfig
    config_class = ElmanConfig
    base_model_prefix = "model"
    _is_stateful = True
    _no_split_modules = ["SimpleCell"]
    _keys_to_ignore_on_load_unexpected = [r"^(lm_head|classifier)\."]  # heads: each reads the body of any checkpoint

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Every weight and bias from U(-r, r)."""
        initialise_uniform_(module, self.config.initializer_range)


class ElmanModel(RecurrentBody, ElmanPreTrainedModel):
    """Words and hidden units."""

    def __init__(self, config: ElmanConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size or config.hidden_size)
        self.layers = nn.ModuleList([SimpleCell(config.embedding_size, config.hidden_size, config.activation)])
        self.post_init()

    @property
    def truncation(self) -> int | None:
        return self.config.truncation


class ElmanForCausalLM(CausalHead, ElmanPreTrainedModel, ZooGenerationMixin):
    """Predicts the next word from the hidden units."""

    def __init__(self, config: ElmanConfig) -> None:
        super().__init__(config)
        self.model = ElmanModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)  # V, c
        self.post_init()


class ElmanForSequenceClassification(LabelHead, ElmanPreTrainedModel):
    """Labels of texts, from the hidden units after the last word."""

    def __init__(self, config: ElmanConfig) -> None:
        super().__init__(config)
        self.num_labels = number_of_labels(config)
        self.model = ElmanModel(config)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels)
        self.post_init()
