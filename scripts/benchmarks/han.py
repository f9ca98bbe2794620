"""The hierarchical attention network for batches with different shares of padding, beside two plain forms of it.

Found by `scripts/benchmark.py` under the name of the architecture; it has the section "padding" alone. The candidates
have the paper's sizes and the same attention and output layer; the plain ones are built on torch's GRU.

    packed      the bound: real sentences are picked out and packed for the word GRU, documents for the sentence GRU
    grid        the word GRU reads every place of every sentence, the sentence GRU every sentence, pads included
    zoo         ours: words alone, each distinct word projected once
    zoo, words one by one   ours with each word projected by itself, as dropout on embeddings demands

Words follow the law of Zipf, as in a text. Seconds are those of the processor, on one thread: a busy machine disturbs
little. Shapes: B documents, S sentences, T words, M = 2 hidden units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from benchmark_parts import processor_rounds, run_reader
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from hf_attention_zoo import get_architecture

SIZES: dict[str, dict[str, int]] = {
    "paper": {"batch": 16, "sentences": 10, "words": 25, "embedding": 200, "hidden": 50, "attention": 100},
}
SHARES = (0.0, 0.25, 0.5, 0.75)
VOCABULARY, LABELS = 20_000, 5


def build_model(sizes: dict[str, int], dropout: float = 0.0) -> nn.Module:
    """The zoo's classifier, training."""
    row = get_architecture("han")
    config = row.config_class(
        vocab_size=VOCABULARY,
        embedding_size=sizes["embedding"],
        hidden_size=sizes["hidden"],
        attention_size=sizes["attention"],
        num_labels=LABELS,
        dropout=dropout,
    )
    return row.model_classes["AutoModelForSequenceClassification"](config).train()


class PlainLevel(nn.Module):
    """torch's GRU, packed or over all pads, and attention with a context vector that leaves the pads out."""

    def __init__(self, size: int, sizes: dict[str, int], packed: bool) -> None:
        super().__init__()
        self.packed = packed
        self.gru = nn.GRU(size, sizes["hidden"], bidirectional=True, batch_first=True)
        self.projection = nn.Linear(2 * sizes["hidden"], sizes["attention"])
        self.context_vector = nn.Linear(sizes["attention"], 1, bias=False)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """(rows, T, I), (rows, T) -> (rows, M)."""
        if self.packed:
            lengths = mask.sum(1).cpu()
            rows = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
            states = pad_packed_sequence(self.gru(rows)[0], batch_first=True, total_length=vectors.shape[1])[0]
        else:
            states = self.gru(vectors)[0]
        scores = self.context_vector(torch.tanh(self.projection(states)))[..., 0]
        weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1) * mask
        return torch.einsum("rt,rtm->rm", weights, states)


class PlainHAN(nn.Module):
    """The two levels, over all places or over the real sentences."""

    def __init__(self, sizes: dict[str, int], packed: bool) -> None:
        super().__init__()
        self.packed = packed
        self.embed_tokens = nn.Embedding(VOCABULARY, sizes["embedding"])
        self.words = PlainLevel(sizes["embedding"], sizes, packed)
        self.sentences = PlainLevel(2 * sizes["hidden"], sizes, packed)
        self.classifier = nn.Linear(2 * sizes["hidden"], LABELS)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        mask = attention_mask.bool()
        real = mask.any(-1)  # (B, S)
        chosen = real if self.packed else torch.ones_like(real)
        vectors = self.words(self.embed_tokens(input_ids[chosen]), mask[chosen])
        sentences = vectors.new_zeros(*real.shape, vectors.shape[-1]).index_put((chosen,), vectors)
        logits = self.classifier(self.sentences(sentences, real))
        return nn.functional.cross_entropy(logits, labels)


def lengths_of(count: int, longest: int, share: float, made: torch.Generator) -> Tensor:
    """Lengths up to the longest one with this mean share of it, in random order."""
    mean = share * longest
    spread = min(mean - 1, longest - mean)
    lengths = torch.linspace(mean - spread, mean + spread, count).round().long().clamp(1, longest)
    return lengths[torch.randperm(count, generator=made)]


def batch_of(sizes: dict[str, int], share: float) -> dict[str, Tensor]:
    """Documents of which about this share of the grid is padding, on both axes alike."""
    made = torch.Generator().manual_seed(0)
    rows, height, width = sizes["batch"], sizes["sentences"], sizes["words"]
    filled = (1 - share) ** 0.5
    sentences = lengths_of(rows, height, filled, made)
    words = lengths_of(rows * height, width, filled, made).view(rows, height)
    mask = (torch.arange(height) < sentences[:, None])[..., None] & (torch.arange(width) < words[..., None])
    frequencies = 1 / (torch.arange(1, VOCABULARY).float() + 2.7)
    ids = 1 + torch.multinomial(frequencies, rows * height * width, replacement=True, generator=made)
    labels = torch.randint(0, LABELS, (rows,), generator=made)
    return {"input_ids": ids.view(mask.shape) * mask, "attention_mask": mask.long(), "labels": labels}


def measure_padding(rows_of: Callable[..., list[dict[str, Any]]], repeats: int) -> list[dict[str, Any]]:
    """One row for each candidate, share of padding, and training step or forward pass; on one thread."""
    torch.set_num_threads(1)
    rows = []
    for name, sizes in SIZES.items():
        torch.manual_seed(0)
        candidates = {
            "packed": PlainHAN(sizes, packed=True),
            "grid": PlainHAN(sizes, packed=False),
            "zoo": build_model(sizes),
            "zoo, words one by one": build_model(sizes, dropout=1e-6),
        }

        for share in SHARES:
            batch = batch_of(sizes, share)
            pads = round(1 - batch["attention_mask"].float().mean().item(), 2)
            for kind in ("training", "forward"):
                cases = {
                    case: lambda module=module, batch=batch, kind=kind: run_reader(module, batch, kind == "training")
                    for case, module in candidates.items()
                }
                rows += rows_of(
                    processor_rounds(cases, repeats), "packed", {"sizes": name, "pads": pads, "kind": kind}
                )
    return rows
