"""Luong's model beside its bounds: two layers, general score, with and without input feeding.

Found by `scripts/benchmark.py` under the name of the architecture. Shapes: B sources, S source and T target positions,
E embedding, H cells, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from benchmark_parts import product
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo import get_architecture
from hf_attention_zoo.attention.concat import ConcatAttention

LAYERS = 2


def build_model(embedding: int, hidden: int, vocabulary: int, feed: bool) -> nn.Module:
    """The zoo's model, without dropout."""
    row = get_architecture("luong")
    config = row.config_class(
        vocab_size=vocabulary,
        embedding_size=embedding,
        hidden_size=hidden,
        num_hidden_layers=LAYERS,
        attention_score="general",
        attention_window="global",
        input_feeding=feed,
        dropout=0.0,
    )
    return row.model_classes["AutoModelForSeq2SeqLM"](config)


class _Parts(nn.Module):
    """What the bound and the plain loop share: tables, encoder, keys, attentional and output layer."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.source_table = nn.Embedding(vocabulary, embedding)
        self.target_table = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.LSTM(embedding, hidden, LAYERS, bias=False, batch_first=True)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.attentional = nn.Linear(2 * hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, vocabulary, bias=False)

    def loss(self, attentional: Tensor, labels: Tensor) -> Tensor:
        """(B, T, H) -> cross entropy through the output layer."""
        return functional.cross_entropy(self.output(attentional).flatten(0, 1), labels.flatten())


class Bound(_Parts):
    """The same work without a loop: one `nn.LSTM` over the target and one batched attention.

    With feeding, the decoder reads [word; source state], as wide as [word; attentional vector], but waits for nothing.
    S and T must be equal.
    """

    def __init__(self, embedding: int, hidden: int, vocabulary: int, feed: bool) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.feed = feed
        width = embedding + hidden if feed else embedding
        self.decoder = nn.LSTM(width, hidden, LAYERS, bias=False, batch_first=True)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        states, last = self.encoder(self.source_table(source))
        words = self.target_table(target)
        hidden, _ = self.decoder(torch.cat([words, states], -1) if self.feed else words, last)
        alignment = torch.softmax(torch.bmm(hidden, self.key(states).transpose(1, 2)), -1)
        both = torch.cat([torch.bmm(alignment, states), hidden], -1)
        return self.loss(torch.tanh(self.attentional(both)), labels)


class PlainLoop(_Parts):
    """The loop as one would write it first: `nn.LSTMCell` for every layer, autograd for the rest."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int, feed: bool) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.feed = feed
        first = embedding + hidden if feed else embedding
        self.cells = nn.ModuleList(
            nn.LSTMCell(hidden if layer else first, hidden, bias=False) for layer in range(LAYERS)
        )

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        states, (last_hidden, last_cell) = self.encoder(self.source_table(source))
        keys, words = self.key(states), self.target_table(target)
        state = list(zip(last_hidden, last_cell, strict=True))
        attentional = torch.zeros_like(last_hidden[0])
        made = []
        for t in range(target.shape[1]):
            below = torch.cat([words[:, t], attentional], -1) if self.feed else words[:, t]
            for layer, cell in enumerate(self.cells):
                state[layer] = cell(below, state[layer])
                below = state[layer][0]
            scores = torch.bmm(keys, below[:, :, None])[..., 0]
            alignment = torch.softmax(scores.masked_fill(mask == 0, -torch.inf), -1)
            context = torch.bmm(alignment[:, None], states)[:, 0]
            attentional = torch.tanh(self.attentional(torch.cat([context, below], -1)))
            made.append(attentional)
        return self.loss(torch.stack(made, 1), labels)


def decoding_products(
    embedding: int, hidden: int, vocabulary: int, batch: int, beams: int, source: int, steps: int, feed: bool
) -> dict[str, Callable[[], None]]:
    """Matrix products of beam search and nothing else: no gates, softmax, ranking or copies.

    Keys are projected once and shared by the beams, and so are the source's states.
    """
    rows, gates = batch * beams, 4 * hidden

    def attention() -> list[Callable[[], None]]:
        queries, vectors = torch.randn(batch, beams, hidden), torch.randn(batch, source, hidden)
        weights, keys = torch.randn(batch, beams, source), torch.randn(batch, hidden, source)
        return [lambda: torch.bmm(queries, keys), lambda: torch.bmm(weights, vectors)]

    read = [product(batch * source, embedding, gates), product(batch * source, hidden, gates)]
    read_step = [product(batch, hidden, gates) for _ in range(LAYERS)]
    keys = product(batch * source, hidden, hidden)
    step = [
        product(rows, embedding + (hidden if feed else 0), gates),
        product(rows, hidden, gates),  # U of the first layer
        product(rows, hidden, gates),  # W and U of the second
        product(rows, hidden, gates),
        *attention(),
        product(rows, 2 * hidden, hidden),  # W_c
        product(rows, hidden, vocabulary),
    ]

    def run() -> None:
        for one in read:
            one()
        for _ in range(source):
            for one in read_step:
                one()
        keys()
        for _ in range(steps):
            for one in step:
                one()

    return {"products": run}


class ConcatScores(nn.Module):
    """The zoo's concat score, which holds a few targets at a time and computes hyperbolic tangents again backwards."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention = ConcatAttention(size, size, size)
        nn.init.normal_(self.attention.score_vector, std=size**-0.5)

    def forward(self, query: Tensor, values: Tensor) -> Tensor:
        mask = torch.ones(values.shape[:2], dtype=torch.bool)
        return self.attention(query, self.attention.prepare(values, mask))[0]


class NaiveConcatScores(nn.Module):
    """Eq. 7 as it stands for all targets at once: (B, T, S, H) hyperbolic tangents are kept for backward."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query_weight, self.key_weight = (nn.Linear(size, size, bias=False) for _ in range(2))
        self.vector = nn.Linear(size, 1, bias=False)

    def forward(self, query: Tensor, values: Tensor) -> Tensor:
        inside = self.query_weight(query)[:, :, None] + self.key_weight(values)[:, None]
        return torch.bmm(torch.softmax(self.vector(torch.tanh(inside))[..., 0], -1), values)


SCORES: dict[str, type[nn.Module]] = {"zoo, concat": ConcatScores, "naive, concat": NaiveConcatScores}


class Variant(NamedTuple):
    """What `scripts/benchmark.py` asks for, of one form of the model."""

    build_model: Callable[..., nn.Module]
    REFERENCES: dict[str, Callable[..., nn.Module]]
    decoding_products: Callable[..., dict[str, Callable[[], None]]]


def variant(feed: bool) -> Variant:
    """The model with or without input feeding, beside a bound of the same kind."""
    return Variant(
        partial(build_model, feed=feed),
        {"bound": partial(Bound, feed=feed), "plain loop": partial(PlainLoop, feed=feed)},
        partial(decoding_products, feed=feed),
    )


VARIANTS = {"input feeding": variant(True), "no feeding": variant(False)}
