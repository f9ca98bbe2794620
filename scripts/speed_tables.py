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
    lines = [f"| work | threads | rounds | bound | aim | {' | '.join(COLUMNS)} |", "|---" * (5 + len(COLUMNS)) + "|"]
    for row in report["rows"].values():
        by_name = {found["candidate"]: found for found in row["candidates"]}
        bound = f"{by_name['bound']['ms']:.0f} ms"
        aim = f"{row['aim']:.0f} ms" if row["milliseconds"] else f"{row['aim']:.2f}"
        cells = []
        for names in COLUMNS.values():
            found = next((by_name[name] for name in names if name in by_name), None)
            cells.append("-" if found is None else cell(found, row["milliseconds"]))
        lines.append(f"| {row['said']} | {row['threads']} | {row['rounds']} | {bound} | {aim} | {' | '.join(cells)} |")
    machine = report["machine"]
    releases = ", ".join(f"{name} {release}" for name, release in machine["packages"].items())
    measured = f"{machine['processor']}, {machine['cores']} cores, {machine['capability']}; {releases}."
    return "\n".join([*lines, "", measured])
