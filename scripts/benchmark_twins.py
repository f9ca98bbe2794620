"""What each fast twin gains over its formula, both measured in one run, as ratios of time.

    python scripts/benchmark_twins.py --json scripts/benchmarks/twins.json   # all, about three minutes on one core
    python scripts/benchmark_twins.py --only "packed rows" --widths small --repeats 3

Each round runs the formula and the twin; a ratio is the median over rounds of the twin's processor time by the
formula's. Widths are those of the twin's paper and a small one; the batches are short.
Of forms that differ in a bias alone one is measured.
A twin whose ratio is above 0.95 everywhere does not earn its keep. Run it alone, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from benchmark import machine, print_rows, rows_of
from benchmark_parts import processor_rounds
from twin_runs import SMALL, Sizes, Twin, filled, inputs_of, mask_of
from twin_table import TWINS

GAIN = 0.95
LEAST_SECONDS = 0.02  # a case that is sooner over runs several times a round
MOST_SECONDS = 2.5  # for all rounds of a case: the longest ones have fewer of them
WIDTHS = ("paper", "small")
Row = dict[str, Any]


def case_of(twin: Twin, sizes: Sizes, training: bool, fast: bool) -> Callable[[], None]:
    """A pass forwards, in training backwards as well."""
    torch.manual_seed(0)
    module = filled(twin.build(sizes)).train(training)
    mask, inputs = mask_of(sizes), inputs_of(twin, sizes, wanted=training)
    run = twin.run if fast or twin.formula is None else twin.formula

    def step() -> None:
        module.zero_grad()
        with torch.set_grad_enabled(training):
            made = run(module, mask, **inputs)
            outputs = [tensor for tensor in (made if isinstance(made, tuple) else (made,)) if tensor.requires_grad]
            if training:
                torch.autograd.backward(outputs, [torch.ones_like(tensor) for tensor in outputs])

    def without() -> None:
        with twin.alone(module):
            step()

    return step if fast else without


def repeated(case: Callable[[], None], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            case()

    return run


def measure(twin: Twin, width: str, repeats: int) -> list[Row]:
    """One row in training and, where the twin runs there, one in evaluation."""
    sizes = twin.paper if width == "paper" else SMALL._replace(beams=twin.paper.beams)
    rows = []
    for training in (True,) if twin.trains_only else (True, False):
        cases = {name: case_of(twin, sizes, training, name == "twin") for name in ("formula", "twin")}
        once = processor_rounds({"formula": cases["formula"]}, 1)["formula"][0]
        times = max(1, round(LEAST_SECONDS / once))
        rounds = max(1, min(repeats, int(MOST_SECONDS / (2 * once * times)) - 1))
        seconds = processor_rounds({name: repeated(case, times) for name, case in cases.items()}, rounds)
        each = {name: [total / times for total in totals] for name, totals in seconds.items()}
        _, fast = rows_of(each, "formula", {})
        rows.append(
            {
                "twin": twin.name,
                "width": width,
                "pass": "training" if training else "evaluation",
                "formula_ms": round(1e3 * statistics.median(each["formula"]), 2),
                "twin_ms": round(1e3 * statistics.median(each["twin"]), 2),
                "ratio": fast["ratio"],
                "quartiles": fast["quartiles"],
                "rounds": rounds,
            }
        )
    return rows


def forms_apart(twins: Sequence[Twin]) -> list[Twin]:
    """One of those that run the same, and differ in a bias or in where a gate stands."""
    kinds: dict[tuple[Any, ...], Twin] = {}
    for twin in twins:
        kinds.setdefault((twin.run, type(twin.build(SMALL))), twin)
    return list(kinds.values())


def without_gain(rows: list[Row]) -> list[str]:
    """The twins that are nowhere faster by five percent."""
    best: dict[str, float] = {}
    for row in rows:
        best[row["twin"]] = min(row["ratio"], best.get(row["twin"], row["ratio"]))
    return [name for name, ratio in best.items() if ratio > GAIN]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="twins whose name holds this text")
    parser.add_argument("--widths", nargs="+", choices=WIDTHS, default=list(WIDTHS), metavar="WIDTH")
    parser.add_argument("--repeats", type=int, default=5, help="rounds a measurement (default 5)")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there as well")
    options = parser.parse_args()
    twins = [twin for twin in forms_apart(TWINS) if options.only in twin.name]
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}; give 1 or more")
    if not twins:
        parser.error(f"no twin has {options.only!r} in its name; there are: {', '.join(twin.name for twin in TWINS)}")
    torch.set_num_threads(options.threads)
    start, rows = time.perf_counter(), []
    for twin in twins:
        rows += [row for width in options.widths for row in measure(twin, width, options.repeats)]
    print_rows("fast twins by their formulas", rows)
    slow = without_gain(rows)
    print(f"\nnowhere faster by five percent: {', '.join(slow) or 'none'}")
    print(f"{time.perf_counter() - start:.0f} s")
    if options.json is not None:
        facts = {"machine": machine(), "threads": options.threads, "repeats": options.repeats}
        options.json.write_text(json.dumps({**facts, "without_gain": slow, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
