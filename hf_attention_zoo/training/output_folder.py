"""The folder of a training run: what in it is whose, who writes it now, and how one run takes another's place.

`run.json` is written when a run starts and says what it was started with; `training.json` is written last of all, so
a folder with the first and not the second holds an unfinished run. Both list the files that the run wrote, with their
checksums: nothing else is ever moved or deleted. What a new run replaces moves aside and goes when that run is
finished. docs/output-folders.md says the same for users.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.samples import is_sample
from hf_attention_zoo.folders.privacy import place_from
from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.training.checkpoints import MANIFEST, checkpoint_files, checkpoint_step, checkpoints, damage
from hf_attention_zoo.whole_files import checksum, json_if_any, write_json

RUN_FILE = "run.json"
LOCK_FILE = "run.lock"
# Folders in the output folder: the tokenizer before the run has begun, the final files before they are whole, encoded
# text of a pre-training, and what the run replaces.
STARTING_FOLDER, FINAL_FOLDER, CACHE_FOLDER, REPLACED_FOLDER = ".starting", ".final", "encoded_text", "replaced_run"
# What runs wrote before they listed their files.
UNLISTED = (
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
# What every run writes in the end: files of these names must not be another's.
ALWAYS_WRITTEN = ("config.json", "generation_config.json", "model.safetensors", "tokenizer_config.json")
SHOWN = 3


class TrainingStopped(Exception):
    """Training was asked to stop and saved a checkpoint; the same command goes on from it."""

    def __init__(self, step: int, output_dir: str) -> None:
        super().__init__(f"stopped at step {step}; the same command goes on from there ({output_dir})")
        self.step = step
        self.output_dir = output_dir


@dataclass
class FolderContents:
    """What is in an output folder.

    Attributes:
        finished, unfinished: which kind of run of ours is in it; neither in a new folder.
        files: files that the run wrote, and their checksums; None for those of earlier releases.
        changed: listed files that another has written anew since.
        others: names of what no run wrote, hidden files aside.
        replaced: folders with what an unfinished run replaces.
    """

    finished: bool = False
    unfinished: bool = False
    files: dict[str, str | None] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> FolderContents:
        """Look into a folder, which need not be there."""
        if not folder.is_dir():
            return cls()
        facts, run = json_if_any(folder / FACTS_FILE), json_if_any(folder / RUN_FILE)
        finished, unfinished = "architecture" in facts, "fingerprint" in run
        listed = {**facts.get("files", {}), **run.get("files", {})}
        if not listed and (finished or (unfinished and "files" not in run)):
            listed = dict.fromkeys(UNLISTED)
        saved = [json_if_any(path / MANIFEST).get("files", {}) for path in checkpoints(folder)]
        if not (finished or unfinished) and any(saved):  # both records are lost, but not those of the checkpoints
            unfinished, listed = True, dict.fromkeys(name for names in saved for name in names)
        files = {name: known for name, known in listed.items() if (folder / name).is_file()}
        changed = [name for name, known in files.items() if known is not None and checksum(folder / name) != known]
        mine = {*files, LOCK_FILE, *run.get("replaced", [])}
        if finished:
            mine.add(FACTS_FILE)
        if unfinished:
            mine.add(RUN_FILE)
        if finished or unfinished:
            mine |= {path.name for path in checkpoints(folder)}
        if is_encoded_text(folder / CACHE_FOLDER):
            mine.add(CACHE_FOLDER)
        others = sorted(
            path.name for path in folder.iterdir() if path.name not in mine and not path.name.startswith(".")
        )
        return cls(finished, unfinished, files, changed, others, run.get("replaced", []))


def is_encoded_text(folder: Path) -> bool:
    """Whether a folder has nothing but the files of encoded text."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
    return all(name.endswith((".bin", ".tmp")) or name in ("store.json", "words.json") for name in names)


def check_is_folder(folder: Path) -> None:
    """Raises ValueError if a file has the folder's name."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output_dir {folder} is a file; choose another name")


def check_output_folder(folder: Path, contents: FolderContents, sources: dict[str, str | None]) -> None:
    """Refuse what a run would destroy, whatever the user's flags say.

    Args:
        sources: flags that name a folder to load from, and that folder.

    Raises:
        ValueError: the folder is or holds one of the sources, or has files in it that no run wrote.
    """
    place = folder.resolve()
    for flag, source in sources.items():
        if source is not None and Path(source).exists() and place in (Path(source).resolve(), *_above(source)):
            raise ValueError(
                f"--{flag} {source} lies in --output_dir {folder}, where the new model would take its place; choose "
                "another --output_dir"
            )
    if contents.changed:
        raise ValueError(
            f"{_shown(contents.changed)} in {folder} were written anew since the run that is there wrote them; move "
            "them away, or choose another --output_dir"
        )
    in_the_way = contents.others
    if contents.finished or contents.unfinished:  # the user's notes beside a run stay where they are
        in_the_way = [name for name in contents.others if name in (*ALWAYS_WRITTEN, FACTS_FILE, RUN_FILE)]
    if in_the_way:
        raise ValueError(
            f"{folder} holds what no training run wrote ({_shown(in_the_way)}); choose a new or empty folder as "
            "--output_dir"
        )


def _above(path: str) -> tuple[Path, ...]:
    return tuple(Path(path).resolve().parents)


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


@contextmanager
def sole_run(folder: Path) -> Iterator[None]:
    """No second run in the folder while the block runs; the lock dies with its process.

    A folder that is new and still empty in the end goes again.

    Raises:
        ValueError: a run is at work in the folder.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    refusal = f"another run is at work in {folder}; wait for it, or choose another --output_dir"
    try:
        with locked(folder / LOCK_FILE, refusal):
            yield
    finally:
        for path in made:
            if not any(path.iterdir()):
                path.rmdir()


