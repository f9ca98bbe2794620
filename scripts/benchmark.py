"""How fast an architecture trains and decodes, beside bounds built from library parts of the same sizes.

    python scripts/benchmark.py rnnsearch                      # all sections, about ten minutes on two cores
    python scripts/benchmark.py rnnsearch --sections training decoding --threads 1 --repeats 5 --json speed.json

Ratios are what travels between machines: in each round all candidates run once, in rotating order, and a ratio is the
median over rounds of candidate time by bound time. Run it alone; on a busy machine look at the spread.

Sections:
    training        full teacher-forced steps: B=64, S=T=25, embeddings 256, hidden and alignment 512, vocabulary 8,000
    training-small  the same with hidden 256 and B=32
    decoding        beam 5, batch 32, 25 source and 25 target tokens (no end symbol), beside the matrix products alone
    length          time and memory of a step against the length of source and target
    scores          the same of attention alone, where all targets are scored at once (`SCORES` in a file)
    padding         steps against the share of padding, of an architecture that only reads (`measure_padding`); its
                    time and memory against the length, too, where the file has `measure_growth`
    captions        captions a second and training steps of a captioner (`measure_captions`)
    gpu             the training step on the first CUDA device, where there is one

An architecture is added by a file scripts/benchmarks/<model_type>.py with `build_model`, `REFERENCES` and, if it
decodes, `decoding_products` (see the one for rnnsearch). One that is measured in several forms gives them as
`VARIANTS`, name -> an object with these attributes (see the one for luong).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from benchmark_parts import peak_memory
from torch import Tensor, nn

TRAINING = {"batch": 64, "length": 25, "embedding": 256, "hidden": 512, "vocabulary": 8000}
TRAINING_SMALL = {**TRAINING, "batch": 32, "hidden": 256}
DECODING = {"batch": 32, "beams": 5, "source": 25, "steps": 25, "embedding": 256, "hidden": 512, "vocabulary": 8000}
LENGTHS = (25, 50, 100, 200, 400)
SCORE_LENGTHS = LENGTHS[:4]  # of the naive form, 400 would need 8 GB
LENGTH_BATCH = 8
SECTIONS = ("training", "training-small", "decoding", "length", "scores", "padding", "captions", "gpu")
Row = dict[str, Any]


def load_builders(model_type: str) -> ModuleType:
    """scripts/benchmarks/<model_type>.py.

    Raises:
        SystemExit: if there is none.
    """
    folder = Path(__file__).resolve().parent / "benchmarks"
    path = folder / f"{model_type}.py"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.py")))
        raise SystemExit(f"no benchmark for {model_type!r}; there are: {known}. Add {path.name} to {folder}")
    spec = importlib.util.spec_from_file_location(f"benchmarks_{model_type}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def variants_of(module: ModuleType) -> dict[str, Any]:
    """The forms in which an architecture is measured, by name; one without a name if the file has no `VARIANTS`."""
    return getattr(module, "VARIANTS", {"": module})


def named(variant: str, rows: list[Row]) -> list[Row]:
    """Rows that say which form was measured."""
    return [{"variant": variant, **row} for row in rows] if variant else rows


def interleave(
    cases: dict[str, Callable[[], Any]], repeats: int, warmups: int = 2, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each case in each round; every round runs all of them, each time starting with another one."""
    names, seconds = list(cases), {name: list[float]() for name in cases}
    for name in names * warmups:
        cases[name]()
    for k in range(repeats):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            start = clock()
            cases[name]()
            seconds[name].append(clock() - start)
    return seconds


def ratios_to(seconds: dict[str, list[float]], bound: str) -> dict[str, tuple[float, float, float]]:
    """Lower quartile, median and upper quartile over the rounds of each case's time by the bound's."""
    found = {}
    for name, times in seconds.items():
        rounds = [t / b for t, b in zip(times, seconds[bound], strict=True)]
        low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive") if len(rounds) > 1 else rounds * 3
        found[name] = (low, middle, high)
    return found


