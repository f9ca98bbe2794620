"""Sutskever's LSTM beside its bounds: two layers built from torch's own, a plain loop, and its products alone.

Found by `scripts/benchmark.py` under the name of the architecture. Shapes: B sources, S source and T target positions,
E embedding, H cells, V vocabulary. Torch's layers have two biases a gate, the model one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from benchmark_parts import product
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo import get_architecture

LAYERS = 2


def build_model(embedding: int, hidden: int, vocabulary: int) -> nn.Module:
    """The zoo's model; two layers instead of the paper's four."""
    row = get_architecture("seq2seq_lstm")
    config = row.config_class(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        embedding_size=embedding,
        hidden_size=hidden,
        num_hidden_layers=LAYERS,
    )
    return row.model_classes["AutoModelForSeq2SeqLM"](config)


class _Parts(nn.Module):
    """What the bound and the plain loop share: tables, encoder and output layer."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.source_table = nn.Embedding(vocabulary, embedding)
        self.target_table = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.LSTM(embedding, hidden, LAYERS, batch_first=True)
        self.output = nn.Linear(hidden, vocabulary)

    def loss(self, states: Tensor, labels: Tensor) -> Tensor:
        """(B, T, H) -> cross entropy through the output layer."""
        return functional.cross_entropy(self.output(states).flatten(0, 1), labels.flatten())


class Bound(_Parts):
    """Two `nn.LSTM`, the second from the last state of the first."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.decoder = nn.LSTM(embedding, hidden, LAYERS, batch_first=True)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        _, last = self.encoder(self.source_table(source.flip(1)))
        states, _ = self.decoder(self.target_table(target), last)
        return self.loss(states, labels)


class PlainLoop(_Parts):
    """The decoder as a loop over `nn.LSTMCell`."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.cells = nn.ModuleList(nn.LSTMCell(hidden if layer else embedding, hidden) for layer in range(LAYERS))

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        _, (last_hidden, last_cell) = self.encoder(self.source_table(source.flip(1)))
        state = list(zip(last_hidden, last_cell, strict=True))
        made = []
        for word in self.target_table(target).unbind(1):
            below = word
            for layer, cell in enumerate(self.cells):
                state[layer] = cell(below, state[layer])
                below = state[layer][0]
            made.append(below)
        return self.loss(torch.stack(made, 1), labels)


REFERENCES: dict[str, type[nn.Module]] = {"bound": Bound, "plain loop": PlainLoop}


def decoding_products(
    embedding: int, hidden: int, vocabulary: int, batch: int, beams: int, source: int, steps: int
) -> dict[str, Callable[[], None]]:
    """Matrix products of beam search and nothing else: no gates, softmax, ranking or copies."""
    rows, gates = batch * beams, 4 * hidden

    read = [product(batch * source, embedding, gates), product(batch * source, hidden, gates)]
    read_step = [product(batch, hidden, gates) for _ in range(LAYERS)]
    step = [product(rows, embedding, gates), *(product(rows, hidden, gates) for _ in range(2 * LAYERS - 1))]
    step.append(product(rows, hidden, vocabulary))

    def run() -> None:
        for one in read:
            one()
        for _ in range(source):
            for one in read_step:
                one()
        for _ in range(steps):
            for one in step:
                one()

    return {"products": run}
