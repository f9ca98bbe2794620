"""What the comparisons share: a protocol in YAML, rows in the CSV file beside it, flags for one training, means."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import shutil
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml


def read_protocol(path: Path) -> dict[str, Any]:
    """The YAML file as a dict. Raises SystemExit if it is missing."""
    if not path.is_file():
        raise SystemExit(f"no such protocol: {path}")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of the results file, none if there is no file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_of(protocol_file: Path) -> list[dict[str, str]]:
    """Rows of the protocol's results file. Raises SystemExit if there are none."""
    rows = read_rows(protocol_file.with_suffix(".csv"))
    if not rows:
        raise SystemExit(f"no results in {protocol_file.with_suffix('.csv')}; make them with the command `run`")
    return rows


def append_row(path: Path, row: dict[str, Any], fields: Iterable[str]) -> None:
    """One more row; the file gets its header with the first."""
    append_rows(path, [row], fields)


def append_rows(path: Path, rows: Iterable[dict[str, Any]], fields: Iterable[str]) -> None:
    """More rows, written at once; the file gets its header with the first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    if not path.is_file():
        writer.writeheader()
    writer.writerows(rows)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())


def fingerprint(*settings: Any) -> str:
    """Twelve hexadecimal digits that differ where the settings do."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:12]


def check_settings(name: str, place: Path, found: str | None, wanted: str) -> None:
    """Raises SystemExit if what lies at `place` was made with other settings than those wanted now."""
    if found != wanted:
        raise SystemExit(
            f"{place}: {name} was made with other settings ({found}) than the protocol has now ({wanted}); "
            "delete what is there to make it again, or go back to the protocol that it was made with"
        )


def folder_name(*parts: Any) -> str:
    """A name for a run's folder: letters, digits and hyphens of the parts, joined by underscores."""
    spaced = ("".join(letter if letter.isalnum() or letter in "-_" else " " for letter in str(part)) for part in parts)
    return "_".join(word for part in spaced for word in part.split())


def flags_of(settings: dict[str, Any]) -> list[str]:
    """Settings as flags of `attention-zoo train`; None is left out."""
    return [
        word
        for name, value in settings.items()
        if value is not None
        for word in (f"--{name}", str(value).lower() if isinstance(value, bool) else str(value))
    ]


def trained(flags: list[str], folder: Path, command: str) -> dict[str, Any]:
    """Train, or take what is finished: what training.json says.

    Args:
        flags: arguments of `attention-zoo train`, with `folder` as its output.
        command: what is noted as the command that was used.
    """
    if not (folder / "training.json").is_file():
        from hf_attention_zoo.tasks.train import run_training
        from hf_attention_zoo.training.run_plan import parse_run

        run_training(parse_run(flags, command=command))
    facts: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return facts


def protocol_command(
    about: str,
    run: Callable[[Path, Path, str | None, int | None], None],
    showing: tuple[str, Callable[[Path], None]],
    said: tuple[str, str, str],
) -> int:
    """The command line of a comparison: `run` with its protocol, and a second command that reads its rows alone.

    Args:
        about: the script's docstring.
        run: takes protocol, work folder, the only model and the most runs.
        showing: the second command's name, and what takes its protocol.
        said: what `run` does, what one of its runs is called in plural, what the second command does.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help=said[0])
    running.add_argument("protocol", type=Path)
    running.add_argument("--work_dir", type=Path, required=True, help="folder for pairs, tokenizers and models")
    running.add_argument("--only", help=f"only {said[1]} of this model")
    running.add_argument("--limit", type=int, help=f"at most so many {said[1]}")
    commands.add_parser(showing[0], help=said[2]).add_argument("protocol", type=Path)
    options = parser.parse_args()
    if options.command == "run":
        run(options.protocol, options.work_dir, options.only, options.limit)
    else:
        showing[1](options.protocol)
    return 0


def allow_again(parser: argparse.ArgumentParser) -> None:
    """Adds `--again`, with which a published folder is made from a comparison whose rows are kept."""
    parser.add_argument(
        "--again", action="store_true", help="train what has a row, too, where its folder is not there; rows stay"
    )


def drop_checkpoints(folder: Path) -> None:
    """Delete the states of a training that is finished and scored."""
    for checkpoint in folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)


def mean_and_spread(rows: list[dict[str, str]], field: str, digits: int = 1) -> str:
    """Mean and, of several seeds, the sample standard deviation; a dash where there is nothing."""
    values = [float(row[field]) for row in rows if row[field]]
    if not values:
        return "-"
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"
