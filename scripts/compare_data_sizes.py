"""How much data does each translator need: BLEU against the number of training pairs, and where the lines cross.

    python scripts/compare_data_sizes.py run scripts/comparisons/data_sizes_de.yaml --work_dir runs/data_sizes_de
    python scripts/compare_data_sizes.py draw scripts/comparisons/data_sizes_de.yaml

Each model has the settings that its own validation chose among the same number of trials (scripts/tune.py). A seed
draws the pairs, too, and its smaller sets lie within its larger ones. The state with the best validation BLEU is kept,
and the test split is scored once. Finished runs are rows of the CSV file beside the YAML file; a run that was cut off
goes on from its last state. `draw` reads the CSV file alone and writes the picture and a Markdown table beside it.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import tune
from comparison_rows import (
    append_row,
    folder_name,
    mean_and_spread,
    protocol_command,
    read_protocol,
    read_rows,
    rows_of,
)

FIELDS = (
    "model",
    "pairs",
    "seed",
    "parameters",
    "target_tokens",
    "processor_seconds",
    "validation_bleu",
    "bleu",
    "chrf",
    "perplexity",
    "bleu_signature",
    "hardware",
)
Curve = dict[int, float]  # training pairs -> BLEU, mean over seeds


@dataclass(frozen=True)
class Run:
    """One model on so many pairs with one seed."""

    model: str
    pairs: int
    passes: int
    seed: int

    @property
    def key(self) -> tuple[str, int, int]:
        return self.model, self.pairs, self.seed


def runs(protocol: dict[str, Any]) -> list[Run]:
    """Seed by seed and from few pairs to many, so that a stopped comparison has whole curves."""
    return sorted(
        (
            Run(model, size["pairs"], size["passes"], seed)
            for size in protocol["sizes"]
            for seed in size["seeds"]
            for model in protocol["models"]
        ),
        key=lambda run: run.seed,
    )


def train_and_score(
    run: Run, protocol: dict[str, Any], settings: dict[str, Any], work: Path, name: str
) -> dict[str, Any]:
    """One row of the table; `name` is that of the protocol."""
    from hf_attention_zoo.tasks.translation.evaluation import evaluate_checkpoint

    data = tune.draw_pairs(
        protocol, run.pairs, run.seed, protocol["validation_pairs"], work / folder_name("pairs", run.pairs, run.seed)
    )
    folder = work / folder_name(run.model, run.pairs, run.seed)
    own = {**settings, "num_train_epochs": run.passes, "seed": run.seed}
    flags = tune.run_flags(run.model, own, protocol, data, folder)
    command = f"python scripts/compare_data_sizes.py run scripts/comparisons/{name}.yaml --work_dir runs/{name}"
    facts = tune.timed_training(flags, folder, command)
    metrics = evaluate_checkpoint(folder, split="test", batch_size=64, **protocol["generation"])
    results = metrics["results"]
    return {
        "model": run.model,
        "pairs": run.pairs,
        "seed": run.seed,
        "parameters": metrics["parameters"],
        "target_tokens": facts["target_tokens"],
        "processor_seconds": facts["processor_seconds"],
        "validation_bleu": round(facts["best_validation"], 2),
        "bleu": results["bleu"]["value"],
        "chrf": results["chrf"]["value"],
        "perplexity": results["perplexity_per_token"],
        "bleu_signature": results["bleu"]["signature"],
        "hardware": facts["hardware"],
    }


def run_all(protocol_file: Path, work: Path, only: str | None, limit: int | None) -> None:
    """Every run that has no row yet, or those of one model."""
    protocol, table = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    best = tune.best_settings(
        protocol_file.with_name(protocol["tuning"]), protocol["models"] if only is None else [only]
    )
    finished = {(row["model"], int(row["pairs"]), int(row["seed"])) for row in read_rows(table)}
    waiting = [run for run in runs(protocol) if run.key not in finished and only in (None, run.model)]
    for run in waiting[:limit]:
        print(f"=== {run}", flush=True)
        row = train_and_score(run, protocol, best[run.model], work, protocol_file.stem)
        append_row(table, row, FIELDS)
        print(f"=== BLEU {row['bleu']} after {row['processor_seconds']} s", flush=True)


def curves(rows: Iterable[dict[str, str]]) -> dict[str, Curve]:
    """Model -> its curve, by the number of pairs."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        found.setdefault(row["model"], {}).setdefault(int(row["pairs"]), []).append(float(row["bleu"]))
    return {
        model: {pairs: statistics.mean(of_size[pairs]) for pairs in sorted(of_size)}
        for model, of_size in found.items()
    }


