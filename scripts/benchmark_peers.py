r"""The zoo beside JoeyNMT, OpenNMT-py, Marian of transformers and CTranslate2, all in one run on one machine.

    pip install --no-deps joeynmt==2.3.0 OpenNMT-py==3.5.1 pyonmttok configargparse subword-nmt plotly narwhals \
        importlib_metadata zipp pyahocorasick rapidfuzz   # beside the zoo, its extra `test` and CTranslate2
    python scripts/benchmark_peers.py                                  # all rows, about a quarter of an hour
    python scripts/benchmark_peers.py --rows rnnsearch-256 luong-256 --repeats 3 --json look.json
    python scripts/update_readme.py                                    # docs/results/speed.md

(Their own pins name older releases of torch; without dependencies both run on the zoo's, which every row states.)

All candidates of a row run once in each round, in rotating order, in one process; a ratio is the median over rounds of
a candidate's time by its bound's, with quartiles: seconds of the processor on one thread, which a busy machine
disturbs less, by the clock on two. A row that is done is in the file and is not run again, so that a
stopped run goes on where it was; a file of another machine or of other releases is refused (--anew begins again).
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from benchmark import interleave, print_rows
from kept_runs import Row, installed, keep, opened
from peer_works import BOUND, WORKS, Cases, Work

KEPT = Path(__file__).resolve().parent / "benchmarks" / "peers.json"
PACKAGES = ("torch", "transformers", "joeynmt", "OpenNMT-py", "ctranslate2")


def quartiles(values: list[float], digits: int) -> list[float]:
    """Lower quartile, median, upper quartile."""
    found = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return [round(value, digits) for value in found]


def candidates(cases: Cases, seconds: dict[str, list[float]]) -> list[Row]:
    """Time and ratio of each candidate, with the spread over rounds."""
    rows = []
    for name, times in seconds.items():
        bound = cases.bounds.get(name, BOUND if name in cases.runs and not name.endswith("bound") else name)
        low, middle, high = quartiles([t / b for t, b in zip(times, seconds[bound], strict=True)], 3)
        slow = quartiles([1e3 * t for t in times], 1)
        rows.append(
            {
                "candidate": name,
                "bound": bound,
                "ratio": middle,
                "ratio_quartiles": [low, high],
                "ms": slow[1],
                "ms_quartiles": [slow[0], slow[2]],
            }
        )
    return rows


def measured(work: Work, threads: int, repeats: int) -> Row:
    """One row of the file."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    cases, began = work.make(threads), time.perf_counter()
    seconds = interleave(cases.runs, repeats, 1, time.process_time if threads == 1 else time.perf_counter)
    return {
        "said": work.said,
        "threads": threads,
        "rounds": repeats,
        "clock": "processor" if threads == 1 else "wall",
        "aim": work.aim,
        "milliseconds": work.milliseconds,
        "candidates": candidates(cases, seconds),
        "seconds_in_all": round(time.perf_counter() - began),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=list(WORKS), default=list(WORKS), metavar="ROW")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--repeats", type=int, default=9, help="rounds; slow rows have a third of them, at least 3")
    parser.add_argument("--json", type=Path, default=KEPT)
    parser.add_argument("--anew", action="store_true", help="begin the file again")
    parser.add_argument("--minutes", type=float, help="begin no row after so many")
    options = parser.parse_args()
    missing = [name for name in PACKAGES if not installed(name)]
    if missing:
        parser.error(f"not installed: {', '.join(missing)}; --help says how")
    began, kept = time.monotonic(), opened(options.json, PACKAGES, options.anew)
    wanted = [(f"{name}, {count}", WORKS[name], count) for name in options.rows for count in WORKS[name].threads]
    for key, work, count in wanted:
        if key in kept["rows"] or count not in options.threads:
            continue
        if options.minutes is not None and time.monotonic() - began > 60 * options.minutes:
            print(f"not begun: {key} and what follows; the same command goes on")
            break
        repeats = max(min(3, options.repeats), options.repeats // 3) if work.slow else options.repeats
        row = measured(work, count, repeats)
        print_rows(f"{work.said}, threads {count}, aim {work.aim}", row["candidates"])
        keep(options.json, kept, key, row)
        gc.collect()


if __name__ == "__main__":
    main()
