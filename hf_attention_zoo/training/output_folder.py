"""The folder of a training run: is a run in it, is it finished, and from which checkpoint does it go on?

`run.json` is written when a run starts and says what it was started with; `training.json` is written last of all, so
a folder with the first and not the second holds an unfinished run. A checkpoint counts only if it is whole: a process
that is killed while it saves leaves a folder without a readable trainer_state.json.
"""

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.samples import is_sample
from hf_attention_zoo.folders.privacy import PLACES, path_of_place, place_from

RUN_FILE = "run.json"
FACTS_FILE = "training.json"
# What a run leaves behind and `overwrite_output_dir` may delete; other files of the user stay.
RUN_LEFTOVERS = (
    RUN_FILE,
    FACTS_FILE,
    "metrics.json",
    "README.md",
    "alignment.png",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "target_tokenizer.json",
    "special_tokens_map.json",
    "processor_config.json",
    "preprocessor_config.json",
    "training_args.bin",
    "trainer_state.json",
)


class TrainingStopped(Exception):
    """Training was asked to stop and saved a checkpoint; the same command goes on from it."""

    def __init__(self, step: int, output_dir: str) -> None:
        super().__init__(f"stopped at step {step}; the same command goes on from there ({output_dir})")
        self.step = step
        self.output_dir = output_dir


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoint folders, oldest step first."""
    found = [
        (int(match.group(1)), path)
        for path in folder.glob("checkpoint-*")
        if (match := re.fullmatch(r"checkpoint-(\d+)", path.name)) and path.is_dir()
    ]
    return [path for _, path in sorted(found)]


def is_whole(checkpoint: Path) -> bool:
    """Whether everything was written: the trainer's state is, and it is the last file to be saved."""
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(state, dict) and "global_step" in state


def whole_checkpoints(folder: str | Path) -> list[Path]:
    """The checkpoints that can be resumed from, oldest step first."""
    return [path for path in checkpoints(Path(folder)) if is_whole(path)]


def last_whole_checkpoint(folder: str | Path) -> Path | None:
    """The newest checkpoint that can be resumed from."""
    return next(reversed(whole_checkpoints(folder)), None)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty if there is no such file or it is broken."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file so that it is either there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8")
    unfinished.replace(path)


def places_of(data: Any, folder: str | Path) -> dict[str, str]:
    """Where the local files and folders that a run's data arguments name are, as ways from the run's folder."""
    places = {}
    for item in dataclasses.fields(data):
        named = getattr(data, item.name)
        if isinstance(named, str) and not is_sample(named) and Path(named).expanduser().exists():
            place = place_from(folder, named)
            if place is not None:
                places[item.name] = place
    return places


def recorded_arguments(folder: str | Path) -> dict[str, Any]:
    """The arguments of the run that made a folder, by its training.json; its data as paths.

    training.json names no folders of the machine, but how to come from the run to its data.
    """
    facts = read_json(Path(folder) / FACTS_FILE)
    arguments, places = facts.get("arguments"), facts.get(PLACES)
    found = dict(arguments) if isinstance(arguments, dict) else {}
    for name, place in places.items() if isinstance(places, dict) else ():
        path = path_of_place(folder, str(place))
        if path.exists() or not Path(str(found.get(name))).exists():
            found[name] = str(path)
    return found


def clear(folder: Path) -> None:
    """Delete what an earlier run left, checkpoints included; nothing else."""
    for path in checkpoints(folder):
        shutil.rmtree(path)
    for name in RUN_LEFTOVERS:
        (folder / name).unlink(missing_ok=True)


def differences(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """Readable list of the entries in which two fingerprints differ."""
    found = []
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append(f"{prefix}{name}: {old!r} then, {new!r} now")
    return found


def filled(before: dict[str, Any], unsaid: dict[str, Any]) -> dict[str, Any]:
    """A fingerprint with the values of what was not yet noted when it was written."""
    return {
        name: filled(before.get(name, {}), value) if isinstance(value, dict) else before.get(name, value)
        for name, value in {**before, **unsaid}.items()
    }


def where_to_resume(
    folder: str | Path,
    fingerprint: dict[str, Any],
    *,
    unsaid: dict[str, Any] | None = None,
    resume_from_checkpoint: str | bool | None = None,
    auto_resume: bool = True,
    overwrite: bool = False,
) -> Path | None:
    """The checkpoint that a run in `folder` goes on from; None for a fresh start.

    `unsaid` has the values that stood before there was a setting for them: a run that was begun under an earlier
    release goes on where a later one has more settings, unless they are given.

    Raises ValueError if the folder holds a finished run, if an unfinished one was started with other settings, or if
    the checkpoint that was asked for is not there or not whole.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output_dir {folder} is a file; choose another name")
    wanted = str(resume_from_checkpoint) if resume_from_checkpoint is not None else "false"
    if wanted.lower() not in ("false", "true", "none"):
        checkpoint = Path(wanted)
        if not is_whole(checkpoint):
            raise ValueError(f"{checkpoint} is no complete checkpoint (no readable trainer_state.json)")
        return checkpoint
    if overwrite:
        return None
    newest = last_whole_checkpoint(folder)
    if wanted.lower() == "true":
        if newest is None:
            raise ValueError(f"nothing to resume: {folder} holds no complete checkpoint")
        return newest
    if (folder / FACTS_FILE).is_file():
        raise ValueError(
            f"{folder} holds a finished run; choose another --output_dir, or give --overwrite_output_dir to replace "
            "it, or --resume_from_checkpoint to train it further"
        )
    if newest is None or not auto_resume:
        return None
    before = filled(read_json(folder / RUN_FILE).get("fingerprint", {}), unsaid or {})
    changed = differences(before, json.loads(json.dumps(fingerprint)))
    if changed:
        raise ValueError(
            f"{folder} holds an unfinished run that was started differently ({'; '.join(changed)}); start it as "
            "then to go on, or give --overwrite_output_dir to begin anew"
        )
    return newest
