"""Train and score captioners under one protocol, and collect a table with the baselines.

    python scripts/compare_captions.py run scripts/comparisons/captions_stamps.yaml --work_dir runs/stamps
    python scripts/compare_captions.py table scripts/comparisons/captions_stamps.yaml

`run` trains every variant (soft and hard attention, with and without the coverage term, the same decoder without
attention) with every seed of the YAML file, on the same regions and the same words. The epoch is chosen on the
validation split; the test split is scored once, after training, beside the most frequent caption and the caption of
the nearest training picture. Where the right region of every word is known (the data set `grid`, made on the fly), the
pointing accuracy of the attention is scored, too. Finished runs are rows of the CSV file beside the YAML file and are
not trained again. `table` reads the CSV file alone and writes a Markdown table of means beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from comparison_rows import (
    append_row,
    drop_checkpoints,
    flags_of,
    folder_name,
    mean_and_spread,
    read_protocol,
    read_rows,
    rows_of,
)

SCORES = ("bleu1", "bleu2", "bleu3", "bleu4", "cider", "meteor", "exact")
POINTING = ("pointing", "mass", "chance")  # the last: what attention that looks anywhere would reach
FIELDS = ("variant", "seed", "group", "rows", *SCORES, *POINTING, "parameters", "seconds")
FIELDS += ("validation_bleu4", "bleu_signature", "hardware")
BASELINES = {"most_frequent": "most frequent caption", "nearest": "nearest training picture"}


def dataset_folder(protocol: dict[str, Any], work: Path) -> str:
    """The data set of the protocol; `grid` is made, once."""
    if protocol["dataset"] != "grid":
        return protocol["dataset"]
    from hf_attention_zoo.tasks.captions.grid_pictures import write_grid_pictures

    folder = work / "grid"
    if not (folder / "test.jsonl").is_file():
        write_grid_pictures(folder, protocol["sizes"], seed=0, **protocol.get("grid", {}))
    return str(folder)


def train(variant: str, seed: int, protocol: dict[str, Any], work: Path, command: str) -> Path:
    """The trained model's folder."""
    from hf_attention_zoo.tasks.train import run_training
    from hf_attention_zoo.training.run_plan import parse_run

    folder = work / folder_name(variant, seed)
    config = {**protocol.get("config", {}), **protocol["variants"][variant]}
    flags = {
        "recipe": protocol["recipe"],
        "dataset": dataset_folder(protocol, work),
        "target_lang": protocol.get("language"),
        "output_dir": folder,
        "seed": seed,
        "logging_steps": 100,
        "disable_tqdm": True,
        **protocol["training"],
        **{f"config.{name}": value for name, value in config.items()},
        **{f"tokenizer.{name}": value for name, value in protocol.get("tokenizer", {}).items()},
    }
    if not (folder / "training.json").is_file():
        run_training(parse_run(["show_attend_tell", *flags_of(flags)], command=command))
    return folder


