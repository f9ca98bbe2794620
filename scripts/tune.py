"""Settings by validation: the same number of trials for each translator, every trial kept.

    python scripts/tune.py run scripts/comparisons/tuning_de.yaml --work_dir runs/tuning_de
    python scripts/tune.py show scripts/comparisons/tuning_de.yaml

A trial is a draw from the choices of the YAML file: those that all models share and those of one model, each size
within one budget of parameters. The first trial of each model takes the first of every choice, set by hand; the others
are drawn with the trial's number as seed, so that a model's draws do not hang on the others'. All trials see the same
pairs equally often, and validation alone scores them. Finished trials are rows of the CSV file beside the YAML file: a
stopped search goes on where it was. `show` prints the best of each model and writes all trials as a Markdown table.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison_rows import (
    append_row,
    drop_checkpoints,
    flags_of,
    folder_name,
    protocol_command,
    read_protocol,
    read_rows,
    rows_of,
    trained,
)

FIELDS = (
    "model",
    "trial",
    "settings",
    "parameters",
    "target_tokens",
    "processor_seconds",
    "validation_chrf",
    "validation_bleu",
    "hardware",
)
CHOSEN_BY = "chrf"  # BLEU of a model that has seen little is mostly zero


@dataclass(frozen=True)
class Trial:
    """One draw of settings for one model: flags of `attention-zoo train`."""

    model: str
    number: int
    settings: dict[str, Any]

    @property
    def folder(self) -> str:
        return folder_name(self.model, f"trial {self.number}")


def drawn_settings(choices: dict[str, list[Any]], model: str, number: int) -> dict[str, Any]:
    """One value of every choice: the first ones in trial 1, drawn ones in the others; sizes come as several flags."""
    source = random.Random(f"{model} {number}")
    settings: dict[str, Any] = {}
    for name, values in choices.items():
        value = values[0] if number == 1 else source.choice(values)
        settings |= value if isinstance(value, dict) else {name: value}
    return settings


def trials(protocol: dict[str, Any]) -> list[Trial]:
    """Round by round, so that a stopped search has tried all models equally often."""
    return [
        Trial(model, number, drawn_settings({**protocol["choices"], **own}, model, number))
        for number in range(1, protocol["trials"] + 1)
        for model, own in protocol["models"].items()
    ]


def draw_pairs(protocol: dict[str, Any], pairs: int | None, seed: int, validation: int | None, folder: Path) -> Path:
    """A folder with some training pairs and some validation pairs of the data set, and its whole test split.

    The draws of one seed lie within each other: the first 2,000 pairs are among the first 4,000. Validation pairs are
    the same for every seed.
    """
    from hf_attention_zoo.tasks.translation.rows import load_data

    if (folder / "test.jsonl").is_file():
        return folder
    languages = {name: protocol[name] for name in ("source_lang", "target_lang")}
    splits = load_data(protocol["dataset"], **languages)
    kept = {
        "train": drawn(len(splits["train"]), pairs, seed),
        "validation": drawn(len(splits["validation"]), validation, 0),
        "test": range(len(splits["test"])),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for split, numbers in kept.items():
        rows = (splits[split][number] for number in numbers)
        lines = (
            json.dumps(
                {"translation": {languages["source_lang"]: row["source"], languages["target_lang"]: row["target"]}}
            )
            for row in rows
        )
        (folder / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def drawn(count: int, wanted: int | None, seed: int) -> list[int]:
    """The first so many of a shuffled list of numbers; all of them without a wish.

    Raises:
        SystemExit: there are fewer.
    """
    numbers = list(range(count))
    random.Random(seed).shuffle(numbers)
    if wanted is not None and wanted > count:
        raise SystemExit(f"{wanted:,} pairs are wanted, and the data set has {count:,}; ask for fewer in the protocol")
    return numbers[:wanted]


def run_flags(model: str, settings: dict[str, Any], protocol: dict[str, Any], data: Path, folder: Path) -> list[str]:
    """`attention-zoo train` of one model with these settings."""
    flags = {
        "recipe": "none",
        "dataset": data,
        **{name: protocol[name] for name in ("source_lang", "target_lang")},
        "output_dir": folder,
        "disable_tqdm": True,
        **protocol["training"],
        **settings,
    }
    return [model, *flags_of(flags)]


def timed_training(flags: list[str], folder: Path, command: str) -> dict[str, Any]:
    """As `trained`, with processor seconds, and without the checkpoints."""
    whole = not (folder / "training.json").is_file() and not list(folder.glob("checkpoint-*"))
    begun = time.process_time()
    facts = trained(flags, folder, command)
    spent = round(time.process_time() - begun, 1) if whole else None  # what goes on has spent more than is seen here
    drop_checkpoints(folder)
    return facts | {"processor_seconds": spent}


def run_all(protocol_file: Path, work: Path, only: str | None, limit: int | None) -> None:
    """Every trial that has no row yet, or those of one model."""
    protocol, table = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    finished = {(row["model"], int(row["trial"])) for row in read_rows(table)}
    waiting = [
        trial
        for trial in trials(protocol)
        if (trial.model, trial.number) not in finished and only in (None, trial.model)
    ]
    for trial in waiting[:limit]:
        print(f"=== {trial.model}, trial {trial.number}: {trial.settings}", flush=True)
        data = draw_pairs(protocol, protocol["pairs"], 0, protocol["validation_pairs"], work / "pairs")
        folder = work / trial.folder
        flags = run_flags(trial.model, trial.settings, protocol, data, folder)
        facts = timed_training(
            [*flags, "--metric_for_best_model", CHOSEN_BY],
            folder,
            f"python scripts/tune.py run scripts/comparisons/{protocol_file.name} --work_dir runs/{work.name}",
        )
        row = {
            "model": trial.model,
            "trial": trial.number,
            "settings": json.dumps(trial.settings),
            "validation_chrf": round(facts["validation"]["chrf"], 2),
            "validation_bleu": round(facts["validation"]["bleu"], 2),
            **{name: facts[name] for name in ("parameters", "target_tokens", "processor_seconds", "hardware")},
        }
        append_row(table, row, FIELDS)
        print(f"=== chrF {row['validation_chrf']} after {row['processor_seconds']} s", flush=True)


def best_settings(protocol_file: Path, models: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """Model -> settings of its best trial, of all trials that the protocol asks for; of all its models or some.

    Raises:
        SystemExit: a model has fewer trials than the protocol asks for, so that the choice would not be fair.
    """
    protocol, rows = read_protocol(protocol_file), rows_of(protocol_file)
    best: dict[str, dict[str, Any]] = {}
    for model in protocol["models"] if models is None else models:
        tried = [row for row in rows if row["model"] == model]
        if len(tried) < protocol["trials"]:
            raise SystemExit(
                f"{protocol_file.with_suffix('.csv')}: {model} has {len(tried)} trials of {protocol['trials']}; "
                f"run the rest: python scripts/tune.py run {protocol_file} --work_dir FOLDER --only {model}"
            )
        best[model] = json.loads(max(tried, key=lambda row: float(row["validation_chrf"]))["settings"])
    return best


def markdown_table(rows: list[dict[str, str]]) -> str:
    """All trials, a model's best first."""
    lines = [
        "| model | trial | settings | parameters | processor seconds | validation chrF | validation BLEU |",
        "|---|---|---|---|---|---|---|",
    ]
    models = list(dict.fromkeys(row["model"] for row in rows))
    for row in sorted(rows, key=lambda row: (models.index(row["model"]), -float(row["validation_chrf"]))):
        said = ", ".join(
            f"{name.removeprefix('config.').removeprefix('tokenizer.')} {value}"
            for name, value in json.loads(row["settings"]).items()
        )
        lines.append(
            f"| `{row['model']}` | {row['trial']} | {said} | {int(row['parameters']):,} | "
            f"{row['processor_seconds'] or '-'} | {row['validation_chrf']} | {row['validation_bleu']} |"
        )
    return "\n".join(lines) + "\n"


def show(protocol_file: Path) -> None:
    """All trials as a Markdown file; on the screen the best of each model, or how many trials it still lacks."""
    rows, protocol = rows_of(protocol_file), read_protocol(protocol_file)
    protocol_file.with_suffix(".md").write_text(markdown_table(rows), encoding="utf-8")
    for model in protocol["models"]:
        missing = protocol["trials"] - sum(row["model"] == model for row in rows)
        if missing > 0:
            print(f"{model}: {missing} of {protocol['trials']} trials have not run")
        else:
            print(model, " ".join(flags_of(best_settings(protocol_file, [model])[model])))


if __name__ == "__main__":
    told = (
        "train and validate what has no row yet",
        "trials",
        "the best settings, and all trials as a Markdown table",
    )
    sys.exit(protocol_command(__doc__, run_all, ("show", show), told))
