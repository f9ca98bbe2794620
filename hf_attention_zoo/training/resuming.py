"""Where a run begins: anew, or from which checkpoint, and whether that was trained with the same settings and data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from accelerate.utils import broadcast_object_list
from safetensors import safe_open

from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.checkpoints import (
    MANIFEST,
    best_damage,
    checkpoint_files,
    checkpoint_step,
    damage,
    newest_whole,
    settle,
)
from hf_attention_zoo.training.fingerprint import FIXED, PLACES, data_contents, differences, filled
from hf_attention_zoo.training.output_folder import (
    CACHE_FOLDER,
    RUN_FILE,
    STARTING_FOLDER,
    FolderContents,
    check_is_folder,
    check_output_folder,
    put_back,
    sole_run,
)
from hf_attention_zoo.whole_files import is_write_error, json_if_any

if TYPE_CHECKING:
    from hf_attention_zoo.training.run_plan import RunPlan

T = TypeVar("T")


@dataclass
class Start:
    """How a run starts.

    Attributes:
        checkpoint: where it goes on from; None for a new run.
        changes: what was changed on purpose in the middle of the run, now and before, and after which step.
        said: lines for the user.
        changed_now: whether there is a new entry in `changes`.
        fingerprint: what the result depends on.
    """

    checkpoint: Path | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    changed_now: bool = False
    fingerprint: dict[str, Any] = field(default_factory=dict)


def decided_by_main(args: ZooTrainingArguments, decide: Callable[[], T]) -> T:
    """What the main process finds, or the error that it raises, in every process.

    The others would see a folder in which it has already begun to work.
    """
    found: list[Any] = [None, None]
    if args.process_index == 0:
        try:
            found[0] = decide()
        except (ValueError, OSError) as error:
            if args.world_size <= 1:
                raise
            found[1] = error
    if args.world_size > 1:
        broadcast_object_list(found)
    if found[1] is not None:
        raise found[1]
    return found[0]


@contextmanager
def own_folder(plan: RunPlan) -> Iterator[FolderContents]:
    """The output folder for this run alone, and what is in it.

    Raises:
        ValueError: another run is at work there, or it holds what must not be replaced.
    """
    args, folder = plan.training, plan.folder
    sources = {name: getattr(plan.model, name) for name in ("model", "tokenizer", "word_vectors")}

    encoded = (folder / CACHE_FOLDER).exists()

    def leave() -> None:  # what was made before the run began
        shutil.rmtree(folder / STARTING_FOLDER, ignore_errors=True)
        if not encoded and not (folder / RUN_FILE).exists():
            shutil.rmtree(folder / CACHE_FOLDER, ignore_errors=True)

    def enter() -> FolderContents:
        check_is_folder(folder)
        stack.enter_context(sole_run(folder))
        stack.callback(leave)
        put_back(folder)
        settle(folder)
        contents = FolderContents.of(folder)
        check_output_folder(folder, contents, sources)
        refuse_finished(folder, contents, args)
        return contents

    with ExitStack() as stack:
        yield decided_by_main(args, enter)


def start_of(plan: RunPlan, train: Any, validation: Any | None) -> Start:
    """How the run starts, from what its folder and its data are.

    Args:
        train, validation: the rows that the task loaded.

    Raises:
        ValueError: see `where_to_start`.
    """

    def decide() -> Start:
        contents = data_contents(train, validation, plan.training, plan.places())
        fingerprint = plan.fingerprint(contents)
        start = where_to_start(plan.folder, plan.training, fingerprint, plan.unsaid(contents))
        start.fingerprint = fingerprint
        return start

    return decided_by_main(plan.training, decide)


@contextmanager
def write_errors_said(folder: Path) -> Iterator[None]:
    """A full disk becomes an OSError with one line that says what is left and how to go on."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ValueError) or not is_write_error(error):
            raise
        left, _ = newest_whole(folder)
        onwards = "begins anew" if left is None else f"goes on from {left.name}"
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OSError(
            f"a file could not be written to its end, and what was in {folder} before is still there ({reason}); make "
            f"room, and the same command {onwards}"
        ) from error