def score(folder: Path, protocol: dict[str, Any], work: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Metrics of the test split, and the pointing accuracy where boxes are known."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from hf_attention_zoo.tasks.captions.evaluation import evaluate_captioner
    from hf_attention_zoo.tasks.captions.pointing_accuracy import pointing_accuracy
    from hf_attention_zoo.tasks.captions.rows import load_captions

    dataset = dataset_folder(protocol, work)
    metrics = evaluate_captioner(
        folder,
        dataset=dataset,
        target_lang=protocol.get("language"),
        group_column=protocol.get("group_column"),
        batch_size=64,
        **protocol["generation"],
    )
    rows = load_captions(dataset, language=protocol.get("language"), splits="test")["test"]
    if "boxes" not in rows.rows[0]:
        return metrics, {}
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    return metrics, pointing_accuracy(model, AutoProcessor.from_pretrained(folder), rows)


def result_rows(
    variant: str, seed: int | str, metrics: dict[str, Any], pointing: dict[str, float]
) -> list[dict[str, Any]]:
    """One row for the whole split and one for each group."""
    results = metrics["results"]
    whole = {name: results.get(name) for name in SCORES}
    whole["bleu4"] = results["bleu4"]["value"]
    common = {
        "variant": variant,
        "seed": seed,
        "parameters": metrics["parameters"],
        "bleu_signature": results["bleu4"]["signature"],
        "hardware": metrics["hardware"],
    }
    rows = [{**common, **whole, "group": "", "rows": metrics["dataset"]["rows"], **pointing}]
    rows += [{**common, **group, "group": group["group"]} for group in metrics.get("groups", [])]
    return [{name: row.get(name, "") for name in FIELDS} for row in rows]


def baseline_rows(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """What is to be beaten, over the whole split and for each group."""
    found = []
    for name, said in BASELINES.items():
        parts = [("", metrics["dataset"]["rows"], metrics["baselines"][name])]
        parts += [(group["group"], group["rows"], group["baselines"][name]) for group in metrics.get("groups", [])]
        for group, count, scores in parts:
            row = {"variant": said, "seed": "", "group": group, "rows": count, **scores}
            found.append({field: row.get(field, "") for field in FIELDS})
    return found


def run(protocol_file: Path, work: Path, only: str | None) -> None:
    """Train and score what has no row yet, seed by seed."""
    protocol, results = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    work.mkdir(parents=True, exist_ok=True)
    command = f"python scripts/compare_captions.py run {protocol_file.as_posix()}"
    for seed in protocol["seeds"]:
        for variant in protocol["variants"]:
            done = read_rows(results)
            if any((row["variant"], row["seed"]) == (variant, str(seed)) for row in done):
                continue
            if only is not None and only not in variant:
                continue
            folder = train(variant, seed, protocol, work, command)
            metrics, pointing = score(folder, protocol, work)
            facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
            drop_checkpoints(folder)
            if not any(row["variant"] in BASELINES.values() for row in done):
                for row in baseline_rows(metrics):
                    append_row(results, row, FIELDS)
            for row in result_rows(variant, seed, metrics, pointing):
                row |= {"seconds": facts["seconds"], "validation_bleu4": facts["validation"].get("bleu4", "")}
                append_row(results, row, FIELDS)
            print(
                f"{variant}, seed {seed}: BLEU-4 {metrics['results']['bleu4']['value']} {pointing or ''}", flush=True
            )


def table(protocol_file: Path) -> str:
    """Means over seeds, with the standard deviation of several, one table for the split and one for each group."""
    rows, parts = rows_of(protocol_file), []
    shown = [name for name in (*SCORES, *POINTING) if any(row[name] for row in rows)]
    for group in dict.fromkeys(row["group"] for row in rows):
        here = [row for row in rows if row["group"] == group]
        parts.append(f"{group or 'The whole test split'}: {int(float(here[0]['rows'])):,} pictures\n")
        parts.append(f"| | seeds | {' | '.join(shown)} |\n|{'---|' * (len(shown) + 2)}")
        for variant in dict.fromkeys(row["variant"] for row in here):
            mine = [row for row in here if row["variant"] == variant]
            seeds = sum(bool(row["seed"]) for row in mine) or ""
            cells = " | ".join(mean_and_spread(mine, name, 2 if name == "cider" else 1) for name in shown)
            parts.append(f"| {variant} | {seeds} | {cells} |")
        parts.append("")
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="train and score what is missing")
    runner.add_argument("protocol", type=Path)
    runner.add_argument("--work_dir", type=Path, required=True)
    runner.add_argument("--only", help="variants whose name has this in it")
    commands.add_parser("table", help="write the Markdown table").add_argument("protocol", type=Path)
    options = parser.parse_args()
    if options.command == "run":
        run(options.protocol, options.work_dir, options.only)
    text = table(options.protocol)
    options.protocol.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
