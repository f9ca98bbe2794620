"""What time and memory grow with: length, vocabulary, batch, threads, processes, size of a text; and calls a step.

    python scripts/benchmark_scale.py                          # all sections, about a quarter of an hour
    python scripts/benchmark_scale.py --sections counts --json look.json
    python scripts/update_readme.py                            # docs/results/speed.md

Sections:
    length      training steps of 8 sentences of 25 to 400 words, and how much the process grows
    vocabulary  training steps and beams with 8, 32 and 100 thousand words; a sampled softmax beside the full one
    batch       words a second in batches of 8, 32 and 128, on one thread and on two
    processes   words a second of two processes that learn together (gloo) beside one, a thread each
    text        encoding and reading a text of repeated documents: rate and memory as it grows, 100 GB extrapolated
    counts      calls of torch that compute, and numbers read back by the host, of a training step and of a step of
                generation of every architecture (tiny models), by torch's profiler on a CPU
    compiling   a step of RNNsearch's search, compiled by torch (it wants a compiler of C++), beside the step as it is

Models are 256 wide. Each number is of a fresh process; a row that is done is in the file and is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from benchmark import load_builders
from benchmark_parts import peak_memory
from kept_runs import Row, keep, opened
from peer_programs import Sentences, transformers_search, transformers_training
from torch import nn
from torch.nn import functional

from hf_attention_zoo.losses.sampled_softmax import sampled_cross_entropy
from hf_attention_zoo.registry import list_architectures

KEPT = Path(__file__).resolve().parent / "benchmarks" / "scale.json"
PACKAGES = ("torch", "transformers")
WIDTH, VOCABULARY, LENGTH, ROWS = 256, 8000, 25, 8
LENGTHS, VOCABULARIES, BATCHES = (25, 50, 100, 200, 400), (8000, 32000, 100000), (8, 32, 128)
SAMPLES = 1000
MODELS = ("rnnsearch", "luong", "transformer2017")


def built(name: str, vocabulary: int = VOCABULARY) -> Any:
    """A translator of 256 units: one layer, two layers with feeding, or three on each side."""
    builders = load_builders(name)
    if name == "transformer2017":
        return builders.build(WIDTH, 3, vocabulary)
    if name == "luong":
        builders = builders.VARIANTS["input feeding"]
    return builders.build_model(WIDTH, WIDTH, vocabulary)


def timed(step: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Milliseconds of one, the middle of some, after one that does not count: the processor's, or by another clock."""
    step()
    seconds = []
    for _ in range(repeats):
        start = clock()
        step()
        seconds.append(clock() - start)
    return round(1e3 * statistics.median(seconds), 1)


def grown(step: Callable[[], object], small: Callable[[], object], repeats: int) -> Row:
    """Time of a step and how much it makes the process grow, after a small one that loads the libraries."""
    small()
    before = peak_memory()
    found = timed(step, repeats)
    return {"ms": found, "grows_mib": round((peak_memory() - before) / 2**20)}


def of_length(name: str, length: int) -> Row:
    model = built(name).train()
    sentences, short = (Sentences([(words, words)] * ROWS, VOCABULARY) for words in (length, 2))
    return grown(transformers_training(model, sentences), transformers_training(model, short), 3)


def of_vocabulary(name: str, vocabulary: int) -> Row:
    """A training step of 32 sentences, and one sentence in beams of 5."""
    model = built(name, vocabulary)
    sentences, short = Sentences([(LENGTH, LENGTH)] * 32, vocabulary), Sentences([(2, 2)], vocabulary)
    row = grown(transformers_training(model.train(), sentences), transformers_training(model, short), 3)
    one = Sentences([(LENGTH, LENGTH)], vocabulary)
    return {**row, "one_sentence_ms": timed(transformers_search(model, one, 5, LENGTH, True), 5)}


def of_output(kind: str, vocabulary: int) -> Row:
    """Output layer and loss of 800 words, forwards and backwards: over all words, or over a sample of them."""
    layer, hidden = nn.Linear(WIDTH, vocabulary), torch.randn(32 * LENGTH, WIDTH, requires_grad=True)
    labels = torch.randint(vocabulary, (32 * LENGTH,))

    def step(rows: int = 32 * LENGTH) -> None:
        layer.zero_grad(set_to_none=False)
        if kind == "sampled":
            loss = sampled_cross_entropy(hidden[:rows], layer, labels[:rows], SAMPLES)
        else:
            loss = functional.cross_entropy(layer(hidden[:rows]), labels[:rows], reduction="sum")
        loss.backward()

    return grown(step, lambda: step(2), 5)


