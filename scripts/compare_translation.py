"""Train and score translation models under one protocol, collect a table, draw BLEU against sentence length.

    python scripts/compare_translation.py run scripts/comparisons/translation_short_pairs.yaml --work_dir runs/short
    python scripts/compare_translation.py draw scripts/comparisons/translation_short_pairs.yaml

`run` trains every variant with every seed of the YAML file: the same tokenizer, the same pairs in the same number of
passes (so the same target tokens), the same optimiser and search. The epoch is chosen on the validation split; the
test split is scored once, after training. Finished runs are rows of the CSV file beside the YAML file and are not
trained again, so that a stopped comparison goes on where it was; a run that was cut off goes on from its last epoch.
`draw` reads the CSV file alone and writes the picture (in the form of figure 2 of Bahdanau et al. 2015) and a Markdown
table of means beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison_rows import (
    allow_again,
    append_row,
    drop_checkpoints,
    flags_of,
    folder_name,
    mean_and_spread,
    read_protocol,
    read_rows,
    rows_of,
    trained,
)

FIELDS = (
    "model",
    "variant",
    "seed",
    "parameters",
    "target_tokens",
    "seconds",
    "validation_bleu",
    "bleu",
    "chrf",
    "perplexity",
    "bleu_by_source_length",
    "sentences_by_source_length",
    "bleu_signature",
    "hardware",
    "threads",
)


@dataclass(frozen=True)
class Run:
    """One variant of one model with one seed."""

    model: str
    variant: str
    seed: int
    config: dict[str, Any]
    training: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.model, self.variant, self.seed

    @property
    def name(self) -> str:
        return f"{self.model} {self.variant}"

    @property
    def folder(self) -> str:
        return folder_name(self.model, self.variant, self.seed)


def runs(protocol: dict[str, Any]) -> Iterator[Run]:
    """Seed by seed, so that an interrupted comparison has whole rounds."""
    for seed in protocol["seeds"]:
        for model, settings in protocol["models"].items():
            for variant, changes in settings["variants"].items():
                config = {**settings.get("config", {}), **changes}
                yield Run(model, variant, seed, config, settings.get("training", {}))


def shared_tokenizer(protocol: dict[str, Any], folder: Path) -> Path:
    """The tokenizer that all runs use, trained once on the training split."""
    from hf_attention_zoo.tasks.translation.rows import load_data
    from hf_attention_zoo.tokenization.translation_tokenizer import TranslationTokenizer

    if not (folder / "tokenizer_config.json").is_file():
        languages = {name: protocol[name] for name in ("source_lang", "target_lang")}
        pairs = load_data(protocol["dataset"], max_words=protocol.get("max_words"), **languages)["train"]
        tokenizer = TranslationTokenizer.train(
            pairs["source"], pairs["target"], **{**languages, **protocol["tokenizer"]}
        )
        tokenizer.save_pretrained(folder)
    return folder


def train_and_score(run: Run, protocol: dict[str, Any], work: Path, command: str) -> dict[str, Any]:
    """One row of the table; `command` is noted in the model's training.json."""
    import torch
    from transformers import GenerationConfig

    from hf_attention_zoo.tasks.translation.evaluation import evaluate_checkpoint

    folder = work / run.folder
    training = {**protocol["training"], **run.training}
    flags = {
        "recipe": "none",
        "dataset": protocol["dataset"],
        "source_lang": protocol["source_lang"],
        "target_lang": protocol["target_lang"],
        "max_words": protocol.get("max_words"),
        "max_source_length": protocol.get("max_source_length"),
        "max_target_length": protocol.get("max_target_length"),
        "tokenizer": shared_tokenizer(protocol, work / "tokenizer"),
        "output_dir": folder,
        "seed": run.seed,
        "logging_steps": 100,
        "disable_tqdm": True,
        **training,
        **{f"config.{name}": value for name, value in run.config.items()},
    }
    facts = trained([run.model, *flags_of(flags)], folder, command)
    search = GenerationConfig.from_pretrained(folder)
    search.update(**protocol["generation"])  # the folder decodes as it is scored
    search.save_pretrained(folder)
    metrics = evaluate_checkpoint(folder, split="test", batch_size=64, **protocol["generation"])
    drop_checkpoints(folder)
    results, lengths = metrics["results"], metrics["bleu_by_source_length"]
    return {
        "model": run.model,
        "variant": run.variant,
        "seed": run.seed,
        "parameters": metrics["parameters"],
        "target_tokens": facts["target_tokens"],
        "seconds": facts["seconds"],
        "validation_bleu": round(facts["validation"]["bleu"], 2),
        "bleu": results["bleu"]["value"],
        "chrf": results["chrf"]["value"],
        "perplexity": results["perplexity_per_token"],
        "bleu_by_source_length": " ".join(f"{row['words']}:{row['bleu']}" for row in lengths),
        "sentences_by_source_length": " ".join(f"{row['words']}:{row['sentences']}" for row in lengths),
        "bleu_signature": results["bleu"]["signature"],
        "hardware": facts["hardware"],
        "threads": torch.get_num_threads(),
    }


