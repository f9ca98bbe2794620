"""Show, Attend and Tell: captions a second with regions cached and not, and its training step beside a plain loop.

Found by `scripts/benchmark.py` under the name of the architecture. Seconds are the processor's, on one thread.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from benchmark_parts import processor_rounds, run_reader
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin

from hf_attention_zoo import get_architecture

SIZES = {
    "small": {"batch": 32, "regions": 64, "annotation": 112, "embedding": 128, "hidden": 256, "vocabulary": 2000},
    "196 regions": {
        "batch": 8,
        "regions": 196,
        "annotation": 112,
        "embedding": 256,
        "hidden": 512,
        "vocabulary": 8000,
    },
}
WORDS = 10


def build_model(sizes: dict[str, int], encoder: str = "regions") -> nn.Module:
    """The zoo's model, soft attention, one layer of attention."""
    row, side = get_architecture("show_attend_tell"), int(sizes["regions"] ** 0.5)
    config = row.config_class(
        vocab_size=sizes["vocabulary"],
        embedding_size=sizes["embedding"],
        hidden_size=sizes["hidden"],
        annotation_size=sizes["annotation"],
        num_attention_layers=1,
        image_encoder=encoder,
        grid_height=side,
        grid_width=side,
        dropout=0.0,
    )
    return row.model_classes["AutoModelForImageTextToText"](config)


class PlainLoop(nn.Module):
    """The loop as one would write it first: `nn.LSTMCell`, keys projected once, autograd for the rest."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        values, hidden, embedding = sizes["annotation"], sizes["hidden"], sizes["embedding"]
        self.table = nn.Embedding(sizes["vocabulary"], embedding)
        self.shared = nn.Linear(values, values)
        self.starts = nn.ModuleList(nn.Linear(values, hidden) for _ in range(2))
        self.key, self.query = nn.Linear(values, values), nn.Linear(hidden, values, bias=False)
        self.energy, self.gate = nn.Linear(values, 1), nn.Linear(hidden, 1)
        self.cell = nn.LSTMCell(embedding + values, hidden)
        self.state_out, self.context_out = nn.Linear(hidden, embedding), nn.Linear(values, embedding)
        self.output = nn.Linear(embedding, sizes["vocabulary"])

    def forward(self, annotations: Tensor, labels: Tensor) -> Tensor:
        previous = self.table(labels.roll(1, 1))
        inner = torch.relu(self.shared(annotations.mean(1)))
        hidden, cell = (torch.tanh(start(inner)) for start in self.starts)
        keys, outputs, covered = self.key(annotations), [], 0.0
        for t in range(labels.shape[1]):
            alpha = torch.softmax(self.energy(torch.tanh(keys + self.query(hidden)[:, None]))[..., 0], -1)
            context = torch.sigmoid(self.gate(hidden)) * (alpha[..., None] * annotations).sum(1)
            hidden, cell = self.cell(torch.cat([previous[:, t], context], -1), (hidden, cell))
            outputs.append(previous[:, t] + self.state_out(hidden) + self.context_out(context))
            covered = covered + alpha
        logits = self.output(torch.stack(outputs, 1))
        penalty = (1 - covered).square().sum() / labels.numel()
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten()) + penalty


def copying(model: nn.Module) -> nn.Module:
    """The model with the same weights, whose `generate` copies the source for each beam, as that of transformers."""
    made = copy.copy(model)
    made._expand_inputs_for_generation = GenerationMixin._expand_inputs_for_generation.__get__(made)
    return made


def search(model: nn.Module, beams: int, steps: int = WORDS, **source: Tensor) -> Callable[[], None]:
    """A search that writes `steps` words a picture."""

    def run() -> None:
        model.generate(**source, num_beams=beams, max_new_tokens=steps)

    return run


def measure_captions(rows_of: Callable[..., list[dict[str, Any]]], repeats: int) -> list[dict[str, Any]]:
    """Training steps by that of the plain loop; searches by the one with cached regions and beam 1."""
    torch.set_num_threads(1)
    rows = []
    for name, sizes in SIZES.items():
        torch.manual_seed(0)
        model, plain = build_model(sizes).train(), PlainLoop(sizes)
        regions = torch.randn(sizes["batch"], sizes["regions"], sizes["annotation"])
        batch = {"annotations": regions, "labels": torch.randint(4, sizes["vocabulary"], (sizes["batch"], WORDS))}
        steps = {
            "plain loop": lambda plain=plain, batch=batch: run_reader(plain, batch, True),
            "zoo": lambda model=model, batch=batch: run_reader(model, batch, True),
        }
        rows += rows_of(processor_rounds(steps, repeats), "plain loop", {"sizes": name, "kind": "training"})

        seeing = build_model(sizes, "efficientnet_lite0").eval()
        seeing.generation_config.eos_token_id = None  # no caption ends: every one has all its words
        side = 16 * seeing.config.grid_height
        pictures = torch.randn(sizes["batch"], 3, side, side)
        searches = {
            "beam 1, regions cached": search(seeing, 1, annotations=regions),
            "beam 1, from pictures": search(seeing, 1, pixel_values=pictures),
            "beam 5, regions cached": search(seeing, 5, annotations=regions),
            "beam 5, from pictures": search(seeing, 5, pixel_values=pictures),
            "beam 5, regions cached, copied for each beam": search(copying(seeing), 5, annotations=regions),
        }
        found = processor_rounds(searches, repeats)
        measured = rows_of(found, "beam 1, regions cached", {"sizes": name, "kind": "captions"})
        for row in measured:
            row["captions_per_second"] = round(1e3 * sizes["batch"] / row["median_ms"], 1)
        rows += [{**row, "captions_per_second": row.get("captions_per_second", "")} for row in measured]
    return [{"captions_per_second": "", **row} for row in rows]
