"""BERT and GPT beside transformers' own classes and beside their matrix products alone.

Used by the files of the two in scripts/benchmarks. The bound is the products over real tokens only, each row's scores
over its own tokens: what no way of leaving out pads can beat. Activations, norms, softmax and dropout come on top. All
candidates are bodies with random weights and the same batch; a training step is a forward and a backward pass. Seconds
are those of the processor, on one thread, so that a busy machine disturbs little. Shapes: B rows, S positions, H size.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from benchmark_parts import peak_memory, processor_rounds
from torch import Tensor, nn

SIZES: dict[str, dict[str, int]] = {
    "base width": {"batch": 8, "length": 64, "hidden": 768, "layers": 1, "heads": 12},
    "small": {"batch": 8, "length": 128, "hidden": 192, "layers": 4, "heads": 4},
}
SHARES = (0.0, 0.3, 0.6)
LENGTHS = (64, 128, 256, 512)
LENGTH_SIZES = {"batch": 8, "hidden": 192, "layers": 4, "heads": 4}
VOCABULARY = 8000
Build = Callable[[dict[str, int], float], nn.Module]
Row = dict[str, Any]


def batch_of(rows: int, width: int, share: float) -> dict[str, Tensor]:
    """Texts of every length up to the longest one, so that about this share of the grid is padding on the right."""
    made = torch.Generator().manual_seed(0)
    ids = torch.randint(5, VOCABULARY, (rows, width), generator=made)
    mean = (1 - share) * width
    spread = min(mean - 1, width - mean)
    lengths = torch.linspace(mean - spread, mean + spread, rows).round().long().clamp(1, width)
    lengths[-1] = width
    mask = torch.arange(width) < lengths[torch.randperm(rows, generator=made)][:, None]
    return {"input_ids": ids * mask, "attention_mask": mask.long()}


def products(sizes: dict[str, int], lengths: list[int], train: bool) -> Callable[[], None]:
    """All matrix products of the layers over real tokens: once, and twice more of the same size for the way back."""
    hidden, heads, tokens = sizes["hidden"], sizes["heads"], sum(lengths)
    size = hidden // heads
    wide, narrow = torch.randn(tokens, 4 * hidden), torch.randn(tokens, hidden)
    square, up, down = (
        torch.randn(*shape) for shape in ((hidden, hidden), (hidden, 4 * hidden), (4 * hidden, hidden))
    )
    rows = [torch.randn(heads, length, size) for length in lengths]
    scores = [torch.randn(heads, length, length) for length in lengths]

    def run() -> None:
        for _ in range(sizes["layers"]):
            for _ in range(4):
                narrow @ square
                if train:
                    narrow @ square.T
                    narrow.T @ narrow
            narrow @ up
            wide @ down
            if train:
                wide @ up.T
                narrow.T @ wide
                narrow @ down.T
                wide.T @ narrow
            for row, score in zip(rows, scores, strict=True):
                row @ row.mT
                score @ row
                if train:
                    for _ in range(2):
                        score @ row
                        row @ row.mT

    return run


def run_body(model: nn.Module, batch: dict[str, Tensor], train: bool) -> None:
    """A forward pass, or a training step, of a body."""
    model.zero_grad()
    with torch.set_grad_enabled(train):
        states = model(**batch).last_hidden_state
        if train:
            (states * batch["attention_mask"][..., None]).sum().backward()


def measure_padding(zoo: Build, theirs: Build, rows_of: Callable[..., list[Row]], repeats: int) -> list[Row]:
    """One row for each candidate, share of padding, and forward pass or training step; on one thread."""
    torch.set_num_threads(1)
    rows = []
    for name, sizes in SIZES.items():
        for share in SHARES:
            batch = batch_of(sizes["batch"], sizes["length"], share)
            lengths = batch["attention_mask"].sum(1).tolist()
            pads = round(1 - batch["attention_mask"].float().mean().item(), 2)
            for kind, dropout in (("forward", 0.0), ("training", 0.0), ("training, dropout 0.1", 0.1)):
                train = kind != "forward"
                torch.manual_seed(0)
                models = {"zoo": zoo(sizes, dropout), "transformers": theirs(sizes, dropout)}
                cases = {"bound": products(sizes, lengths, train)}
                for candidate, model in models.items():
                    model.train(train)
                    cases[candidate] = lambda model=model, batch=batch, train=train: run_body(model, batch, train)
                found = rows_of(processor_rounds(cases, repeats), "bound", {"sizes": name, "pads": pads, "kind": kind})
                rows += found
    return rows


def measure_growth(script: str, repeats: int) -> list[Row]:
    """Time and memory of a training step against the length, each in a fresh process, so that peaks are its own."""
    rows = []
    for length in LENGTHS:
        for candidate in ("zoo", "transformers"):
            command = [sys.executable, script, candidate, str(length), str(repeats)]
            made = subprocess.run(command, capture_output=True, text=True, check=True)
            rows += json.loads(made.stdout.splitlines()[-1])
    return rows


def one_length(builders: dict[str, Build], arguments: list[str]) -> None:
    """What a fresh process measures: prints its rows, that with the least to hold first."""
    candidate, length, repeats = arguments[0], int(arguments[1]), int(arguments[2])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = builders[candidate](LENGTH_SIZES, 0.0).train()
    run_body(model, batch_of(2, 8, 0.0), True)  # libraries and the gradients' own memory are not what is measured
    before, rows = peak_memory(), []
    for share in (0.6, 0.0):
        batch, seconds = batch_of(LENGTH_SIZES["batch"], length, share), []
        for _ in range(repeats):
            start = time.process_time()
            run_body(model, batch, True)
            seconds.append(time.process_time() - start)
        rows.append(
            {
                "candidate": candidate,
                "length": length,
                "pads": round(1 - batch["attention_mask"].float().mean().item(), 2),
                "median_ms": round(1e3 * statistics.median(seconds), 1),
                "least_ms": round(1e3 * min(seconds), 1),
                "peak_rise_mib": round((peak_memory() - before) / 2**20, 1),
            }
        )
    print(json.dumps(rows))