def gaps(one: Curve, other: Curve) -> Curve:
    """By how much one curve is above the other, at the decimal that is shown."""
    return {pairs: round(one[pairs] - other[pairs], 1) for pairs in one if pairs in other}


def crossings(one: Curve, other: Curve) -> list[tuple[int, int]]:
    """Measured numbers of pairs between which two curves meet."""
    return [
        (few, many)
        for (few, before), (many, after) in pairwise((size, gap) for size, gap in gaps(one, other).items() if gap)
        if before * after < 0
    ]


def crossing_sentences(found: dict[str, Curve]) -> list[str]:
    """For each two models: who is ahead, and where that changes."""
    said = []
    for one, other in combinations(found, 2):
        apart = gaps(found[one], found[other])
        signs = [gap > 0 for gap in apart.values() if gap]
        if not signs:
            continue
        first, last = (one if sign else other for sign in (signs[0], signs[-1]))
        places = crossings(found[one], found[other])
        if not places:
            level = " or level with" if len(signs) < len(apart) else ""
            said.append(f"`{first}` is ahead of{level} `{other if first == one else one}` at every size.")
        else:
            where = " and ".join(f"between {few:,} and {many:,}" for few, many in places)
            said.append(
                f"`{one}` and `{other}` cross {where} pairs: `{first}` is ahead with the fewest, "
                f"`{last}` with the most."
            )
    return said


def markdown_table(rows: list[dict[str, str]]) -> str:
    """A line for each number of pairs, a column for each model, and where lines cross."""
    found = curves(rows)
    lines = [
        "| pairs | seeds | " + " | ".join(f"`{model}`" for model in found) + " |",
        "|---" * (len(found) + 2) + "|",
    ]
    for pairs in sorted({int(row["pairs"]) for row in rows}):
        of_size = [row for row in rows if int(row["pairs"]) == pairs]
        cells = [mean_and_spread([row for row in of_size if row["model"] == model], "bleu") for model in found]
        seeds = len({row["seed"] for row in of_size})
        lines.append(f"| {pairs:,} | {seeds} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *crossing_sentences(found)]) + "\n"


def draw(protocol_file: Path) -> None:
    """The picture and the table from the CSV file."""
    from matplotlib.figure import Figure

    protocol = read_protocol(protocol_file)
    rows = sorted(rows_of(protocol_file), key=lambda row: protocol["models"].index(row["model"]))
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    for number, (model, curve) in enumerate(curves(rows).items()):
        axes.plot(list(curve), list(curve.values()), color=f"C{number}", marker="o", label=model)
        single = [row for row in rows if row["model"] == model]
        axes.scatter(
            [int(row["pairs"]) for row in single],
            [float(row["bleu"]) for row in single],
            s=8,
            color=f"C{number}",
            alpha=0.5,
        )
    sizes = sorted({int(row["pairs"]) for row in rows})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{pairs:,}" for pairs in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training pairs")
    axes.set_ylabel("test BLEU, each seed and mean")
    axes.set_ylim(bottom=0)
    axes.set_title(
        f"{protocol['source_lang']} to {protocol['target_lang']}: how much data does each need?", fontsize=10
    )
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(protocol_file.with_suffix(".png"), dpi=130)
    protocol_file.with_suffix(".md").write_text(markdown_table(rows), encoding="utf-8")
    print(markdown_table(rows), end="")


if __name__ == "__main__":
    told = ("train and score what has no row yet", "runs", "picture and Markdown table from the CSV file")
    sys.exit(protocol_command(__doc__, run_all, ("draw", draw), told))
