"""Tagging by an encoder alone: a label at each position of a sentence of symbols, for claims about self-attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import TokenClassifierOutput

from hf_attention_zoo import Transformer2017Config, Transformer2017Model


class Tagger(nn.Module):
    """The Transformer's encoder with a linear layer on every state.

    Args:
        config: of the Transformer; its decoder is not built into the tagger.
        labels: C, how many labels there are.
    """

    def __init__(self, config: Transformer2017Config, labels: int) -> None:
        super().__init__()
        self.encoder = Transformer2017Model(config).encoder
        self.output = nn.Linear(config.hidden_size, labels)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> TokenClassifierOutput:
        """(N, T) ids -> logits (N, T, C) and, with labels (N, T), the mean cross entropy."""
        logits = self.output(self.encoder(input_ids).last_hidden_state)
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return TokenClassifierOutput(loss=loss, logits=logits)


def encoder_config(symbols: int, **changes: Any) -> Transformer2017Config:
    """A small encoder without dropout: 1 layer of 64 units and 4 heads unless `changes` say otherwise."""
    sizes: dict[str, Any] = {
        "vocab_size": symbols,
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "dropout": 0.0,
        "attn_implementation": "eager",
    }
    return Transformer2017Config(**{**sizes, **changes})


def tag_batches(
    random: np.random.Generator,
    size: int,
    lengths: tuple[int, int],
    symbols: int,
    tags: Callable[[np.ndarray], np.ndarray],
) -> Iterator[dict[str, Tensor]]:
    """Endless batches of symbols 0 to `symbols` - 1, each batch of one length drawn alike from `lengths`.

    Args:
        tags: (N, T) symbols -> (N, T) labels.
    """
    while True:
        length = int(random.integers(lengths[0], lengths[1] + 1))
        drawn = random.integers(0, symbols, (size, length))
        yield {"input_ids": torch.from_numpy(drawn), "labels": torch.from_numpy(np.ascontiguousarray(tags(drawn)))}


@torch.no_grad()
def tag_accuracy(model: nn.Module, batch: dict[str, Tensor]) -> float:
    """The share of labels that are right."""
    model.eval()
    return (model(batch["input_ids"]).logits.argmax(-1) == batch["labels"]).float().mean().item()


def reversed_tags(symbols: np.ndarray) -> np.ndarray:
    """The sentence from its end: label t is symbol T + 1 - t."""
    return symbols[:, ::-1]
