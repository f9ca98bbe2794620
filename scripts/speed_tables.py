"""Tables of docs/results/speed.md from what `benchmark_peers.py` and `benchmark_scale.py` kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

KEPT = Path(__file__).resolve().parent / "benchmarks"
Row = dict[str, Any]
# column -> the candidates that may stand in it
COLUMNS = {
    "here": ("here",),
    "JoeyNMT": ("JoeyNMT",),
    "OpenNMT-py": ("OpenNMT-py",),
    "transformers": ("transformers, Marian", "transformers, BERT"),
    "CTranslate2, float32": ("CTranslate2, float32",),
    "CTranslate2, int8": ("CTranslate2, int8",),
}


def kept(name: str) -> Row:
    """A kept file."""
    found: Row = json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))
    return found


def cell(found: Row, milliseconds: bool) -> str:
    """A median with its quartiles."""
    if milliseconds:
        low, high = found["ms_quartiles"]
        return f"{found['ms']:.0f} ms ({low:.0f} to {high:.0f})"
    low, high = found["ratio_quartiles"]
    return f"{found['ratio']:.2f} ({low:.2f} to {high:.2f})"


def peers_table() -> str:
    """A row for each work and number of threads: the aim, and every program that was beside."""
    report = kept("peers")
    lines = [
        f"| work | threads | rounds | clock | bound | aim | {' | '.join(COLUMNS)} |",
        "|---" * (6 + len(COLUMNS)) + "|",
    ]
    for row in report["rows"].values():
        by_name = {found["candidate"]: found for found in row["candidates"]}
        bound = f"{by_name['bound']['ms']:.0f} ms"
        aim = f"{row['aim']:.0f} ms" if row["milliseconds"] else f"{row['aim']:.2f}"
        cells = []
        for names in COLUMNS.values():
            found = next((by_name[name] for name in names if name in by_name), None)
            cells.append("-" if found is None else cell(found, row["milliseconds"]))
        facts = [row["said"], row["threads"], row["rounds"], row.get("clock", "wall"), bound, aim]
        lines.append(f"| {' | '.join([*map(str, facts), *cells])} |")
    machine = report["machine"]
    releases = ", ".join(f"{name} {release}" for name, release in machine["packages"].items())
    measured = f"{machine['processor']}, {machine['cores']} cores, {machine['capability']}; {releases}."
    return "\n".join([*lines, "", measured])


def scale_rows(section: str) -> dict[tuple[str, ...], Row]:
    """Rows of a section of `benchmark_scale.py` by what was measured."""
    found = {tuple(key.split()): row for key, row in kept("scale")["rows"].items()}
    return {key[1:]: row for key, row in found.items() if key[0] == section}


def count(found: Row | None) -> str:
    """Calls, and numbers read back where there are any."""
    return "-" if found is None else f"{found['calls']:,.0f} ({found['read_back']:.0f})"


def counts_table() -> str:
    """Calls that compute, in brackets numbers that the host reads, of every architecture."""
    head = ["architecture", "training step", "of it a position", "greedy step", "step of 4 beams"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for (name,), row in scale_rows("counts").items():
        step = row["training"]
        each = f"{step['calls_per_position']:.0f} ({step['read_back_per_position']:.0f})"
        lines.append(f"| `{name}` | {count(step)} | {each} | {count(row['greedy'])} | {count(row['beams'])} |")
    return "\n".join(lines)


def compiling_table() -> str:
    """A step of a search and its formula compiled."""
    lines = [
        "| step of a search, one sentence | as it runs | its formula, compiled | compiling | compiled pays after |",
        "|---" * 5 + "|",
    ]
    for (name,), row in scale_rows("compiling").items():
        saved = row["step_ms"] - row["compiled_step_ms"]
        steps = f"{1e3 * row['compiling_seconds'] / saved:,.0f} steps" if saved > 0 else "never"
        times = f"{row['step_ms']:.2f} ms | {row['compiled_step_ms']:.2f} ms | {row['compiling_seconds']} s"
        lines.append(f"| `{name}` | {times} | {steps} |")
    return "\n".join(lines)


def grown_table(section: str, what: str, columns: tuple[str, ...], more: str = "") -> str:
    """Milliseconds and growth in memory against a size, a column for each candidate; nothing of what was not run."""
    rows = scale_rows(section)
    if not rows:
        return ""
    lines = [f"| {what} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for size in dict.fromkeys(key[1] for key in rows):
        cells = []
        for name in columns:
            row = rows.get((name, size))
            one = f"; {row[more]:.0f} ms" if row is not None and more else ""
            cells.append("-" if row is None else f"{row['ms']:,.0f} ms, {row['grows_mib']:,} MiB{one}")
        lines.append(f"| {int(size):,} | {' | '.join(cells)} |")
    return "\n".join(lines)


TRANSLATORS = ("rnnsearch", "luong", "transformer2017")


def growth_table() -> str:
    """Lengths and vocabularies."""
    tables = [
        grown_table("length", "words", TRANSLATORS),
        grown_table("vocabulary", "vocabulary", TRANSLATORS, "one_sentence_ms"),
        grown_table("output", "output layer and loss", ("full", "sampled")),
    ]
    return "\n\n".join(table for table in tables if table)


def rates_table() -> str:
    """Words a second by batch, threads and processes."""
    batches, processes = scale_rows("batch"), scale_rows("processes")
    sizes = list(dict.fromkeys((rows, threads) for _, rows, threads in batches))
    numbers = list(dict.fromkeys(number for _, number in processes))
    heads = [f"{rows} rows, {threads} thread{'s' * (threads != '1')}" for rows, threads in sizes]
    heads += [f"32 rows, {number} process{'es' * (number != '1')}" for number in numbers]
    lines = [f"| words a second | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name in TRANSLATORS:
        found = [batches.get((name, *size)) for size in sizes] + [processes.get((name, one)) for one in numbers]
        cells = ("-" if row is None else f"{row['words_per_second']:,}" for row in found)
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def text_table() -> str:
    """Rate and memory of encoding and reading, by the size of the text."""
    head = ["text", "MiB/s", "memory at first", "half way", "at the end", "while reading", "100 GB, hours"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for (size,), row in scale_rows("text").items():
        seen = [memory for _, memory in row["memory"]]
        memory = (row["before_mib"], seen[len(seen) // 2], seen[-1], row["reading_mib"])
        cells = [f"{size} MiB", f"{row['mib_per_second']:.2f}", *(f"{one:.0f} MiB" for one in memory)]
        lines.append(f"| {' | '.join([*cells, str(round(row['hours_for_100_gb']))])} |")
    return "\n".join(lines)
