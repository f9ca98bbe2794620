"""Training under autocast in bfloat16 beside float32, on a CPU: seconds of a step, and the loss after the same steps.

Steps are of sentences of different lengths with pads, and each round has another batch, as in training: products in
bfloat16 need a kernel of their own for every number of tokens, made when it first comes.

    python scripts/benchmark_bf16.py --json scripts/benchmarks/bf16.json     # about five minutes on one core
    python scripts/benchmark_bf16.py --models "RNNsearch, 256 wide" --repeats 2 --steps 10

Each round takes a step in float32 and one in bfloat16, on one thread; seconds are those of the processor, and a ratio
is the median over rounds. Then both learn, from the same weights and batches, to copy sentences (Adam, rate 1e-3).
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from benchmark import load_builders, machine, print_rows, rows_of, variants_of
from benchmark_parts import processor_rounds
from torch import nn

LENGTH, VOCABULARY, COPIED = 5, 8000, 50
KINDS = ("float32", "bfloat16")
# name -> architecture, start of the variant's name, hidden size, rows
MODELS = {
    "RNNsearch, 512 wide": ("rnnsearch", "", 512, 64),
    "RNNsearch, 256 wide": ("rnnsearch", "", 256, 32),
    "RNNsearch, 128 wide": ("rnnsearch", "", 128, 32),
    "Luong, 512 wide": ("luong", "", 512, 64),
    "Luong, 256 wide": ("luong", "", 256, 32),
    "Transformer, base": ("transformer2017", "6 layers", 512, 16),
    "Transformer, 3 layers of 256": ("transformer2017", "3 layers", 512, 32),
    "Transformer, 3 layers of 128": ("transformer2017", "3 layers", 256, 32),
}
Row = dict[str, Any]


def build(name: str) -> tuple[nn.Module, int]:
    """The model with random weights, and the rows of a batch."""
    architecture, start, hidden, rows = MODELS[name]
    variants = variants_of(load_builders(architecture))
    builders = next(variant for key, variant in variants.items() if key.startswith(start))
    torch.manual_seed(0)
    return builders.build_model(256, hidden, VOCABULARY).train(), rows


def loss_of(model: nn.Module, data: dict[str, torch.Tensor], kind: str) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16, enabled=kind == "bfloat16"):
        return model(**data).loss


def batches(rows: int, count: int) -> list[dict[str, torch.Tensor]]:
    """Sentences whose lengths differ from batch to batch."""
    sentences = load_builders("transformer2017")
    sources, targets = sentences.sentence_lengths(rows * count)
    parts = (slice(first, first + rows) for first in range(0, rows * count, rows))
    return [sentences.padded_batch(sources[part], targets[part], VOCABULARY) for part in parts]


def step_of(model: nn.Module, data: Iterator[dict[str, torch.Tensor]], kind: str) -> Callable[[], None]:
    def step() -> None:
        model.zero_grad()
        loss_of(model, next(data), kind).backward()

    return step


def learnt(model: nn.Module, rows: int, steps: int, kind: str) -> float:
    """Mean loss over the last fifth of so many updates on sentences to copy."""
    torch.manual_seed(1)
    drawn, losses = torch.Generator().manual_seed(1), []
    updates = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(steps):
        ids = torch.randint(4, 4 + COPIED, (rows, LENGTH), generator=drawn)
        data = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
        loss = loss_of(model, data, kind)
        updates.zero_grad()
        loss.backward()
        updates.step()
        losses.append(loss.item())
    return statistics.fmean(losses[-max(1, steps // 5) :])


def measure(name: str, repeats: int, steps: int) -> list[Row]:
    model, rows = build(name)
    data = batches(rows, repeats + 1)
    seconds = processor_rounds({kind: step_of(model, iter(data), kind) for kind in KINDS}, repeats)
    found = []
    for row in rows_of(seconds, "float32", {"model": name}):
        kind = row.pop("candidate")
        loss = round(learnt(copy.deepcopy(model), min(rows, 16), steps, kind), 3) if steps else None
        found.append({**row, "numbers": kind, "loss": loss})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7, help="rounds a measurement (default 7)")
    parser.add_argument("--steps", type=int, default=60, help="updates before the losses are compared (default 60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for name in options.models for row in measure(name, options.repeats, options.steps)]
    print_rows("bfloat16 beside float32", rows)
    if options.json is not None:
        facts = {"machine": machine(), "threads": 1, "repeats": options.repeats, "steps": options.steps}
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