def of_batch(name: str, rows: int, threads: int) -> Row:
    torch.set_num_threads(threads)
    step = transformers_training(built(name).train(), Sentences([(LENGTH, LENGTH)] * rows, VOCABULARY))
    found = timed(step, 3, time.perf_counter)
    return {"ms": found, "words_per_second": round(1e3 * rows * LENGTH / found)}


def _learn(rank: int, name: str, processes: int, place: str) -> None:
    """One of some processes: steps of 32 sentences each, gradients put together after every one."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=processes)
    torch.manual_seed(0)
    model: Any = nn.parallel.DistributedDataParallel(built(name).train())
    step = transformers_training(model, Sentences([(LENGTH, LENGTH)] * 32, VOCABULARY))
    found = timed(step, 5, time.perf_counter)
    if rank == 0:
        print(json.dumps({"ms": found, "words_per_second": round(1e3 * processes * 32 * LENGTH / found)}), flush=True)
    torch.distributed.destroy_process_group()


def of_processes(name: str, processes: int) -> None:
    """Prints its row by itself."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        where = (name, processes, f"{folder}/meeting")
        torch.multiprocessing.spawn(_learn, where, nprocs=processes)


def of_text(mebibytes: int) -> Row:
    """Encode and read a text of so many mebibytes: documents of `lm_debian`, again and again."""
    from text_growth import encoded_and_read

    return encoded_and_read(mebibytes)


def of_calls(name: str) -> Row:
    from call_counts import counted

    return counted(name)


def of_compiling(name: str) -> Row:
    from compiled_step import compared

    return compared(built(name))


MEASURED: dict[str, Callable[..., Row | None]] = {
    "length": of_length,
    "vocabulary": of_vocabulary,
    "output": of_output,
    "batch": of_batch,
    "processes": of_processes,
    "text": of_text,
    "counts": of_calls,
    "compiling": of_compiling,
}
TEXT_SIZES = (4, 16, 64)


def jobs(section: str) -> list[list[Any]]:
    """What a section measures: the name of a function of `MEASURED` and its arguments."""
    if section == "length":
        return [["length", name, length] for name in MODELS for length in LENGTHS]
    if section == "vocabulary":
        whole: list[list[Any]] = [["vocabulary", name, size] for name in MODELS for size in VOCABULARIES]
        return whole + [["output", kind, size] for kind in ("full", "sampled") for size in VOCABULARIES]
    if section == "batch":
        return [["batch", name, rows, threads] for name in MODELS for threads in (1, 2) for rows in BATCHES]
    if section == "processes":
        return [["processes", name, number] for name in MODELS for number in (1, 2)]
    if section == "text":
        return [["text", size] for size in TEXT_SIZES]
    if section == "compiling":
        return [["compiling", "rnnsearch"]]
    return [["counts", row.model_type] for row in list_architectures()]


SECTIONS = ("counts", "compiling", "length", "vocabulary", "batch", "processes", "text")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--json", type=Path, default=KEPT)
    parser.add_argument("--anew", action="store_true", help="begin the file again")
    parser.add_argument("--minutes", type=float, help="begin no row after so many")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        row = MEASURED[options.one[0]](*options.one[1:])
        if row is not None:
            print(json.dumps(row))
        return
    began, kept = time.monotonic(), opened(options.json, PACKAGES, options.anew)
    for section in options.sections:
        for job in jobs(section):
            key = " ".join(map(str, job))
            if key in kept["rows"]:
                continue
            if options.minutes is not None and time.monotonic() - began > 60 * options.minutes:
                print(f"not begun: {key} and what follows; the same command goes on")
                return
            command = [sys.executable, __file__, "--one", json.dumps(job)]
            made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            row = json.loads(made.stdout.splitlines()[-1])
            print(key, row, flush=True)
            keep(options.json, kept, key, row)


if __name__ == "__main__":
    main()
