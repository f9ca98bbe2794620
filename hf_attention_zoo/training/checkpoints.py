"""The checkpoints of a run: which files belong to them, and which are whole.

A checkpoint lists its files with their checksums in checkpoint.json, which is written last. Those of earlier releases,
and one whose process was killed before that file, are judged by what is in them.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from hf_attention_zoo.whole_files import checksum, json_if_any, write_json

MANIFEST = "checkpoint.json"
STATE = "trainer_state.json"
BEFORE = ".before"  # folder with a checkpoint that is being saved anew
ARGUMENTS = "training_args.bin"  # nothing is read from it
# What the Trainer writes into a checkpoint; other files in such a folder are somebody else's.
WRITTEN = re.compile(
    r"(model|adapter_model|carried_state_\d+_of_\d+)[-\w.]*\.safetensors|[\w.]*config\.json|\w*tokenizer\w*\.json"
    r"|model\.safetensors\.index\.json|(special_tokens_map|modules|config_sentence_transformers)\.json|vocab\.\w+|merges\.txt|added_tokens\.json"
    r"|(optimizer|scheduler|scaler|training_args|pytorch_model|rng_state)[-\w]*\.(pt|pth|bin)"
    r"|trainer_state\.json|checkpoint\.json|chat_template\.\w+|README\.md"
)
SHARDED = re.compile(r"(pytorch_model|optimizer|global_step)[_\w]*")  # folders of FSDP and DeepSpeed
WEIGHTS = re.compile(r"(model|adapter_model)[-\w]*\.safetensors|(pytorch_model|adapter_model)[-\w]*\.bin")


def checkpoint_step(checkpoint: Path) -> int:
    """The number in the folder's name."""
    return int(checkpoint.name.rpartition("-")[2])


def checkpoints(folder: str | Path) -> list[Path]:
    """The checkpoint folders, oldest step first."""
    found = [path for path in Path(folder).glob("checkpoint-*") if re.fullmatch(r"checkpoint-\d+", path.name)]
    return sorted((path for path in found if path.is_dir()), key=checkpoint_step)


def checkpoint_files(checkpoint: Path) -> list[Path]:
    """The files that a run wrote into a checkpoint; others in the folder are the user's."""
    listed = json_if_any(checkpoint / MANIFEST).get("files", {})
    found = []
    for path in sorted(checkpoint.rglob("*")):
        name = path.relative_to(checkpoint)
        written = WRITTEN.fullmatch(str(name)) if len(name.parts) == 1 else SHARDED.fullmatch(name.parts[0])
        if path.is_file() and (str(name) in listed or written):
            found.append(path)
    return found


def remove_checkpoint(checkpoint: Path) -> None:
    """Delete what a run wrote into a checkpoint, and the folder if nothing else is in it."""
    (checkpoint / STATE).unlink(missing_ok=True)  # first, so that half of a checkpoint is never taken for one
    for path in checkpoint_files(checkpoint):
        path.unlink(missing_ok=True)
    if not any(path.is_file() for path in checkpoint.rglob("*")):
        shutil.rmtree(checkpoint, ignore_errors=True)


def move_checkpoint(checkpoint: Path, target: Path) -> None:
    """Move what a run wrote into a checkpoint; the folder goes if nothing else is in it."""
    for path in checkpoint_files(checkpoint):
        place = target / path.relative_to(checkpoint)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
    if not any(path.is_file() for path in checkpoint.rglob("*")):
        shutil.rmtree(checkpoint, ignore_errors=True)


def set_aside(checkpoint: Path) -> None:
    """Keep a checkpoint while it is saved anew; `settle` ends that."""
    move_checkpoint(checkpoint, checkpoint.parent / BEFORE / checkpoint.name)


def settle(folder: Path) -> None:
    """Of checkpoints that were being saved anew, keep the new one if it is whole, else the old one."""
    for kept in (folder / BEFORE).glob("checkpoint-*"):
        saved = folder / kept.name
        if damage(saved) is not None:
            remove_checkpoint(saved)
            move_checkpoint(kept, saved)
    shutil.rmtree(folder / BEFORE, ignore_errors=True)


def write_manifest(checkpoint: Path, record: dict[str, Any], others: Iterable[Path] = ()) -> None:
    """Say that a checkpoint is complete, and what was trained.

    Args:
        others: files of the user's in the folder.
    """
    left_out = {*others, *(checkpoint / name for name in (ARGUMENTS, MANIFEST, STATE))}
    files = [path for path in sorted(checkpoint.rglob("*")) if path.is_file() and path not in left_out]
    listed = {str(path.relative_to(checkpoint)): checksum(path) for path in files}
    write_json(checkpoint / MANIFEST, {**record, "files": listed})


