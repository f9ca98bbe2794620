"""ELMo beside torch's LSTM with a projection, for sentences of different lengths: words of running text.

Found by `scripts/benchmark.py` under the name of the architecture; it has the section "padding" alone. The bound is
two `nn.LSTM(proj_size=...)` of the same sizes, one for each direction, over the whole padded grid, with word vectors
given for free: no characters, no clips, and results that depend on the padding. "every word convolved" is the zoo's
model without its sharing of equal words. Training steps have the sampled softmax in all candidates. Seconds are those
of the processor, on one thread; `words_per_second` counts words, not pads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from benchmark_parts import processor_rounds
from torch import Tensor, nn

from hf_attention_zoo import ELMoForPreTraining, ELMoModel, get_architecture
from hf_attention_zoo.losses.sampled_softmax import sampled_cross_entropy
from hf_attention_zoo.models.elmo import layers_bilm
from hf_attention_zoo.models.elmo.layers_elmo import distinct_rows
from hf_attention_zoo.tokenization.word_character_tokenizer import character_row

SIZES: dict[str, dict[str, int]] = {
    "small": {"batch": 32, "length": 30, "projection": 64, "cells": 256},
    "2x1024_128": {"batch": 16, "length": 30, "projection": 128, "cells": 1024},
}
SMALL_FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128]]
VOCABULARY, SAMPLES = 8000, 512
SHARES = (0.0, 0.5)


def build_model(sizes: dict[str, int]) -> nn.Module:
    """The zoo's language model."""
    config = get_architecture("elmo").config_class(
        vocab_size=VOCABULARY,
        num_highway_layers=1,
        projection_size=sizes["projection"],
        cell_size=sizes["cells"],
        num_negative_samples=SAMPLES,
        dropout=0.0,
        **({"filters": SMALL_FILTERS} if sizes["projection"] < 128 else {}),
    )
    return ELMoForPreTraining(config)


class LibraryBiLM(nn.Module):
    """Two directions of torch's LSTM with a projection over the whole grid, words from a table."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, sizes["projection"])
        self.sides = nn.ModuleList(
            nn.LSTM(sizes["projection"], sizes["cells"], 2, batch_first=True, proj_size=sizes["projection"])
            for _ in range(2)
        )
        self.softmax = nn.Linear(sizes["projection"], VOCABULARY)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None, **_: Any) -> Tensor:
        vectors = self.words(input_ids)
        made = [self.sides[0](vectors)[0], self.sides[1](vectors.flip(1))[0].flip(1)]
        if labels is None:
            return torch.cat(made, -1)
        targets = labels[:, :-1].flatten()
        return sum(
            sampled_cross_entropy(one.flatten(0, 1), self.softmax.weight, self.softmax.bias, targets, SAMPLES)
            for one in made
        ) / len(targets)


@contextmanager
def every_word_convolved() -> Iterator[None]:
    """The zoo without looking for equal words."""
    layers_bilm.distinct_rows = lambda rows: (rows, torch.arange(len(rows)))
    try:
        yield
    finally:
        layers_bilm.distinct_rows = distinct_rows


def batch_of(sizes: dict[str, int], share: float) -> dict[str, Tensor]:
    """Words drawn as in running text, a few of them very often; about this share of the grid is padding."""
    made = torch.Generator().manual_seed(0)
    rows, width = sizes["batch"], sizes["length"]
    uniform = torch.rand(rows, width, generator=made)
    ids = ((VOCABULARY + 1.0) ** uniform - 1).long().clamp(max=VOCABULARY - 1)
    mean = (1 - share) * width
    spread = min(mean - 1, width - mean)
    lengths = torch.linspace(mean - spread, mean + spread, rows).round().long().clamp(1, width)
    mask = torch.arange(width) < lengths[torch.randperm(rows, generator=made)][:, None]
    table = torch.tensor([character_row(f"{'word' * (1 + number % 3)}{number}") for number in range(VOCABULARY)])
    labels = torch.full((rows, width + 1), -100)
    labels[:, :-1][mask] = ids[mask]
    labels.scatter_(1, mask.sum(1, keepdim=True), 1)
    return {"input_ids": ids, "character_ids": table[ids] * mask[..., None], "labels": labels}


def measure_padding(rows_of: Callable[..., list[dict[str, Any]]], repeats: int) -> list[dict[str, Any]]:
    """One row for each candidate, share of padding, and training step or forward pass; on one thread."""
    torch.set_num_threads(1)
    rows = []
    for name, sizes in SIZES.items():
        torch.manual_seed(0)
        zoo, library = build_model(sizes), LibraryBiLM(sizes)
        body = ELMoModel(zoo.config)
        for share in SHARES:
            batch = batch_of(sizes, share)
            words = int((batch["labels"] != -100).sum()) - sizes["batch"]
            real = round(1 - words / batch["input_ids"].numel(), 2)
            reading = {key: tensor for key, tensor in batch.items() if key != "labels"}

            def train(module: nn.Module, batch: dict[str, Tensor] = batch) -> None:
                module.train().zero_grad()
                made = module(**batch)
                (made if isinstance(made, Tensor) else made.loss).backward()

            def read(module: nn.Module, batch: dict[str, Tensor] = reading) -> None:
                with torch.no_grad():
                    module.eval()(**batch)

            def shared_not(run: Callable[[nn.Module], None], module: nn.Module) -> None:
                with every_word_convolved():
                    run(module)

            for kind, run, model in (("training", train, zoo), ("forward", read, body)):
                cases = {
                    "bound": lambda run=run, library=library: run(library),
                    "zoo": lambda run=run, model=model: run(model),
                    "zoo, every word convolved": lambda run=run, model=model: shared_not(run, model),
                }
                seconds = processor_rounds(cases, repeats)
                found = rows_of(seconds, "bound", {"sizes": name, "pads": real, "kind": kind})
                for row, times in zip(found, seconds.values(), strict=False):
                    row["words_per_second"] = round(words / sorted(times)[len(times) // 2])
                rows += found
    return rows
