"""What pre-training gains: small models pre-trained on running text and fine-tuned, beside the same from scratch.

    python scripts/compare_pretraining.py pretrain scripts/comparisons/pretraining.yaml --work_dir runs/pretraining \\
        --data sent_nsmc_ko=folder
    python scripts/compare_pretraining.py run scripts/comparisons/pretraining.yaml --work_dir runs/pretraining \\
        --data tags_pud=folder --data qa_xquad=folder
    python scripts/compare_pretraining.py table scripts/comparisons/pretraining.yaml

`pretrain` trains and scores what the YAML file lists under `bodies` (an objective each: the paper's, without the next
sentence, from left to right) once; their held-out perplexities go to `<protocol>.perplexity.csv` with those of n-gram
models. `run` fine-tunes every system on every task and seed: a system is a body or none, an architecture, and changes
to its config, such as the weight of GPT's auxiliary loss. Finished runs are rows of the CSV file beside the YAML file
and are not trained again; if the protocol has changed since, the script stops and says so. Of several epochs one is
chosen on the validation split; the test split is scored once. `table` reads the CSV files alone and writes Markdown;
what it calls gains are differences of two systems, seed by seed.

`--only WORD` takes the bodies, tasks and systems whose name has the word, or the one of just that name; a single run
is called "task, system, seed 1". Texts and tasks that do not come with the package are named with --data and passed
over without. `fine_tuning_config` changes the config of bodies for the tasks.
The script makes a folder for the tags from a treebank with a test split alone, documents kept together:
`tags en_pud-ud-test.conllu FOLDER` (github.com/UniversalDependencies/UD_English-PUD).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison_rows import (
    allow_again,
    append_row,
    append_rows,
    check_settings,
    drop_checkpoints,
    fingerprint,
    flags_of,
    folder_name,
    mean_and_spread,
    read_protocol,
    read_rows,
    rows_of,
)
from treebank_tags import make_tags

from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.table import task_for
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.run_plan import parse_run
from hf_attention_zoo.whole_files import json_if_any

FIELDS = (
    *("task", "system", "seed", "metric", "value", "validation", "seconds", "baseline"),
    *("hardware", "threads", "settings"),
)
PERPLEXITY_FIELDS = ("body", "seed", "system", "name", "value", "steps", "seconds", "hardware", "threads", "settings")
SETTINGS_FILE = "comparison.txt"  # in a run's folder: the fingerprint of its settings
# Held-out numbers of bodies that go into the table.
HELD_OUT = ("masked_perplexity", "masked_accuracy", "next_sentence_accuracy", "perplexity", "perplexity_per_word")


@dataclass(frozen=True)
class Run:
    """A system on a task with a seed."""

    task: str
    system: str
    seed: int
    settings: dict[str, Any]
    task_settings: dict[str, Any]
    dataset: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.task, self.system, str(self.seed)

    @property
    def name(self) -> str:
        return f"{self.task}, {self.system}, seed {self.seed}"


def body_folder(work_dir: Path, name: str) -> Path:
    """Where a pre-trained body lies."""
    return work_dir / "bodies" / folder_name(name)


def body_settings(protocol: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """What a body is trained with: its model and flags, and its config, tokenizer and objective."""
    body = protocol["bodies"][name]
    sections = {
        section: {**protocol.get(section, {}).get(body["model"], {}), **body.get(section, {})}
        for section in ("config", "tokenizer", "objective")
    }
    flags = {**protocol["pretraining"], **body.get("training", {})}
    return {"flags": flags, **sections}


def body_fingerprint(protocol: dict[str, Any], name: str) -> str:
    """What tells a body of this protocol from others of its name."""
    return fingerprint(protocol["bodies"][name]["model"], body_settings(protocol, name))


def check_body(protocol: dict[str, Any], work_dir: Path, name: str) -> None:
    """Raises SystemExit if a body is not trained, or with other settings."""
    folder = body_folder(work_dir, name)
    if not is_trained(folder, name, body_fingerprint(protocol, name)):
        raise SystemExit(f"{folder}: the body {name} is not there; train it first, with the command `pretrain`")


def is_wanted(word: str, name: str, names: Iterable[str]) -> bool:
    """Whether `--only` takes a name: the one of just that name if there is one, or else all that have the word."""
    return name == word if word in names else word in name


def check_word(word: str, **names: Iterable[str]) -> None:
    """Raise SystemExit if `--only` takes none of these names."""
    if not any(is_wanted(word, name, kind) for kind in names.values() for name in kind):
        known = "; ".join(f"{said}: {' | '.join(kind)}" for said, kind in names.items())
        raise SystemExit(f"--only {word!r} is in no name; there are {known}")


def shown_command(command: str, file: Path, only: str, data: str | None, body: str | None = None) -> str:
    """What makes a folder again, and before it the body, called from the root of this repository.

    The protocol is named from there if it lies in the repository.
    """
    root = Path(__file__).resolve().parents[1]
    shown = file.resolve().relative_to(root) if file.resolve().is_relative_to(root) else file
    words = ["python", "scripts/compare_pretraining.py", command, shown.as_posix(), "--only", only, "--again"]
    first = "" if body is None else f"{shown_command('pretrain', file, body, None)} && "
    return first + shlex.join(words + ([] if data is None else ["--data", f"{data}=FOLDER"]))


def section_flags(sections: dict[str, dict[str, Any]]) -> list[str]:
    """{"config": {"hidden_size": 8}} -> --config.hidden_size 8."""
    return flags_of({f"{section}.{key}": value for section, found in sections.items() for key, value in found.items()})


def is_trained(folder: Path, name: str, settings: str) -> bool:
    """Whether the training of a folder is over. Raises SystemExit if it was with other settings."""
    if not (folder / FACTS_FILE).is_file():
        return False
    file = folder / SETTINGS_FILE
    check_settings(name, folder, file.read_text(encoding="utf-8") if file.is_file() else None, settings)
    return True


def finish(folder: Path, settings: str) -> None:
    """Keep what a finished training was made with, and not its checkpoints."""
    (folder / SETTINGS_FILE).write_text(settings, encoding="utf-8")
    drop_checkpoints(folder)


def pretrain(protocol_file: Path, work_dir: Path, data: dict[str, str], only: str, again: bool = False) -> None:
    """Train and score the bodies that are not there yet and have their text, with `again` those with rows, too."""
    protocol = read_protocol(protocol_file)
    results = protocol_file.with_suffix(".perplexity.csv")
    scored = {row["body"]: row.get("settings") for row in read_rows(results)}
    check_word(only, bodies=protocol["bodies"])
    for name, body in protocol["bodies"].items():
        text = body.get("training", {}).get("dataset")
        if not is_wanted(only, name, protocol["bodies"]):
            continue
        if not body.get("embedded", True) and text not in data:
            print(f"{name}: passed over, its text does not come with the package; give --data {text}=FOLDER")
            continue
        settings = body_fingerprint(protocol, name)
        if name in scored:
            check_settings(name, results, scored[name], settings)
            if not again:
                continue
        folder = body_folder(work_dir, name)
        if not is_trained(folder, name, settings):
            sections = body_settings(protocol, name)
            flags = sections.pop("flags")
            flags["dataset"] = data.get(flags["dataset"], flags["dataset"])
            argv = [body["model"], "--output_dir", str(folder), *flags_of(flags), *section_flags(sections)]
            command = shown_command("pretrain", protocol_file, name, None if body.get("embedded", True) else text)
            plan, task = pretraining_plan(argv, command=command)
            run_training(plan, task=task)
            finish(folder, settings)
        metrics = task_for(folder).evaluate(folder)  # the text of the training, and its column
        facts = json_if_any(folder / FACTS_FILE)
        shared = {"body": name, "seed": facts["seed"], "steps": facts["steps"], "seconds": facts["seconds"]}
        shared |= hardware() | {"settings": settings}
        rows = [
            {**shared, "system": system, "name": number, "value": round(numbers[number], 4)}
            for system, numbers in {"model": metrics["results"], **metrics["baselines"]}.items()
            for number in HELD_OUT
            if number in numbers
        ]
        if name not in scored:
            append_rows(results, rows, PERPLEXITY_FIELDS)
        print(f"{name}: " + ", ".join(f"{n} {metrics['results'][n]}" for n in HELD_OUT if n in metrics["results"]))


def runs_of(protocol: dict[str, Any], data: dict[str, str], only: str) -> list[Run]:
    """Every run of the protocol for which there are data, or those that `only` takes."""
    found = []
    for seed in protocol["seeds"]:
        for task, task_settings in protocol["tasks"].items():
            if not task_settings.get("embedded", True) and task not in data:
                continue
            able = task_settings.get("models", ["bert2018", "gpt2018"])
            found += [
                Run(task, system, seed, settings, task_settings, data.get(task, task))
                for system, settings in protocol["systems"].items()
                if settings["model"] in able
            ]
    single = [one for one in found if one.name == only]
    if single:
        return single
    check_word(only, tasks=protocol["tasks"], systems=protocol["systems"])
    return [
        one
        for one in found
        if is_wanted(only, one.task, protocol["tasks"]) or is_wanted(only, one.system, protocol["systems"])
    ]


def run(protocol_file: Path, work_dir: Path, data: dict[str, str], only: str, again: bool = False) -> None:
    """Fine-tune and score what has no row yet, with `again` what has one, too."""
    protocol = read_protocol(protocol_file)
    results = protocol_file.with_suffix(".csv")
    done = {(row["task"], row["system"], row["seed"]): row.get("settings") for row in read_rows(results)}
    for one in runs_of(protocol, data, only):
        model, folder = one.settings["model"], work_dir / folder_name(*one.key)
        flags = {
            "seed": one.seed,
            **protocol["training"],
            **one.task_settings.get("training", {}),
            **one.settings.get("training", {}),
        }
        config = {**protocol.get("fine_tuning_config", {}).get(model, {}), **one.settings.get("config", {})}
        body = one.settings.get("body")
        if body is None:  # From scratch: the same sizes, and the tokenizer of the same text.
            config = {**protocol["config"][model], **config}
        source = body or one.settings["tokenizer_of"]
        settings = fingerprint(model, flags, config, body, body_settings(protocol, source))
        if one.key in done:
            check_settings(one.name, results, done[one.key], settings)
            if not again:
                continue
        if not is_trained(folder, one.name, settings):
            check_body(protocol, work_dir, source)
            start = {"model" if body else "tokenizer": body_folder(work_dir, source)}
            argv = [model, *flags_of({"dataset": one.dataset, "output_dir": folder, **flags, **start})]
            argv += section_flags({"config": config})
            own = None if one.dataset == one.task else one.task
            command = shown_command("run", protocol_file, one.name, own, body=source)
            run_training(parse_run(argv, command=command))
            finish(folder, settings)
        facts = json_if_any(folder / FACTS_FILE)
        metrics = task_for(folder).evaluate(folder)  # the data set of the training, and its columns
        metric = one.task_settings["metric"]
        baseline = one.task_settings.get("baseline")
        row = {
            "task": one.task,
            "system": one.system,
            "seed": one.seed,
            "metric": metric,
            "value": metrics["results"][metric],
            "validation": facts["validation"].get(metric),
            "seconds": facts["seconds"],
            "baseline": metrics["baselines"].get(baseline, {}).get(metric),
            **hardware(),
            "settings": settings,
        }
        if one.key not in done:
            append_row(results, row, FIELDS)
        print(f"{one.name}: {metric} {row['value']}")


def hardware() -> dict[str, Any]:
    """Columns about the machine."""
    import torch

    from hf_attention_zoo.folders.run_facts import processor_name

    return {"hardware": processor_name(), "threads": torch.get_num_threads()}


def table(protocol_file: Path) -> str:
    """The CSV files as Markdown.

    Raises:
        SystemExit: there is nothing to show yet.
    """
    protocol = read_protocol(protocol_file)
    held_out = read_rows(protocol_file.with_suffix(".perplexity.csv"))
    rows = read_rows(protocol_file.with_suffix(".csv")) if held_out else rows_of(protocol_file)
    parts = [held_out_lines(protocol, held_out)] if held_out else []
    if rows:
        parts.append(task_lines(protocol, rows))
    return "\n".join("\n".join(lines) + "\n" for lines in parts)


def held_out_lines(protocol: dict[str, Any], held_out: list[dict[str, str]]) -> list[str]:
    """Perplexities of the bodies beside those of n-gram models, and accuracies in percent."""
    lines = ["| body | number | model | 1-gram | 2-gram | 3-gram | 4-gram |", "|---|---|---|---|---|---|---|"]
    for body in protocol["bodies"]:
        for name in HELD_OUT:
            mine = [row for row in held_out if row["body"] == body and row["name"] == name]
            scale = 100 if name.endswith("accuracy") else 1
            values = {row["system"]: f"{scale * float(row['value']):.1f}" for row in mine}
            if values:
                cells = [values.get(system, "-") for system in ("model", *(f"{n}-gram" for n in (1, 2, 3, 4)))]
                lines.append(f"| {body} | {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return lines


def task_lines(protocol: dict[str, Any], rows: list[dict[str, str]]) -> list[str]:
    """Systems by tasks, the simple baseline, and the gains that the protocol names."""
    tasks = [task for task in protocol["tasks"] if any(row["task"] == task for row in rows)]
    found = {
        (system, task): [row for row in rows if row["system"] == system and row["task"] == task]
        for system in protocol["systems"]
        for task in tasks
    }
    lines = [f"| system | {' | '.join(tasks)} |", "|---" * (len(tasks) + 1) + "|"]
    for system in protocol["systems"]:
        if any(found[system, task] for task in tasks):
            lines.append(f"| {system} | {' | '.join(scaled(found[system, task]) for task in tasks)} |")
    simple = [scaled([row for row in rows if row["task"] == task][:1], "baseline") for task in tasks]
    lines.append(f"| simple baseline | {' | '.join(simple)} |")
    for name, (system, other) in protocol.get("gains", {}).items():
        unknown = {system, other} - set(protocol["systems"])
        if unknown:
            raise SystemExit(f"gain {name!r}: no system {unknown}; there are {' | '.join(protocol['systems'])}")
        cells = [scaled(differences(found[system, task], found[other, task])) for task in tasks]
        if any(cell != "-" for cell in cells):
            lines.append(f"| gain: {name} | {' | '.join(cells)} |")
    return lines


def differences(rows: list[dict[str, str]], others: list[dict[str, str]]) -> list[dict[str, str]]:
    """Values of a system less those of another of the same task and seed."""
    theirs = {row["seed"]: float(row["value"]) for row in others}
    return [{**row, "value": str(float(row["value"]) - theirs[row["seed"]])} for row in rows if row["seed"] in theirs]


def scaled(rows: list[dict[str, str]], field: str = "value") -> str:
    """Mean and spread in percent; F1 and exact match of questions are already."""
    percent = [
        {**row, field: str(float(row[field]) * (1 if row["metric"] in ("f1", "exact_match") else 100))}
        for row in rows
        if row[field]
    ]
    return mean_and_spread(percent, field)


def main(arguments: list[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["tags"]:
        make_tags(Path(arguments[1]), Path(arguments[2]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("pretrain", "run", "table"))
    parser.add_argument("protocol", type=Path)
    parser.add_argument("--work_dir", type=Path, default=Path("runs/pretraining"))
    parser.add_argument("--data", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--only", default="", help="the one of this name, or all whose name has this word")
    allow_again(parser)
    chosen = parser.parse_args(arguments)
    data = dict(entry.split("=", 1) for entry in chosen.data)
    if chosen.command == "pretrain":
        pretrain(chosen.protocol, chosen.work_dir, data, chosen.only, chosen.again)
    elif chosen.command == "run":
        run(chosen.protocol, chosen.work_dir, data, chosen.only, chosen.again)
    else:
        text = table(chosen.protocol)
        chosen.protocol.with_suffix(".md").write_text(text, encoding="utf-8")
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