def refuse_finished(folder: Path, contents: FolderContents, args: ZooTrainingArguments) -> None:
    """A finished run is not trained over by accident. Raises ValueError that says what to do instead."""
    wanted = _wanted(args)
    further = wanted == "true" or (wanted != "" and folder.resolve() in Path(wanted).resolve().parents)
    if contents.finished and not args.overwrite_output_dir and not further:
        raise ValueError(
            f"{folder} holds a finished run; choose another --output_dir, or give --overwrite_output_dir to replace "
            "it, or --resume_from_checkpoint True with more steps and --resume_changed to train it further"
        )


def _wanted(args: ZooTrainingArguments) -> str:
    """The checkpoint that was asked for: a path, "true" for the newest, "" for none in particular."""
    wanted = str(args.resume_from_checkpoint)
    return {"true": "true", "false": "", "none": ""}.get(wanted.lower(), wanted)


def where_to_start(
    folder: Path, args: ZooTrainingArguments, fingerprint: dict[str, Any], unsaid: dict[str, Any] | None = None
) -> Start:
    """How a run in `folder` starts.

    Args:
        unsaid: the values that stood before there was a setting for them: a run that was begun under an earlier
            release goes on where a later one has more settings, unless they are given.

    Raises:
        ValueError: the checkpoint was trained with other settings or data and that is not wanted, or cannot be; or
            the one that was asked for is damaged or not there.
    """
    wanted, averaged = _wanted(args), args.average_last_checkpoints or 1
    passed: list[str] = []
    found: Path | None
    if wanted not in ("", "true"):
        found = Path(wanted)
        wrong = damage(found) or best_damage(found)
        if wrong is not None:
            raise ValueError(f"{found} is no complete checkpoint: {wrong}; name another one")
    elif args.overwrite_output_dir or (not args.auto_resume and wanted == ""):
        return Start()
    else:
        found, passed = newest_whole(folder, averaged)
        if found is None and wanted == "true":
            raise ValueError(f"nothing to resume: {folder} holds no complete checkpoint{_reasons(passed)}")
    said = [f"passed over {reason}" for reason in passed]
    if found is None:
        return Start(said=said)

    manifest, run = json_if_any(found / MANIFEST), json_if_any(found.parent / RUN_FILE)
    start = Start(found, list(manifest.get("changes") or run.get("changes") or []), said)
    before = manifest.get("fingerprint") or run.get("fingerprint")
    if before is None:
        start.said.append(f"{found} does not say what it was trained with, so nothing is compared")
        return start
    before["data"] = {name: value for name, value in before.get("data", {}).items() if name not in PLACES}
    changed = differences(filled(before, unsaid or {}), json.loads(json.dumps(fingerprint)))
    if changed:
        _check_changes(found, folder, changed, args)
        start.changes.append({"after_step": checkpoint_step(found), "changed": changed})
        start.changed_now = True
    return start


def _reasons(passed: list[str]) -> str:
    return f" ({'; '.join(passed)})" if passed else ""


def _check_changes(checkpoint: Path, folder: Path, changed: list[str], args: ZooTrainingArguments) -> None:
    fixed = [one for one in changed if one.partition(":")[0].partition(".")[0] in FIXED]
    inside = folder.resolve() in checkpoint.resolve().parents
    said = f"{folder} holds a run" if inside else f"{checkpoint} comes from a run"
    ways = "start it as then to go on, "
    if not fixed:
        ways += "give --resume_changed to go on with what is new from there on, "
    if fixed or not args.resume_changed:
        raise ValueError(
            f"{said} that was started differently ({'; '.join(fixed if args.resume_changed else changed)}); {ways}or "
            "--overwrite_output_dir to begin anew"
        )


def check_weights_fit(model: Any, checkpoint: Path) -> None:
    """Compare the sizes of a model that was changed on purpose with the weights that it goes on from.

    Raises:
        ValueError: a tensor has another size, or is only in one of the two.
    """
    here = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    there: dict[str, tuple[int, ...]] = {}
    for path in checkpoint_files(checkpoint):
        if path.name.startswith("model") and path.suffix == ".safetensors":
            with safe_open(path, framework="pt") as file:
                there |= {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    wrong = sorted(name for name in {*here, *there} - tied if here.get(name) != there.get(name))
    if there and wrong:
        raise ValueError(
            f"{wrong[0]} is {there.get(wrong[0], 'not')} in {checkpoint} and {here.get(wrong[0], 'not')} in the "
            "model; sizes cannot be changed in the middle of a run"
        )
