"""The self-attentive model beside its BiLSTM, for batches with different shares of padding.

Found by `scripts/benchmark.py` under the name of the architecture; it has the section "padding" alone. The bound is
torch's bidirectional LSTM over the whole padded grid, pads included, with a maximum over positions in place of
attention and the same layers behind it: what the paper compares itself with, and it is given for free that its results
depend on the padding. Seconds are those of the processor, on one thread, so that a busy machine disturbs little.
Shapes: B texts, S positions, R hops, U = 2 hidden cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from benchmark_parts import processor_rounds, run_reader
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from hf_attention_zoo import get_architecture
from hf_attention_zoo.recurrent import bidirectional_lstm

# Few units behind the matrix: they are the same for all candidates and would hide what differs.
SIZES: dict[str, dict[str, int]] = {
    "paper": {"batch": 32, "length": 40, "embedding": 100, "hidden": 300, "attention": 350, "hops": 30, "units": 100},
    "small": {"batch": 32, "length": 40, "embedding": 100, "hidden": 100, "attention": 100, "hops": 8, "units": 100},
}
SHARES = (0.0, 0.25, 0.5, 0.75)
VOCABULARY, LABELS = 8000, 5


def build_model(sizes: dict[str, int]) -> nn.Module:
    """The zoo's classifier of single texts."""
    row = get_architecture("self_attentive")
    config = row.config_class(
        vocab_size=VOCABULARY,
        embedding_size=sizes["embedding"],
        hidden_size=sizes["hidden"],
        attention_size=sizes["attention"],
        num_hops=sizes["hops"],
        classifier_size=sizes["units"],
        num_labels=LABELS,
        dropout=0.0,
    )
    return row.model_classes["AutoModelForSequenceClassification"](config)


class LibraryBiLSTM(nn.Module):
    """Embeddings and torch's BiLSTM, packed or over the whole grid; then a maximum, and layers as in the zoo."""

    def __init__(self, sizes: dict[str, int], packed: bool) -> None:
        super().__init__()
        self.packed, self.hops = packed, sizes["hops"]
        self.embed_tokens = nn.Embedding(VOCABULARY, sizes["embedding"])
        self.lstm = nn.LSTM(sizes["embedding"], sizes["hidden"], bidirectional=True, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(2 * sizes["hidden"] * sizes["hops"], sizes["units"]),
            nn.ReLU(),
            nn.Linear(sizes["units"], LABELS),
        )

    def states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, S, U)."""
        words = self.embed_tokens(input_ids)
        if not self.packed:
            return self.lstm(words)[0]
        rows = pack_padded_sequence(words, attention_mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(rows)[0], batch_first=True, total_length=words.shape[1])[0]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        pooled = self.states(input_ids, attention_mask).amax(1)  # (B, U)
        logits = self.head(pooled[:, None].expand(-1, self.hops, -1).flatten(1))
        return nn.functional.cross_entropy(logits, labels)


class PackedZoo(LibraryBiLSTM):
    """Packed states, and the zoo's own attention, layers and loss over them."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__(sizes, packed=True)
        self.zoo = build_model(sizes)
        del self.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        states, attention = self.states(input_ids, attention_mask), self.zoo.model.attention
        matrix, annotations = attention(attention.prepare(states, attention_mask))
        logits = self.zoo.classifier(self.zoo.connection(matrix))
        _, penalty = self.zoo.penalties((annotations[:, :, None],))
        return nn.functional.cross_entropy(logits, labels) + penalty


def batch_of(sizes: dict[str, int], share: float) -> dict[str, Tensor]:
    """Texts of every length up to the longest one, so that about this share of the grid is padding on the right."""
    made = torch.Generator().manual_seed(0)
    rows, width = sizes["batch"], sizes["length"]
    ids = torch.randint(2, VOCABULARY, (rows, width), generator=made)
    mean = (1 - share) * width
    spread = min(mean - 1, width - mean)
    lengths = torch.linspace(mean - spread, mean + spread, rows).round().long().clamp(1, width)
    lengths[-1] = width
    mask = torch.arange(width) < lengths[torch.randperm(rows, generator=made)][:, None]
    labels = torch.randint(0, LABELS, (rows,), generator=made)
    return {"input_ids": ids * mask, "attention_mask": mask.long(), "labels": labels}


@contextmanager
def one_stride() -> Iterator[None]:
    """The zoo's BiLSTM without leaving texts behind that have ended."""
    before = bidirectional_lstm.LEAST_SAVING
    bidirectional_lstm.LEAST_SAVING = {}
    try:
        yield
    finally:
        bidirectional_lstm.LEAST_SAVING = before


def measure_padding(rows_of: Callable[..., list[dict[str, Any]]], repeats: int) -> list[dict[str, Any]]:
    """One row for each candidate, share of padding, and training step or forward pass; on one thread."""
    torch.set_num_threads(1)
    rows = []
    for name, sizes in SIZES.items():
        torch.manual_seed(0)
        zoo, grid, packed = build_model(sizes), LibraryBiLSTM(sizes, packed=False), PackedZoo(sizes)

        def run_in_one_stride(module: nn.Module, batch: dict[str, Tensor], train: bool) -> None:
            with one_stride():
                run_reader(module, batch, train)

        for share in SHARES:
            batch = batch_of(sizes, share)
            real = round(1 - batch["attention_mask"].float().mean().item(), 2)
            for kind in ("training", "forward"):
                arguments = (batch, kind == "training")
                cases = {
                    "bound": lambda grid=grid, arguments=arguments: run_reader(grid, *arguments),
                    "zoo": lambda zoo=zoo, arguments=arguments: run_reader(zoo, *arguments),
                    "zoo, one stride": lambda zoo=zoo, arguments=arguments: run_in_one_stride(zoo, *arguments),
                    "zoo, packed": lambda packed=packed, arguments=arguments: run_reader(packed, *arguments),
                }
                rows += rows_of(processor_rounds(cases, repeats), "bound", {"sizes": name, "pads": real, "kind": kind})
    return rows