def run_all(protocol_file: Path, work: Path, only: str | None, limit: int | None, again: bool = False) -> None:
    """Every run that has no row yet, or the first `limit` of those whose model and variant contain `only`.

    Args:
        again: whether those with a row run, too, and keep it.
    """
    protocol, table = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    finished = {(row["model"], row["variant"], int(row["seed"])) for row in read_rows(table)}
    named = [run for run in runs(protocol) if only is None or only in run.name]
    waiting = [run for run in named if again or run.key not in finished]
    for run in waiting[:limit]:
        print(f"=== {run.model}, {run.variant}, seed {run.seed}", flush=True)
        program = f"python scripts/compare_translation.py run scripts/comparisons/{protocol_file.name}"
        command = f'{program} --work_dir runs/{protocol_file.stem} --only "{run.name}" --again'
        row = train_and_score(run, protocol, work, command)
        if run.key not in finished:
            append_row(table, row, FIELDS)
        print(f"=== BLEU {row['bleu']} after {row['seconds']} s", flush=True)


def by_variant(rows: list[dict[str, str]]) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Rows of each (model, variant), in the order of the file."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault((row["model"], row["variant"]), []).append(row)
    return groups


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Means over seeds, one line a variant."""
    lines = [
        "| model | variant | seeds | parameters | target tokens | seconds | BLEU | chrF | perplexity |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (model, variant), group in by_variant(rows).items():
        timed = [float(row["seconds"]) for row in group if row["seconds"]]  # runs in one piece
        seconds = f"{statistics.mean(timed):.0f}" if timed else "-"
        perplexity = statistics.mean(float(row["perplexity"]) for row in group)
        lines.append(
            f"| `{model}` | {variant} | {len(group)} | {int(group[0]['parameters']):,} | "
            f"{int(group[0]['target_tokens']):,} | {seconds} | {mean_and_spread(group, 'bleu')} | "
            f"{mean_and_spread(group, 'chrf')} | {perplexity:.2f} |"
        )
    return "\n".join(lines) + "\n"


def lengths_of(rows: list[dict[str, str]]) -> dict[str, float]:
    """Bucket of source words -> BLEU, mean over seeds."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for part in row["bleu_by_source_length"].split():
            bucket, bleu = part.split(":")
            values.setdefault(bucket, []).append(float(bleu))
    return {bucket: statistics.mean(found) for bucket, found in values.items()}