_held: set[Path] = set()


@contextmanager
def locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold a file that only one process, and only once, can hold at a time; ValueError with `refusal` otherwise."""
    import fcntl  # where there is none, there is no training by this command either

    place = path.resolve()
    if place in _held:
        raise ValueError(refusal)
    with place.open("a+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock, not handed on to loading workers
        except OSError as error:
            raise ValueError(refusal) from error
        if not place.exists() or os.fstat(file.fileno()).st_ino != place.stat().st_ino:
            raise ValueError(refusal)  # its holder ended at this moment
        _held.add(place)
        try:
            yield
        finally:
            _held.discard(place)
            place.unlink(missing_ok=True)


class RunInFolder:
    """A run that has begun in its folder: what it put aside, and how its files get to their places.

    Args:
        folder: the output folder, which the run has for itself.
        record: what run.json says of the run beside its files.
    """

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self.record = record
        self.moved: Path | None = None

    def begin(self, contents: FolderContents, resume: Path | None) -> None:
        """Put aside what the run replaces, and write run.json. Nothing was changed in the folder before.

        Checkpoints up to the one that the run goes on from stay.
        """
        before = json_if_any(self.folder / RUN_FILE)
        self.record |= {"files": {}, "replaced": list(contents.replaced), "before": before or None}
        aside = _free(self.folder / REPLACED_FOLDER)
        step = -1 if resume is None else checkpoint_step(resume)
        names = [*contents.files, *([FACTS_FILE] if contents.finished else [])]
        late = [path for path in checkpoints(self.folder) if checkpoint_step(path) > step]
        names += [str(name.relative_to(self.folder)) for path in late for name in checkpoint_files(path)]
        if names:
            self.record["replaced"].append(aside.name)
        self.write(moving=aside.name if names else None)
        for name in names:
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).rename(aside / name)
        for path in late:
            _remove_empty(path)
        self.moved = aside if names else None
        self.write(moving=None)

    def write(self, **more: Any) -> None:
        """Write run.json."""
        self.record.update(more)
        write_json(self.folder / RUN_FILE, self.record)

    def give_back(self) -> None:
        """Put what was replaced back where it was: the run failed before it had anything of its own."""
        if self.moved is not None:
            put_back(self.folder, self.moved)

    def place_final(self, made: Path) -> None:
        """Move the files of the finished model, which are whole in `made`, to their places."""
        names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
        self.write(files={name: checksum(made / name) for name in names})
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).replace(self.folder / name)
        shutil.rmtree(made)

    def finish(self, facts: dict[str, Any]) -> None:
        """Write training.json, which makes the run a finished one, and delete what it replaced."""
        write_json(self.folder / FACTS_FILE, {**facts, "files": self.record["files"]})
        for name in self.record["replaced"]:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / RUN_FILE).unlink(missing_ok=True)

    def has_something(self, start: Path | None) -> bool:
        """Whether there is a whole checkpoint that this run made."""
        begun = -1 if start is None else checkpoint_step(start)
        return any(checkpoint_step(path) > begun and damage(path) is None for path in checkpoints(self.folder))


def put_back(folder: Path, aside: Path | None = None) -> None:
    """Undo what a run began in a folder, or what it was about to do when its process was killed; else nothing."""
    run = json_if_any(folder / RUN_FILE)
    if aside is None and run.get("moving"):
        aside = folder / run["moving"]
    if aside is None:
        return
    for path in sorted(aside.rglob("*")):
        if path.is_file():
            place = folder / path.relative_to(aside)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
    shutil.rmtree(aside, ignore_errors=True)
    if run.get("before"):
        write_json(folder / RUN_FILE, run["before"])
    else:
        (folder / RUN_FILE).unlink(missing_ok=True)


def places_of(data: Any, folder: str | Path) -> dict[str, str]:
    """Where the local files and folders that a run's data arguments name are, as ways from the run's folder."""
    places = {}
    for item in fields(data):
        named = getattr(data, item.name)
        if isinstance(named, str) and not is_sample(named) and Path(named).expanduser().exists():
            place = place_from(folder, named)
            if place is not None:
                places[item.name] = place
    return places


def _free(path: Path) -> Path:
    """The path, or with a number behind it if it is taken."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def _remove_empty(folder: Path) -> None:
    """Remove a folder and those in it if no file is left."""
    if folder.is_dir() and not any(path.is_file() for path in folder.rglob("*")):
        shutil.rmtree(folder)
