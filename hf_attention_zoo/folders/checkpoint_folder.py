"""What a saved checkpoint folder must hold before it may leave the machine, and which of its files go along."""

import fnmatch
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.privacy import private_parts, public_facts
from hf_attention_zoo.folders.wholeness import check_whole
from hf_attention_zoo.near_names import did_you_mean_folder

PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle", "*.joblib")
"""Formats whose loading can run foreign code. They are never published."""

TRAINING_LEFTOVERS = (
    "training_args.bin",
    "trainer_state.json",
    "checkpoint.json",
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

TRAINING_FOLDERS = ("checkpoint-*", "replaced_run*", "encoded_text", "runs", "logs", "__pycache__")

RECORDS = frozenset({"training.json", "metrics.json"})
"""What training and evaluation wrote down: it is sent without the machine's folders."""

LARGEST_HEADER = 100_000_000
"""Bytes of the longest header that safetensors allows."""


def required_json(path: Path) -> dict[str, Any]:
    """One JSON object from a file. Broken or wrongly shaped files raise a ValueError that names the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON ({error}). Write it again or delete it.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}; a JSON object {{...}} is needed.")
    return content


def require_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder as a path, with a config.json that names a model type; otherwise a ValueError."""
    path = Path(folder)
    if not path.is_dir():
        raise ValueError(
            f"{path} is not a folder{did_you_mean_folder(path)}. Give the folder that `save_pretrained` or "
            "`attention-zoo train` wrote."
        )
    if not (path / "config.json").is_file():
        raise ValueError(
            f"{path} has no config.json, so it is no saved checkpoint. Save model and tokenizer there with "
            "`save_pretrained`, or give the folder that training wrote."
        )
    if not isinstance(required_json(path / "config.json").get("model_type"), str):
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
    check_whole(path)
    files = {str(name) for name in published_files(path)}
    if "model.safetensors" not in files and "model.safetensors.index.json" not in files:
        raise ValueError(
            f"{path} has no model.safetensors. Save the model there with `model.save_pretrained({str(path)!r})`."
        )
    if "model.safetensors.index.json" in files:
        shards = set(required_json(path / "model.safetensors.index.json").get("weight_map", {}).values())
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
        raise ValueError(f"{path} exists and is not an empty folder; choose another name")
    file = next((above for above in path.parents if above.exists() and not above.is_dir()), None)
    if file is not None:
        raise ValueError(f"{path} cannot be made, as {file} is a file; choose another name")
    return path


def sent_content(path: Path) -> bytes:
    """What is sent of a file: all of it, and of a record what may be public."""
    if path.name in RECORDS and (written := required_json(path)) != (public := public_facts(written)):
        return (json.dumps(public, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
    return path.read_bytes()


def copy_files(source: Path, target: Path, names: Iterable[Path]) -> None:
    """Copy files by their paths relative to the folder, which both folders have in common then."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
        if name.name in RECORDS:
            (target / name).write_bytes(sent_content(source / name))


def check_nothing_private(folder: Path, files: Iterable[Path]) -> None:
    """Raises a ValueError if a file that is sent has an access token in it, or a folder of the machine's users.

    Of the weights the header is read; the words of a vocabulary may look like folders.
    """
    for name in files:
        path = folder / name
        target = path.resolve()
        if path.is_symlink() and not (target.is_relative_to(folder.resolve()) or "blobs" in target.parts):
            raise ValueError(f"{path} is a link to a file outside the folder; copy the file there if it is to be sent")
        if path.suffix == ".safetensors":
            with path.open("rb") as file:
                content = file.read(8 + min(int.from_bytes(file.read(8), "little"), LARGEST_HEADER))
        else:
            content = path.read_bytes()
        secret = next(private_parts(name, content), None)
        if secret is None or (not secret.is_secret and name.name in RECORDS):
            continue
        advice = "and revoke it if the file was ever shared" if secret.is_secret else "or name the place without it"
        raise ValueError(f"{path} contains {secret.said}. Take it out of the file, {advice}.")
