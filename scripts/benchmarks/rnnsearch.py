"""RNNsearch beside its bounds: the same sizes built from library parts, a plain loop, and its products alone.

Found by `scripts/benchmark.py` under the name of the architecture. Shapes: B sources, S source and T target positions,
m embedding, n hidden and alignment units, l maxout units, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from benchmark_parts import product
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo import get_architecture


def build_model(embedding: int, hidden: int, vocabulary: int) -> nn.Module:
    """The zoo's model with n' = n and l = n / 2."""
    row = get_architecture("rnnsearch")
    config = row.config_class(
        vocab_size=vocabulary,
        embedding_size=embedding,
        hidden_size=hidden,
        attention_size=hidden,
        maxout_size=hidden // 2,
    )
    return row.model_classes["AutoModelForSeq2SeqLM"](config)


class _Parts(nn.Module):
    """What the bound and the plain loop share: tables, encoder, s_0, readout and output layer."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.source_table = nn.Embedding(vocabulary, embedding)
        self.target_table = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.GRU(embedding, hidden, bidirectional=True, batch_first=True)
        self.initial_state = nn.Linear(hidden, hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(2 * hidden, hidden)
        self.readout = nn.Linear(3 * hidden + embedding, hidden)
        self.output = nn.Linear(hidden // 2, vocabulary)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S) -> annotations (B, S, 2n) and s_0 (B, n)."""
        annotations, _ = self.encoder(self.source_table(source))
        return annotations, torch.tanh(self.initial_state(annotations[:, 0, self.hidden :]))

    def loss(self, states: Tensor, words: Tensor, contexts: Tensor, labels: Tensor) -> Tensor:
        """States (B, T, n), words (B, T, m), contexts (B, T, 2n) -> cross entropy through maxout and output layer."""
        units = self.readout(torch.cat([states, words, contexts], -1)).unflatten(-1, (-1, 2)).amax(-1)
        return functional.cross_entropy(self.output(units).flatten(0, 1), labels.flatten())


class Bound(_Parts):
    """The same work without the loop that makes it slow: no step waits for its own context.

    The decoder is one `nn.GRU` over [word; annotation], as wide as [word; context]; queries meet keys in one batched
    dot product, without hyperbolic tangents. S and T must be equal.
    """

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.decoder = nn.GRU(embedding + 2 * hidden, hidden, batch_first=True)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        annotations, start = self.encode(source)
        words = self.target_table(target)
        states, _ = self.decoder(torch.cat([words, annotations], -1), start[None])
        scores = torch.bmm(self.query(states), self.key(annotations).transpose(1, 2))
        contexts = torch.bmm(torch.softmax(scores, -1), annotations)
        return self.loss(states, words, contexts, labels)


class PlainLoop(_Parts):
    """The loop as one would write it first: `nn.GRUCell`, keys projected once, autograd for the rest."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.cell = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        annotations, state = self.encode(source)
        keys = self.key(annotations)
        words = self.target_table(target)
        states, contexts = [], []
        for t in range(target.shape[1]):
            energies = self.energy(torch.tanh(self.query(state)[:, None] + keys))[..., 0]
            alignment = torch.softmax(energies.masked_fill(mask == 0, -torch.inf), -1)
            context = torch.bmm(alignment[:, None], annotations)[:, 0]
            state = self.cell(torch.cat([words[:, t], context], -1), state)
            states.append(state)
            contexts.append(context)
        return self.loss(torch.stack(states, 1), words, torch.stack(contexts, 1), labels)


REFERENCES: dict[str, type[nn.Module]] = {"bound": Bound, "plain loop": PlainLoop}


def decoding_products(
    embedding: int, hidden: int, vocabulary: int, batch: int, beams: int, source: int, steps: int
) -> dict[str, Callable[[], None]]:
    """Matrix products of beam search and nothing else: no gates, scores, softmax, ranking or copies.

    "as written": those of the equations, keys projected once and annotations shared by the beams. "as computed": those
    that the model does, whose contexts are projected once per annotation instead of once per hypothesis and step.
    """
    rows, double, gates = batch * beams, 2 * hidden, 3 * hidden

    def mixture(width: int) -> Callable[[], None]:
        weights, vectors = torch.randn(batch, beams, source), torch.randn(batch, source, width)
        return lambda: torch.bmm(weights, vectors)

    read = [product(batch * source, embedding, gates), product(batch * source, embedding, gates)]
    read_step = [product(batch, hidden, gates), product(batch, hidden, gates)]
    keys = product(batch * source, double, hidden)
    common = [
        product(rows, hidden, hidden),  # W_a s
        product(rows, embedding, gates),
        product(rows, hidden, gates),
        product(rows, hidden + embedding, hidden),  # readout of state and word
        product(rows, hidden // 2, vocabulary),
    ]
    written = [*common, mixture(double), product(rows, double, gates), product(rows, double, hidden)]
    computed = [*common, mixture(gates), mixture(hidden)]
    once = [product(batch * source, double, gates), product(batch * source, double, hidden)]

    def run(before: list[Callable[[], None]], step: list[Callable[[], None]]) -> None:
        for one in before:
            one()
        for _ in range(source):
            for one in read_step:
                one()
        for _ in range(steps):
            for one in step:
                one()

    return {
        "products as written": lambda: run([*read, keys], written),
        "products as computed": lambda: run([*read, keys, *once], computed),
    }