def batch_of(batch: int, length: int, vocabulary: int, device: str = "cpu") -> dict[str, Tensor]:
    """A full batch without padding, the same for every candidate."""
    made = torch.Generator().manual_seed(0)
    source, target = (torch.randint(4, vocabulary, (batch, length), generator=made) for _ in range(2))
    return {
        "source": source.to(device),
        "mask": torch.ones_like(source).to(device),
        "target": target.roll(1, 1).to(device),
        "labels": target.to(device),
    }


def step_of(module: nn.Module, data: dict[str, Tensor]) -> Callable[[], None]:
    """Forward, loss and backward of a zoo model or of a reference."""
    zoo = hasattr(module, "config")

    def step() -> None:
        module.zero_grad()
        if zoo:
            loss = module(
                input_ids=data["source"],
                attention_mask=data["mask"],
                decoder_input_ids=data["target"],
                labels=data["labels"],
            ).loss
        else:
            loss = module(**data)
        loss.backward()
        if loss.is_cuda:
            torch.cuda.synchronize()

    return step


def training_modules(builders: Any, sizes: Row, dtype: torch.dtype, device: str) -> dict[str, nn.Module]:
    """The bound, the zoo's model and the other references."""
    arguments = (sizes["embedding"], sizes["hidden"], sizes["vocabulary"])
    torch.manual_seed(0)
    modules = {"zoo": builders.build_model(*arguments)}
    modules |= {name: make(*arguments) for name, make in builders.REFERENCES.items()}
    return {name: module.to(device=device, dtype=dtype).train() for name, module in modules.items()}


def bfloat16_by_float32() -> float:
    """Time of a product in bfloat16 by that in float32; well above 1 where the processor only imitates bfloat16."""
    wide = torch.randn(64, 256)
    narrow = wide.bfloat16()
    seconds = interleave({"wide": lambda: wide @ wide.t(), "narrow": lambda: narrow @ narrow.t()}, 5)
    return min(seconds["narrow"]) / min(seconds["wide"])


def measure_training(
    builders: Any, sizes: Row, threads: int, dtype: torch.dtype, repeats: int, device: str = "cpu"
) -> list[Row]:
    """One row per candidate."""
    torch.set_num_threads(threads)
    data = batch_of(sizes["batch"], sizes["length"], sizes["vocabulary"], device)
    modules = training_modules(builders, sizes, dtype, device)
    seconds = interleave({name: step_of(module, data) for name, module in modules.items()}, repeats)
    return rows_of(seconds, "bound", {"threads": threads, "dtype": str(dtype).removeprefix("torch.")})


def rows_of(seconds: dict[str, list[float]], bound: str, facts: Row) -> list[Row]:
    """Medians and ratios in the form that is printed and saved."""
    ratios = ratios_to(seconds, bound)
    return [
        {
            **facts,
            "candidate": name,
            "median_ms": round(1e3 * statistics.median(times), 1),
            "least_ms": round(1e3 * min(times), 1),
            "ratio": round(ratios[name][1], 3),
            "quartiles": [round(ratios[name][0], 3), round(ratios[name][2], 3)],
        }
        for name, times in seconds.items()
    ]


