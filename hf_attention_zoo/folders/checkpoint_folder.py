"""What a saved checkpoint folder must hold before it may leave the machine, and which of its files go along."""

import fnmatch
import json
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.joblib")
"""Formats whose loading can run foreign code. They are never published."""

TRAINING_LEFTOVERS = (
    "training_args.bin",
    "trainer_state.json",
    "run.json",
    "optimizer.pt",
    "optimizer.bin",
    "scheduler.pt",
    "scaler.pt",
    "rng_state*.pth",
    "carried_state_*.safetensors",
    "events.out.tfevents.*",
    "*.lock",
    "*.tmp",
)
"""Files a Trainer leaves in its output folder that say nothing about the model: passed over."""

TRAINING_FOLDERS = ("checkpoint-*", "runs", "logs", "__pycache__")

TOKEN = re.compile(r"hf_[A-Za-z0-9]{20,}")
"""The form of a Hub access token."""

TEXT_FILES = frozenset({".json", ".md", ".yaml", ".yml", ".txt", ".py", ".csv"})

LARGEST_TEXT = 2_000_000
"""Bytes of a text file that are searched for tokens; longer ones are vocabularies."""


def read_json(path: Path) -> dict[str, Any]:
    """One JSON object from a file. Broken or wrongly shaped files raise a ValueError that names the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid JSON ({error}). Write it again or delete it.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}; a JSON object {{...}} is needed.")
    return content


def require_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder as a path, with a config.json that names a model type; otherwise a ValueError."""
    path = Path(folder)
    if not path.is_dir():
        raise ValueError(
            f"{path} is not a folder. Give the folder that `save_pretrained` or `attention-zoo train` wrote."
        )
    if not (path / "config.json").is_file():
        raise ValueError(
            f"{path} has no config.json, so it is no saved checkpoint. Save model and tokenizer there with "
            "`save_pretrained`, or give the folder that training wrote."
        )
    if not isinstance(read_json(path / "config.json").get("model_type"), str):
        raise ValueError(f"{path / 'config.json'} has no `model_type`. Save the model again with `save_pretrained`.")
    return path


def published_files(folder: Path) -> list[Path]:
    """Every file that belongs to the checkpoint, as sorted paths relative to the folder.

    Hidden files, earlier checkpoints, logs and the Trainer's own state stay behind. Pickled weights raise.
    """
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not any(fnmatch.fnmatch(name, pattern) for pattern in TRAINING_FOLDERS)
        )
        for name in names:
            leftover = any(fnmatch.fnmatch(name, pattern) for pattern in TRAINING_LEFTOVERS)
            if not leftover and (not name.startswith(".") or name == ".gitattributes"):
                found.append((Path(parent) / name).relative_to(folder))
    pickled = [str(path) for path in found if any(fnmatch.fnmatch(path.name.lower(), pattern) for pattern in PICKLED)]
    if pickled:
        raise ValueError(
            f"{folder} holds pickled files: {', '.join(sorted(pickled))}. Loading them can run foreign code, so only "
            "safetensors weights are published. Load the model, save it with `save_pretrained` and remove these files."
        )
    return sorted(found)


def check_checkpoint(folder: str | os.PathLike[str]) -> Path:
    """The folder as a path if model, weights and tokenizer (or processor) are complete; otherwise a ValueError."""
    path = require_folder(folder)
    files = {str(name) for name in published_files(path)}
    if "model.safetensors" not in files and "model.safetensors.index.json" not in files:
        raise ValueError(
            f"{path} has no model.safetensors. Save the model there with `model.save_pretrained({str(path)!r})`."
        )
    if "model.safetensors.index.json" in files:
        shards = set(read_json(path / "model.safetensors.index.json").get("weight_map", {}).values())
        if shards - files:
            raise ValueError(
                f"{path}: the weight files {', '.join(sorted(shards - files))} named in model.safetensors.index.json "
                "are missing. Copy them into the folder or save the model again."
            )
    if not files & {"tokenizer_config.json", "processor_config.json", "preprocessor_config.json"}:
        raise ValueError(
            f"{path} has no tokenizer_config.json (nor a processor's), so nobody could feed the model. Save the "
            f"tokenizer there with `tokenizer.save_pretrained({str(path)!r})`."
        )
    return path


def new_folder(out: str | os.PathLike[str]) -> Path:
    """Where something new may be written, as a path that is not made yet. Raises a ValueError if anything is there."""
    path = Path(out)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"{out} exists and is not an empty folder; choose another name")
    return path


def copy_files(source: Path, target: Path, names: Iterable[Path]) -> None:
    """Copy files by their paths relative to the folder, which both folders have in common then."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target / name)


def check_no_secrets(folder: Path, files: list[Path]) -> None:
    """Raises a ValueError if a text file contains something that looks like a Hub token."""
    for name in files:
        path = folder / name
        readable = path.suffix in TEXT_FILES and path.stat().st_size < LARGEST_TEXT
        if readable and TOKEN.search(path.read_text(encoding="utf-8", errors="replace")):
            raise ValueError(
                f"{path} contains what looks like an access token of the Hub (hf_...). Remove it from the file, and "
                "revoke the token if the file was ever shared."
            )