def draw(protocol_file: Path, title: str | None) -> None:
    """The picture and the table from the CSV file."""
    from matplotlib.figure import Figure

    protocol = read_protocol(protocol_file)
    order = list(dict.fromkeys((run.model, run.variant) for run in runs(protocol)))
    rows = sorted(rows_of(protocol_file), key=lambda row: order.index((row["model"], row["variant"])))
    counts = dict(part.split(":") for part in rows[0]["sentences_by_source_length"].split())
    buckets = sorted(counts, key=lambda bucket: int(bucket.rstrip("+").split("-")[0]))
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.subplots()
    languages = f"{protocol['source_lang']} to {protocol['target_lang']}"
    axes.set_title(title or f"{protocol['dataset']}, {languages}: BLEU against sentence length")
    axes.spines[["top", "right"]].set_visible(False)
    (draw_lines if len(buckets) > 2 else draw_dots)(axes, rows, buckets, counts)
    figure.savefig(protocol_file.with_suffix(".png"), dpi=130)
    protocol_file.with_suffix(".md").write_text(markdown_table(rows), encoding="utf-8")
    print(markdown_table(rows), end="")


def draw_dots(axes: Any, rows: list[dict[str, str]], buckets: list[str], counts: dict[str, str]) -> None:
    """A row for each system and a dot for each group of lengths: for one or two groups, which make no line."""
    groups = {label_of(*names): lengths_of(group) for names, group in by_variant(rows).items()}
    order = sorted(groups, key=lambda label: statistics.mean(groups[label][bucket] for bucket in buckets))
    for place, label in enumerate(order):
        found = [groups[label][bucket] for bucket in buckets]
        axes.plot([min(found), max(found)], [place, place], color="#cccccc", linewidth=1.5, zorder=1)
    for number, bucket in enumerate(buckets):
        said = f"{bucket} words ({counts[bucket]} sentences of the test split)"
        values = [groups[label][bucket] for label in order]
        axes.scatter(
            values, range(len(order)), s=28, color=f"C{number}", marker="os"[number % 2], label=said, zorder=2
        )
    axes.set_yticks(range(len(order)), order, fontsize=8)
    axes.set_xlabel("BLEU, mean over seeds" if len({row["seed"] for row in rows}) > 1 else "BLEU, one seed")
    axes.set_xlim(0, 1.08 * max(max(found.values()) for found in groups.values()))
    axes.grid(axis="x", color="#eeeeee")
    axes.legend(fontsize=8, loc="lower right", frameon=False)


def label_of(model: str, variant: str) -> str:
    """A system in a picture."""
    return model if variant == "plain" else f"{model}, {variant}"


def draw_lines(axes: Any, rows: list[dict[str, str]], buckets: list[str], counts: dict[str, str]) -> None:
    """A line for each system over the groups of lengths."""
    for number, ((model, variant), group) in enumerate(by_variant(rows).items()):
        found = lengths_of(group)
        axes.plot(
            range(len(buckets)),
            [found[bucket] for bucket in buckets],
            label=label_of(model, variant),
            color=f"C{number % 10}",
            linestyle=("-", "--", ":")[number // 10 % 3],
            marker="o",
            markersize=3,
        )
    axes.set_xticks(range(len(buckets)), [f"{bucket}\n({counts[bucket]})" for bucket in buckets])
    axes.set_xlabel("words in the source sentence (sentences of the test split)")
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    axes.legend(handlelength=3.5, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("run", help="train and score what has no row yet")
    training.add_argument("protocol", type=Path)
    training.add_argument("--work_dir", type=Path, required=True, help="folder for tokenizer and models")
    training.add_argument("--only", help="only runs whose model and variant contain this text")
    training.add_argument("--limit", type=int, help="at most so many runs")
    allow_again(training)
    drawing = commands.add_parser("draw", help="picture and Markdown table from the CSV file")
    drawing.add_argument("protocol", type=Path)
    drawing.add_argument("--title")
    options = parser.parse_args()
    if options.command == "run":
        run_all(options.protocol, options.work_dir, options.only, options.limit, options.again)
    else:
        draw(options.protocol, options.title)
    return 0


if __name__ == "__main__":
    sys.exit(main())