def measure_decoding(builders: Any, sizes: Row, threads: int, repeats: int) -> list[Row]:
    """Beam search through `generate` beside its products, whose first kind is the bound."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = builders.build_model(sizes["embedding"], sizes["hidden"], sizes["vocabulary"]).eval()
    model.generation_config.eos_token_id = None  # no hypothesis ends: every one has all its tokens
    data = batch_of(sizes["batch"], sizes["source"], sizes["vocabulary"])

    def search() -> None:
        made = model.generate(
            input_ids=data["source"],
            attention_mask=data["mask"],
            num_beams=sizes["beams"],
            max_new_tokens=sizes["steps"],
        )
        if made.shape != (sizes["batch"], sizes["steps"] + 1):
            raise RuntimeError(f"{sizes['steps']} tokens were to be made, the result has shape {tuple(made.shape)}")

    products = builders.decoding_products(**sizes)
    with torch.no_grad():
        seconds = interleave({**products, "zoo, generate": search}, repeats)
    return rows_of(seconds, next(iter(products)), {"threads": threads, "dtype": "float32"})


def saved_bytes(step: Callable[[], None]) -> int:
    """Bytes of the tensors that autograd keeps for backward, each storage once, parameters included."""
    storages: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        step()
    return sum(storages.values())


def measure_one_length(builders: Any, length: int, repeats: int, candidate: str) -> Row:
    """Time, kept bytes and peak resident memory above that before the first step, of this process."""
    torch.set_num_threads(1)
    sizes = {**TRAINING, "batch": LENGTH_BATCH, "length": length}
    module = training_modules(builders, sizes, torch.float32, "cpu")[candidate]
    step = step_of(module, batch_of(LENGTH_BATCH, length, sizes["vocabulary"]))
    before = peak_memory()
    step()
    peak = peak_memory() - before
    seconds = interleave({candidate: step}, repeats, warmups=0)[candidate]
    return {
        "candidate": candidate,
        "length": length,
        "median_ms": round(1e3 * statistics.median(seconds), 1),
        "ms_per_position": round(1e3 * statistics.median(seconds) / length, 2),
        "saved_mib": round(saved_bytes(step) / 2**20, 1),
        "peak_rise_mib": round(peak / 2**20, 1),
    }


def measure_one_score(make: Callable[[int], nn.Module], length: int, repeats: int, candidate: str) -> Row:
    """Time and memory of attention forwards and backwards, of this process; a cell is a (source, target, position)."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    size, cells = TRAINING["hidden"], LENGTH_BATCH * length**2
    module = make(size)
    values, query = (torch.randn(LENGTH_BATCH, length, size, requires_grad=True) for _ in range(2))

    def step(targets: int = length) -> None:
        module(query[:, :targets], values).sum().backward()

    step(2)  # libraries and the gradients' own memory are not what is measured
    before = peak_memory()
    step()
    peak = peak_memory() - before
    seconds = interleave({candidate: step}, repeats, warmups=0)[candidate]
    return {
        "candidate": candidate,
        "length": length,
        "median_ms": round(1e3 * statistics.median(seconds), 1),
        "ns_per_cell": round(1e9 * statistics.median(seconds) / cells, 1),
        "peak_rise_mib": round(peak / 2**20, 1),
        "peak_bytes_per_cell": round(peak / cells),
    }


