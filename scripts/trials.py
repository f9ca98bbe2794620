"""Train a fixed number of settings, score them on the validation split, and keep all of them as a table.

    python scripts/trials.py run scripts/comparisons/trials_emoji_names.yaml --work_dir runs/trials [--only WORD]
    python scripts/trials.py table scripts/comparisons/trials_emoji_names.yaml

The YAML file names systems, each with the arguments of `attention-zoo train` that all its trials share and those of
each trial, and the splits and scores that are kept. The test split is not among them: what is chosen here is scored
there once, by the command that makes the published folder. Finished trials are rows of the CSV file beside the YAML
file and are not trained again; one that was cut off goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison_rows import (
    append_row,
    drop_checkpoints,
    flags_of,
    folder_name,
    read_protocol,
    read_rows,
    rows_of,
    trained,
)

ALWAYS = ("system", "trial", "seed", "parameters", "epochs", "seconds", "hardware")


@dataclass(frozen=True)
class Trial:
    """One training: a system, the settings that are tried, a seed."""

    system: str
    name: str
    seed: int
    model: str
    settings: dict[str, Any]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.system, self.name, self.seed

    def argv(self, folder: Path) -> list[str]:
        """The arguments of `attention-zoo train`."""
        flags = {**self.settings, "seed": self.seed, "output_dir": folder, "disable_tqdm": True}
        return [self.model, *flags_of(flags)]


def trials(protocol: dict[str, Any]) -> Iterator[Trial]:
    """All of a protocol, in its order; a trial may name seeds of its own."""
    for system, about in protocol["systems"].items():
        for name, own in about["trials"].items():
            settings = {**protocol.get("settings", {}), **about.get("settings", {}), **own}
            for seed in settings.pop("seeds", protocol["seeds"]):
                yield Trial(system, name, seed, about["model"], settings)


def fields_of(protocol: dict[str, Any]) -> tuple[str, ...]:
    """The columns of the table."""
    scores = [f"{split}_{score}" for split, listed in protocol["scores"].items() for score in listed]
    return (*ALWAYS[:-1], *scores, ALWAYS[-1])


def row_of(trial: Trial, protocol: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train, if that is not done, and score.

    Raises:
        SystemExit: the protocol would score the test split.
    """
    from hf_attention_zoo.folders.card_text import measured
    from hf_attention_zoo.tasks.table import task_for

    if "test" in protocol["scores"]:
        raise SystemExit("trials are chosen on the validation split; leave the test split out of `scores`")
    noted = shlex.join(["attention-zoo", "train", *trial.argv(Path(folder.name))])  # as a reader would type it
    facts = trained(trial.argv(folder), folder, noted)
    task, found = task_for(folder), {}
    for split, listed in protocol["scores"].items():
        with tempfile.TemporaryDirectory() as scratch:
            results = task.evaluate(folder, split=split, output=Path(scratch) / "metrics.json")["results"]
        found |= {f"{split}_{score}": measured(results[score])[0] for score in listed}
    drop_checkpoints(folder)
    kept = {name: facts[name] for name in ("parameters", "seconds", "hardware")}
    return {
        "system": trial.system,
        "trial": trial.name,
        "seed": trial.seed,
        "epochs": round(facts["epochs"], 2),
        **kept,
        **found,
    }


def run_all(protocol_file: Path, work: Path, only: str) -> None:
    """Every trial that has no row yet and whose system or name has the word `only`."""
    protocol, kept = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    finished = {(row["system"], row["trial"], int(row["seed"])) for row in read_rows(kept)}
    for trial in trials(protocol):
        if trial.key not in finished and only in f"{trial.system} {trial.name}":
            row = row_of(trial, protocol, work / protocol_file.stem / folder_name(*trial.key))
            append_row(kept, row, fields_of(protocol))
            print(row, flush=True)


def table(protocol_file: Path) -> str:
    """The rows as Markdown, in the protocol's order."""
    protocol = read_protocol(protocol_file)
    order = [trial.key for trial in trials(protocol)]
    rows = sorted(rows_of(protocol_file), key=lambda row: order.index((row["system"], row["trial"], int(row["seed"]))))
    shown = [name for name in fields_of(protocol) if name != "hardware"]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in shown) + " |", "|" + "---|" * len(shown)]
    lines += ["| " + " | ".join(row[name] for name in shown) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("protocol", type=Path)
    parser.add_argument("--work_dir", type=Path, default=Path("runs/trials"))
    parser.add_argument("--only", default="", help="trials whose system or name has this word")
    options = parser.parse_args()
    if options.command == "run":
        run_all(options.protocol, options.work_dir, options.only)
    text = table(options.protocol)
    options.protocol.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