def damage(checkpoint: str | Path, *, weights_only: bool = False) -> str | None:
    """What is wrong with a checkpoint, in words; None if it is whole.

    Args:
        weights_only: nothing is asked of optimiser, schedule and random numbers.
    """
    folder = Path(checkpoint)
    if "global_step" not in json_if_any(folder / STATE):
        return f"it has no readable {STATE}"
    listed = json_if_any(folder / MANIFEST).get("files")
    try:
        found = _unlisted_damage(folder) if listed is None else _listed_damage(folder, listed, weights_only)
        return found or _missing(folder, weights_only)
    except FileNotFoundError:  # a run at work deletes its older ones
        return "it is being deleted"


def _unlisted_damage(folder: Path) -> str | None:
    found = next(filter(None, (_file_damage(path) for path in checkpoint_files(folder))), None)
    if found is None and (folder / "rng_state_0.pth").exists() and any(folder.parent.glob(f"*/{MANIFEST}")):
        return "not all processes had written their part"
    return found


def _listed_damage(folder: Path, listed: dict[str, str], weights_only: bool) -> str | None:
    for name, known in listed.items():
        if weights_only and not WEIGHTS.fullmatch(name):
            continue
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        wanted = int(known.partition("-")[0])
        if path.stat().st_size != wanted:
            return f"{name} has {path.stat().st_size:,} bytes of {wanted:,}"
        if checksum(path) != known:
            return f"{name} is not what was written"
    return None


def _file_damage(path: Path) -> str | None:
    """A file that was cut off, told by its own format."""
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, framework="pt"):
                return None
        except (SafetensorError, OSError):
            return f"{path.name} is cut off"
    if (
        path.suffix in (".pt", ".pth", ".bin")
        and path.name != ARGUMENTS
        and path.parent.name.startswith("checkpoint-")
    ):
        try:
            with zipfile.ZipFile(path) as parts:
                return None if parts.testzip() is None else f"{path.name} is damaged"
        except (zipfile.BadZipFile, OSError, EOFError):
            return f"{path.name} is cut off"
    if path.suffix == ".json":
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return f"{path.name} is cut off"
    return None


def _missing(folder: Path, weights_only: bool) -> str | None:
    """A part without which a run cannot go on to the same weights."""
    names = [path.name for path in folder.iterdir()]
    sharded = any(path.is_dir() and SHARDED.fullmatch(path.name) for path in folder.iterdir())
    if not sharded and not any(WEIGHTS.fullmatch(name) for name in names):
        return "it has no weights"
    index = json_if_any(folder / "model.safetensors.index.json").get("weight_map", {})
    lost = sorted(set(index.values()) - set(names))
    if lost:
        return f"{lost[0]} is missing"
    if weights_only or sharded:
        return None
    for said, start in (("optimiser's state", "optimizer"), ("schedule", "scheduler"), ("random state", "rng_state")):
        if not any(name.startswith(start) for name in names):
            return f"it has no {said}"
    return None


def whole_checkpoints(folder: str | Path) -> list[Path]:
    """The checkpoints whose weights are whole, oldest step first."""
    return [path for path, wrong in examined_checkpoints(folder).items() if wrong is None]


def examined_checkpoints(folder: str | Path) -> dict[Path, str | None]:
    """All checkpoints, oldest step first, and what is wrong with the weights of each; their files are read for it."""
    return {path: damage(path, weights_only=True) for path in checkpoints(folder)}


def last_whole_checkpoint(folder: str | Path) -> Path | None:
    """The newest checkpoint that a run can go on from."""
    return newest_whole(folder)[0]


def newest_whole(folder: str | Path, averaged: int = 1) -> tuple[Path | None, list[str]]:
    """The newest checkpoint from which a run goes on to the same result, and what is wrong with each newer one.

    Args:
        averaged: so many last checkpoints are averaged in the end, so those before it must be whole, too.
    """
    found = checkpoints(folder)
    passed: list[str] = []
    for place in reversed(range(len(found))):
        wrong = damage(found[place]) or best_damage(found[place])
        for before in found[max(0, place + 1 - averaged) : place]:
            if wrong is None and (other := damage(before, weights_only=True)):
                wrong = f"{before.name}, with which it would be averaged, is damaged: {other}"
        if wrong is None:
            return found[place], passed
        passed.append(f"{found[place].name}: {wrong}")
    return None, passed


def best_damage(checkpoint: Path) -> str | None:
    """What is wrong with the checkpoint that was the best so far, which may become the final model."""
    state = json_if_any(checkpoint / STATE)
    if state.get("best_model_checkpoint") is None:
        return None
    best = best_checkpoint(checkpoint, state)
    wrong = damage(best, weights_only=True)
    return f"{best.name}, the best so far, is damaged: {wrong}" if wrong else None


def best_checkpoint(checkpoint: Path, state: dict[str, Any]) -> Path:
    """The best checkpoint so far: beside this one, wherever the folder was moved to, or where it was."""
    named = Path(state["best_model_checkpoint"])
    beside = checkpoint.parent / named.name
    return beside if beside.is_dir() or not named.is_dir() else named