def measure_lengths(
    model_type: str, repeats: int, flag: str, candidates: Iterable[str], lengths: Sequence[int], variant: str = ""
) -> list[Row]:
    """A fresh process for every length, so that peaks are its own."""
    rows = []
    for length in lengths:
        for candidate in candidates:
            command = [sys.executable, __file__, model_type, flag, str(length), "--candidate", candidate]
            command += ["--variants", variant] if variant else []
            made = subprocess.run(
                [*command, "--repeats", str(max(3, repeats // 3))], capture_output=True, text=True, check=True
            )
            rows.append(json.loads(made.stdout.splitlines()[-1]))
    return rows


def print_rows(title: str, rows: list[Row]) -> None:
    """An aligned table."""
    print(f"\n{title}")
    header = list(rows[0])
    table = [header, *[[str(row[name]) for name in header] for row in rows]]
    widths = [max(len(line[k]) for line in table) for k in range(len(header))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(), flush=True)


def describe(sizes: Row) -> str:
    return ", ".join(f"{name} {value}" for name, value in sizes.items())


def machine() -> Row:
    """What the figures were measured on."""
    names = [
        line.split(":", 1)[1].strip()
        for line in (Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else [])
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_type", nargs="?", default="rnnsearch", help="architecture, as the registry calls it")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument(
        "--dtypes",
        nargs="+",
        choices=("float32", "bfloat16"),
        help="default: float32, and bfloat16 where the processor has products for it",
    )
    parser.add_argument("--repeats", type=int, default=9, help="rounds a measurement (default 9)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there as well")
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="forms to measure of those that a file has")
    parser.add_argument("--one-length", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--one-score", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--candidate", default="zoo", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}; give 1 or more")
    module = load_builders(options.model_type)
    variants = variants_of(module)
    unknown = set(options.variants or ()) - set(variants)
    if unknown:
        parser.error(
            f"no variant {', '.join(sorted(unknown))} of {options.model_type}; there are: {', '.join(variants)}"
        )
    variants = {name: variants[name] for name in options.variants or variants}
    if options.one_score is not None:
        make = module.SCORES[options.candidate]
        print(json.dumps(measure_one_score(make, options.one_score, options.repeats, options.candidate)))
        return
    if options.dtypes is None and options.one_length is None:
        options.dtypes = ["float32", "bfloat16"]
        slower = bfloat16_by_float32()
        if slower > 2:
            print(f"bfloat16 left out: a product takes {slower:.1f} times as long as in float32 (--dtypes insists)")
            options.dtypes = ["float32"]
    if options.one_length is not None:
        (builders,) = variants.values()
        print(json.dumps(measure_one_length(builders, options.one_length, options.repeats, options.candidate)))
        return

    report: Row = {"model_type": options.model_type, "machine": machine(), "repeats": options.repeats, "sections": {}}
    print(", ".join(f"{name} {value}" for name, value in report["machine"].items()))

    def publish(name: str, sizes: Row, rows: list[Row]) -> None:
        report["sections"][name] = {"sizes": sizes, "rows": rows}
        print_rows(f"{name}: {describe(sizes)}", rows)
        if options.json is not None:
            options.json.write_text(json.dumps(report, indent=2) + "\n")

    if hasattr(module, "measure_padding"):  # it writes nothing, so that there is nothing else to measure
        if "padding" in options.sections:
            publish("padding", module.SIZES, module.measure_padding(rows_of, options.repeats))
        if "length" in options.sections and hasattr(module, "measure_growth"):
            publish("length", module.LENGTH_SIZES, module.measure_growth(options.repeats))
        return
    if hasattr(module, "measure_captions"):  # it reads pictures
        if "captions" in options.sections:
            publish("captions", module.SIZES, module.measure_captions(rows_of, options.repeats))
        return
    for name, sizes in (("training", TRAINING), ("training-small", TRAINING_SMALL)):
        if name in options.sections:
            rows = []
            for dtype in options.dtypes:
                for threads in options.threads:
                    for variant, builders in variants.items():
                        measured = measure_training(builders, sizes, threads, getattr(torch, dtype), options.repeats)
                        rows += named(variant, measured)
            publish(name, sizes, rows)
    if "decoding" in options.sections and all(
        hasattr(builders, "decoding_products") for builders in variants.values()
    ):
        rows = []
        for threads in options.threads:
            for variant, builders in variants.items():
                rows += named(variant, measure_decoding(builders, DECODING, threads, options.repeats))
        publish("decoding", DECODING, rows)
    if "length" in options.sections:
        sizes = {**TRAINING, "batch": LENGTH_BATCH, "length": f"{LENGTHS[0]} to {LENGTHS[-1]}"}
        rows = []
        for variant in variants:
            measured = measure_lengths(
                options.model_type, options.repeats, "--one-length", ("zoo", "plain loop"), LENGTHS, variant
            )
            rows += named(variant, measured)
        publish("length", {**sizes, "threads": 1, "dtype": "float32"}, rows)
    if "scores" in options.sections and hasattr(module, "SCORES"):
        sizes = {
            "batch": LENGTH_BATCH,
            "length": f"{SCORE_LENGTHS[0]} to {SCORE_LENGTHS[-1]}",
            "hidden": TRAINING["hidden"],
        }
        rows = measure_lengths(options.model_type, options.repeats, "--one-score", module.SCORES, SCORE_LENGTHS)
        publish("scores", {**sizes, "threads": 1, "dtype": "float32"}, rows)
    if "gpu" in options.sections and torch.cuda.is_available():
        rows = []
        for dtype in options.dtypes:
            for variant, builders in variants.items():
                measured = measure_training(builders, TRAINING, 1, getattr(torch, dtype), options.repeats, "cuda")
                rows += named(variant, measured)
        publish("gpu", TRAINING, rows)
    elif "gpu" in options.sections:
        print("\ngpu: no CUDA device here, nothing measured")


if __name__ == "__main__":
    main()
