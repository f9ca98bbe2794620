"""Write the generated parts of the front pages and of the documentation's results anew, from registry and kept files.

    python scripts/update_readme.py [--check]

With --check nothing is written; the exit status is 1 if a page is stale, and the pages are named.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from checkpoint_tables import (
    averaging_lines,
    checkpoint_table,
    no_answerer,
    other_replaced_table,
    percent,
    replaced_table,
    seen_table,
)
from comparison_rows import read_rows
from speed_tables import compiling_table, counts_table, growth_table, peers_table, rates_table, text_table

from hf_attention_zoo.registry import list_architectures

ROOT = Path(__file__).resolve().parent.parent


TRAINING, DROPPING, FORWARD = "training", "training, dropout 0.1", "forward"


def token_rows(name: str) -> list[tuple[str, str, str, str]]:
    """What is shown of a Transformer, at two sizes."""
    rows = [("base width", "bound", TRAINING, f"{name}: its products of real tokens, the bound")]
    for sizes, said in (("base width", ""), ("small", ", small")):
        rows += [
            (sizes, "transformers", TRAINING, f"{name}{said}: transformers"),
            (sizes, "zoo", TRAINING, f"{name}{said}: here"),
            (sizes, "transformers", DROPPING, f"{name}{said}: transformers, with dropout"),
            (sizes, "zoo", DROPPING, f"{name}{said}: here, with dropout"),
        ]
    return rows


# Models that leave pads out, by the files of scripts/benchmarks/: sizes, candidate, kind of training, what is said.
PADDED: dict[str, list[tuple[str, str, str, str]]] = {
    "han": [
        ("paper", "packed", TRAINING, "HAN: torch's packed GRU, the bound"),
        ("paper", "grid", TRAINING, "HAN: torch's GRU over all pads"),
        ("paper", "zoo", TRAINING, "HAN: here"),
        ("paper", "zoo, words one by one", TRAINING, "HAN: here, with dropout on words"),
    ],
    "self_attentive": [
        ("paper", "bound", TRAINING, "Self-attentive: its BiLSTM alone, the bound"),
        ("paper", "zoo, packed", TRAINING, "Self-attentive: here, its LSTM packed"),
        ("paper", "zoo", TRAINING, "Self-attentive: here"),
    ],
    "bert2018": token_rows("BERT"),
    "gpt2018": token_rows("GPT"),
}


def benchmark_rows(name: str, section: str) -> list[dict[str, Any]]:
    """What a kept run of scripts/benchmark.py measured in a section."""
    report = json.loads((ROOT / "scripts" / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))
    return report["sections"][section]["rows"]


def padding_table() -> str:
    """Time against the share of padding, over a bound of the same run; from the kept files of scripts/benchmarks/."""
    lines = ["| of a batch are pads | training | forward |", "|---|---|---|"]
    for name, shown in PADDED.items():
        rows = benchmark_rows(name, "padding")
        for sizes, candidate, training, said in shown:
            cells = []
            for kind in (training,) if training == DROPPING else (training, FORWARD):
                mine = [
                    row for row in rows if (row["sizes"], row["candidate"], row["kind"]) == (sizes, candidate, kind)
                ]
                only_ones = all(row["ratio"] == 1 for row in mine)
                ratios = ", ".join(f"{row['ratio']:.2f} at {row['pads']:.0%}" for row in mine)
                cells.append("1" if only_ones else ratios)
            lines.append(f"| {said} | {' | '.join([*cells, '-'][:2])} |")
    return "\n".join(lines)


def length_table() -> str:
    """Time and memory of a training step of BERT and GPT against the length, from the same files."""
    names = {"bert2018": "BERT", "gpt2018": "GPT"}
    columns = [(name, candidate) for name in names for candidate in ("zoo", "transformers")]
    found: dict[tuple[int, float], dict[tuple[str, str], str]] = {}
    for name in names:
        for row in benchmark_rows(name, "length"):
            cells = found.setdefault((row["length"], row["pads"]), {})
            cells[name, row["candidate"]] = f"{row['median_ms']:.0f} ms, {row['peak_rise_mib']:.0f} MiB"
    heads = [f"{names[name]}: {'here' if candidate == 'zoo' else candidate}" for name, candidate in columns]
    lines = [f"| tokens | of them pads | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for (length, pads), cells in sorted(found.items()):
        lines.append(f"| {length} | {pads:.0%} | {' | '.join(cells[column] for column in columns)} |")
    return "\n".join(lines)


def kept_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a kept run in scripts/benchmarks/."""
    return json.loads((ROOT / "scripts" / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def int8_table() -> str:
    """What scripts/benchmark_int8.py measured: a row for a model and a program."""
    found: dict[tuple[str, str], dict[Any, dict[str, Any]]] = {}
    for row in kept_rows("int8"):
        found.setdefault((row["model"], row["candidate"]), {})[row["sentences"]] = row
    lines = ["| model | numbers | one sentence | 32 sentences | BLEU |", "|---" * 5 + "|"]
    for (model, candidate), rows in found.items():
        times = (f"{rows[size]['median_ms']:.0f} ms, {rows[size]['ratio']:.2f}" for size in (1, 32))
        bleu = "-" if rows[1]["bleu"] is None else f"{rows[1]['bleu']:.2f}"
        lines.append(f"| {model} | {candidate} | {' | '.join(times)} | {bleu} |")
    return "\n".join(lines)


def bf16_table() -> str:
    """What scripts/benchmark_bf16.py measured: both kinds of numbers in a row for each model."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in kept_rows("bf16"):
        found.setdefault(row["model"], {})[row["numbers"]] = row
    lines = ["| model | float32 | bfloat16 | ratio | loss in float32 | in bfloat16 |", "|---" * 6 + "|"]
    for model, kinds in found.items():
        wide, narrow = kinds["float32"], kinds["bfloat16"]
        cells = [f"{wide['median_ms']:.0f} ms", f"{narrow['median_ms']:.0f} ms", f"{narrow['ratio']:.2f}"]
        lines.append(f"| {model} | {' | '.join(cells)} | {wide['loss']:.3f} | {narrow['loss']:.3f} |")
    return "\n".join(lines)


def small_widths_table() -> str:
    """What scripts/benchmark_small_widths.py measured: an update, and the ratio of each other way to it."""
    models: dict[str, dict[str, dict[str, Any]]] = {}
    for row in kept_rows("small_widths"):
        models.setdefault(row["model"], {})[row["candidate"]] = row
    ways = list(dict.fromkeys(way for rows in models.values() for way in rows))
    lines = [f"| model | {' | '.join(ways)} |", "|---" * (len(ways) + 1) + "|"]
    for model, rows in models.items():
        cells = [
            "-" if way not in rows else f"{rows[way]['median_ms']:.0f} ms" if k == 0 else f"{rows[way]['ratio']:.2f}"
            for k, way in enumerate(ways)
        ]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines)


def words_table() -> str:
    """What scripts/benchmark_words.py measured, and seconds of fastText and its package beside each other."""
    kept = json.loads((ROOT / "scripts" / "benchmarks" / "word2vec.json").read_text(encoding="utf-8"))
    words = kept["words_per_second"]
    lines = ["| training | here | the other program | |", "|---|---|---|---|"]
    lines.append(
        f"| skip-gram, beside gensim | {words['ours']:,} words/s | {words['gensim']:,} words/s | "
        f"{kept['ratio']:.2f} of its rate in the middle one of {kept['rounds']} rounds; rates are the best ones |"
    )
    seconds: dict[str, list[float]] = {}
    for row in read_rows(ROOT / "scripts" / "comparisons" / "classification.csv"):
        if row["dataset"] == "doc_debian_section":
            seconds.setdefault(row["system"], []).append(float(row["seconds"]))
    paper = "the paper's settings"
    for said, ours, theirs in (
        (f"fastText, {paper}", f"fastText, {paper}", f"fastText's package, {paper}"),
        ("fastText, settings of its own", "fastText", "fastText's package, chosen on validation"),
    ):
        here, there = (statistics.median(seconds[system]) for system in (ours, theirs))
        lines.append(f"| {said}, beside its package | {here:.0f} s | {there:.0f} s | all passes |")
    return "\n".join(lines)


def pretraining_tables() -> str:
    """What scripts/compare_pretraining.py wrote of its rows."""
    return (ROOT / "scripts" / "comparisons" / "pretraining.md").read_text(encoding="utf-8").strip()


def lesson_table(lessons: str, head: tuple[str, ...]) -> str:
    """The architectures in order of year, each with its lesson (called by its first line) and its paper."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in list_architectures():
        path = f"{lessons}/{row.model_type}.md"
        heading = re.search(r"^# (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
        if heading is None:
            raise SystemExit(f"{path} has no heading (# ...); the table of architectures shows it")
        names = [author.split()[-1] for author in row.authors]
        said = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
        lines.append(f"| {row.year} | [{heading[1]}]({path}) | `{row.model_type}` | [{said}]({row.paper_url}) |")
    return "\n".join(lines)


def english_lessons() -> str:
    """The table of README.md."""
    return lesson_table("docs/lessons", ("Year", "Lesson", "`model_type`", "Paper"))


def korean_lessons() -> str:
    """The table of README.ko.md."""
    return lesson_table("docs/ko/lessons", ("연도", "강의", "`model_type`", "논문"))


def written_table(protocol: str) -> str:
    """The table that the script of a comparison wrote beside its protocol."""
    return (ROOT / "scripts" / "comparisons" / f"{protocol}.md").read_text(encoding="utf-8").strip()


def toolkits_tables() -> str:
    """What scripts/compare_toolkits.py wrote, table and picture of each protocol; one without rows is named."""
    parts = []
    for name, pairs in (("toolkits_short_de", "Short pairs"), ("toolkits_full_de", "All pairs")):
        if not (ROOT / "scripts" / "comparisons" / f"{name}.md").is_file():
            parts.append(f"{pairs}: `{name}.yaml` has no run yet.")
            continue
        picture = f"![Validation chrF and BLEU against seconds of training](../../scripts/comparisons/{name}.png)"
        parts += [f"{pairs} (validation chrF at the marks):", written_table(name), picture]
    return "\n\n".join(parts)


def papers_rates_table() -> str:
    """Trainings at the papers' rates, the long one last."""
    head, long = (written_table(f"papers_rates_{name}") for name in ("de", "long_de"))
    return "\n".join([head, *long.splitlines()[2:]])


def adding_table() -> str:
    """The adding problem: what share each network gets right, a column for each lag; the middle one of its seeds."""
    runs = json.loads((ROOT / "scripts" / "comparisons" / "adding.json").read_text(encoding="utf-8"))["runs"]
    right: dict[str, dict[int, list[float]]] = {}
    for key, run in runs.items():
        system, lag, _ = key.split(" | ")
        right.setdefault(system, {}).setdefault(int(lag), []).append(run["right"])
    lags = sorted({lag for found in right.values() for lag in found})
    lines = ["| network | " + " | ".join(f"lag {lag}" for lag in lags) + " |", "|---" * (len(lags) + 1) + "|"]
    for system, found in right.items():
        middle = {lag: 100 * sorted(shares)[len(shares) // 2] for lag, shares in found.items()}
        cells = (f"{percent(middle[lag])} %" if lag in middle else "-" for lag in lags)
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def quickstart_table() -> str:
    """What scripts/time_quickstarts.py measured, a row for every architecture."""
    kept = json.loads((ROOT / "scripts" / "benchmarks" / "quickstarts.json").read_text(encoding="utf-8"))["rows"]
    lines = ["| `--architecture` | embedded sample | updates | processor seconds |", "|---|---|---|---|"]
    for row in list_architectures():
        found = kept.get(row.model_type)
        cells = "- | - | -" if found is None else quickstart_cells(found)
        lines.append(f"| [`{row.model_type}`](../lessons/{row.model_type}.md) | {cells} |")
    return "\n".join(lines)


def quickstart_cells(found: dict[str, Any]) -> str:
    """Sample, updates and seconds of a quick start."""
    return f"`{found['sample']}` | {found['steps']:,} | {found['processor_seconds']}"


def front_score(said: str) -> str:
    """BLEU of the folder that the front pages translate with, and of how many sentences."""
    metrics = json.loads((ROOT / "model_cards" / "rnnsearch-ko-en" / "metrics.json").read_text(encoding="utf-8"))
    return said.format(bleu=metrics["results"]["bleu"]["value"], rows=metrics["dataset"]["rows"])


INLINE = {"score"}  # parts that stand within a line
# page -> its generated parts, each between <!-- name --> and <!-- end name -->
GENERATED: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"architectures": english_lessons, "score": partial(front_score, "{bleu:.1f} BLEU on {rows:,}")},
    "README.ko.md": {"architectures": korean_lessons, "score": partial(front_score, "{bleu:.1f} ({rows:,}문장)")},
    "docs/results/checkpoints.md": {
        "checkpoints": checkpoint_table,
        "replaced": replaced_table,
        "averaging": averaging_lines,
        "others replaced": other_replaced_table,
        "seen": seen_table,
        "questions": no_answerer,
    },
    "docs/results/comparisons.md": {
        "pretraining": pretraining_tables,
        "papers' rates": papers_rates_table,
        "data sizes": partial(written_table, "data_sizes_de"),
        "toolkits": toolkits_tables,
        "adding": adding_table,
        "language models": partial(written_table, "language_models"),
    },
    "docs/results/speed.md": {
        "quickstarts": quickstart_table,
        "peers": peers_table,
        "padding": padding_table,
        "length": length_table,
        "int8": int8_table,
        "bf16": bf16_table,
        "small widths": small_widths_table,
        "words": words_table,
        "counts": counts_table,
        "compiling": compiling_table,
        "growth": growth_table,
        "rates": rates_table,
        "text growth": text_table,
    },
}


def renew(page: str, text: str) -> str:
    """A page's text with each generated part replaced."""
    for name, make in GENERATED[page].items():
        gap = "" if name in INLINE else "\n"
        pattern = rf"(<!-- {name} -->{gap}).*?({gap}<!-- end {name} -->)"
        if not re.search(pattern, text, re.DOTALL):
            raise SystemExit(f"{page} has no part between <!-- {name} --> and <!-- end {name} -->; put the two back")
        text = re.sub(pattern, lambda found, make=make: found[1] + make() + found[2], text, flags=re.DOTALL)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is stale")
    check = parser.parse_args().check
    stale = []
    for page in GENERATED:
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = renew(page, old)
        if new != old:
            stale.append(page)
            if not check:
                path.write_text(new, encoding="utf-8")
    if check and stale:
        print(f"stale: {', '.join(stale)}", file=sys.stderr)
    return int(check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
