"""The RNN encoder-decoder beside its bounds: the same sizes from library parts, a plain loop, and its products alone.

Found by `scripts/benchmark.py` under the name of the architecture. Shapes: B sources, S source and T target positions,
m embedding, n hidden, l maxout units, V vocabulary. No factor before the output layer.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from benchmark_parts import product
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo import get_architecture


def build_model(embedding: int, hidden: int, vocabulary: int) -> nn.Module:
    """The zoo's model with l = n / 2."""
    row = get_architecture("rnn_encoder_decoder")
    config = row.config_class(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        embedding_size=embedding,
        hidden_size=hidden,
        maxout_size=hidden // 2,
        output_rank=None,
    )
    return row.model_classes["AutoModelForSeq2SeqLM"](config)


class _Parts(nn.Module):
    """What the bound and the plain loop share: tables, encoder, summary, readout and output layer."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.source_table = nn.Embedding(vocabulary, embedding)
        self.target_table = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.GRU(embedding, hidden, batch_first=True)
        self.summarise = nn.Linear(hidden, hidden)
        self.initial_state = nn.Linear(hidden, hidden)
        self.state_readout = nn.Linear(hidden, hidden)
        self.word_readout = nn.Linear(embedding, hidden, bias=False)
        self.summary_readout = nn.Linear(hidden, hidden, bias=False)
        self.output = nn.Linear(hidden // 2, vocabulary)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S) -> c and h'_0, (B, n) each."""
        _, last = self.encoder(self.source_table(source))
        summary = torch.tanh(self.summarise(last[0]))
        return summary, torch.tanh(self.initial_state(summary))

    def loss(self, states: Tensor, words: Tensor, summary: Tensor, labels: Tensor) -> Tensor:
        """States (B, T, n), words (B, T, m), c (B, n) -> cross entropy through maxout and output layer."""
        total = self.state_readout(states) + self.word_readout(words) + self.summary_readout(summary)[:, None]
        units = total.unflatten(-1, (-1, 2)).amax(-1)
        return functional.cross_entropy(self.output(units).flatten(0, 1), labels.flatten())


class Bound(_Parts):
    """Two `nn.GRU`, the second from h'_0 over the words alone: c is left out of its gates, where it is added once."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.decoder = nn.GRU(embedding, hidden, batch_first=True)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        summary, start = self.encode(source)
        words = self.target_table(target)
        states, _ = self.decoder(words, start[None])
        return self.loss(states, words, summary, labels)


class PlainLoop(_Parts):
    """The decoder as a loop over `nn.GRUCell` that reads [word; c] at every step."""

    def __init__(self, embedding: int, hidden: int, vocabulary: int) -> None:
        super().__init__(embedding, hidden, vocabulary)
        self.cell = nn.GRUCell(embedding + hidden, hidden)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        summary, state = self.encode(source)
        words = self.target_table(target)
        states = []
        for word in words.unbind(1):
            state = self.cell(torch.cat([word, summary], -1), state)
            states.append(state)
        return self.loss(torch.stack(states, 1), words, summary, labels)


REFERENCES: dict[str, type[nn.Module]] = {"bound": Bound, "plain loop": PlainLoop}


def decoding_products(
    embedding: int, hidden: int, vocabulary: int, batch: int, beams: int, source: int, steps: int
) -> dict[str, Callable[[], None]]:
    """Matrix products of beam search and nothing else: no gates, softmax, ranking or copies. c is projected once."""
    rows, gates = batch * beams, 3 * hidden

    read = product(batch * source, embedding, gates)
    read_step = product(batch, hidden, gates)
    once = [product(batch, hidden, hidden), product(batch, hidden, hidden), product(batch, hidden, gates + hidden)]
    step = [
        product(rows, embedding, gates),
        product(rows, hidden, gates),
        product(rows, hidden + embedding, hidden),  # readout of state and word
        product(rows, hidden // 2, vocabulary),
    ]

    def run() -> None:
        read()
        for _ in range(source):
            read_step()
        for one in once:
            one()
        for _ in range(steps):
            for one in step:
                one()

    return {"products": run}
