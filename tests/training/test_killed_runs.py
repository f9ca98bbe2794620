"""A run that is killed anywhere, or whose newest checkpoint is damaged: the rerun ends as the undisturbed run did."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from run_kinds import KINDS, STEPS, Killed, command, killed_at, run, same_weights
from training_runs import StopAt

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.training import resumable_trainer
from hf_attention_zoo.training.checkpoints import damage, last_whole_checkpoint, newest_whole
from hf_attention_zoo.training.output_folder import RunInFolder, TrainingStopped
from hf_attention_zoo.training.resumable_trainer import ResumableTrainer

SCRIPT = Path(__file__).parents[2] / "scripts" / "train.py"

# When the process dies: what is called at that moment, for which time in the run.
KILLS: dict[str, tuple[Any, str, int]] = {
    "before the first checkpoint": (ResumableTrainer, "_save_checkpoint", 1),
    "behind the weights of the first checkpoint": (ResumableTrainer, "_save_optimizer_and_scheduler", 1),
    "behind the optimiser of the last checkpoint": (ResumableTrainer, "_save_rng_state", 2),
    "behind the state of the last checkpoint": (resumable_trainer, "write_manifest", 2),
    "behind the last checkpoint": (ResumableTrainer, "_finalize_training", 1),
    "in the final save": (RunInFolder, "place_final", 1),
    "among the final files": (Path, "replace", 7),
    "before training.json": (RunInFolder, "finish", 1),
}
EARLY_STOPPING = (
    *("--eval_strategy", "steps", "--eval_steps", "1", "--save_steps", "1", "--max_steps", "12"),
    *("--load_best_model_at_end", "True", "--early_stopping_patience", "2", "--early_stopping_threshold", "1000"),
)


def history(folder: Path, name: str = "loss") -> list[tuple[int, float]]:
    """(step, number) of the log of a run's newest checkpoint."""
    checkpoint = last_whole_checkpoint(folder)
    assert checkpoint is not None
    entries = json.loads((checkpoint / "trainer_state.json").read_text())["log_history"]
    return [(entry["step"], entry[name]) for entry in entries if name in entry]


def facts(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "training.json").read_text())


def validation(folder: Path) -> dict[str, float]:
    """The numbers of a finished run's validation that are no times."""
    found = facts(folder).get("validation", {})
    return {name: value for name, value in found.items() if "second" not in name and name != "runtime"}


def check_killed(kind: str, moment: str, data: Path, whole: Path, out: Path, *more: str) -> None:
    """Kill a run at a moment, start it again, and compare it with the undisturbed one."""
    target, name, call = KILLS[moment]
    with killed_at(target, name, call=call), pytest.raises(Killed):
        run(kind, data, out, *more)
    assert not (out / "training.json").exists()
    run(kind, data, out, *more)
    assert facts(out)["steps"] == facts(whole)["steps"]
    assert validation(out) == validation(whole)
    assert history(out) == history(whole)
    assert same_weights(out, whole)
    assert not (out / "run.json").exists() and not (out / ".final").exists()


@pytest.mark.parametrize("moment", KILLS)
def test_a_run_that_is_killed_at_any_moment_ends_as_if_it_were_not(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path, moment: str
) -> None:
    check_killed("labels", moment, all_data["labels"], undisturbed("labels"), tmp_path / "run")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "labels"])
def test_every_kind_of_run_that_is_killed_behind_its_last_checkpoint_trains_no_step_more(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path, kind: str
) -> None:
    check_killed(kind, "behind the last checkpoint", all_data[kind], undisturbed(kind), tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("moment", KILLS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "labels"])
def test_every_kind_of_run_that_is_killed_at_any_moment_ends_as_if_it_were_not(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path, kind: str, moment: str
) -> None:
    check_killed(kind, moment, all_data[kind], undisturbed(kind), tmp_path / "run")


def check_early_stopping(kind: str, moment: str, data: Path, whole: Path, out: Path) -> None:
    assert facts(whole)["steps"] < 12
    check_killed(kind, moment, data, whole, out, *EARLY_STOPPING)


@pytest.mark.parametrize("moment", ["behind the last checkpoint", "in the final save", "before training.json"])
def test_early_stopping_survives_a_kill_behind_its_last_step(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path, moment: str
) -> None:
    whole = undisturbed("labels", *EARLY_STOPPING)
    check_early_stopping("labels", moment, all_data["labels"], whole, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "labels"])
def test_early_stopping_of_every_kind_survives_a_kill_in_its_last_save(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path, kind: str
) -> None:
    whole = undisturbed(kind, *EARLY_STOPPING)
    check_early_stopping(kind, "in the final save", all_data[kind], whole, tmp_path / "run")


def test_averaged_checkpoints_are_those_of_the_undisturbed_run(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path
) -> None:
    flags = ("--average_last_checkpoints", "2")
    whole = undisturbed("labels", *flags)
    check_killed("labels", "behind the last checkpoint", all_data["labels"], whole, tmp_path / "run", *flags)
    assert facts(tmp_path / "run")["averaged_checkpoints"] == [2, 4]


def test_the_validation_behind_an_epoch_is_not_lost_where_a_run_is_stopped(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path
) -> None:
    flags = ("--max_steps", "-1", "--num_train_epochs", "3", "--eval_strategy", "epoch", "--save_strategy", "epoch")
    flags += ("--load_best_model_at_end", "True", "--metric_for_best_model", "loss", "--logging_steps", "4")
    whole = undisturbed("labels", *flags)
    for step in (6, 8):  # at the end of an epoch, and within one, where no validation belongs
        out = tmp_path / str(step)
        with pytest.raises(TrainingStopped):
            run("labels", all_data["labels"], out, *flags, callbacks=[StopAt(step)])
        run("labels", all_data["labels"], out, *flags)
        assert history(out, "eval_loss") == history(whole, "eval_loss")
        assert history(out) == history(whole)
        assert same_weights(out, whole)


def test_a_stop_keeps_the_last_checkpoint_beside_the_best(all_data: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(TrainingStopped, match="step 3"):
        run(
            "labels",
            all_data["labels"],
            tmp_path / "run",
            *EARLY_STOPPING,
            "--save_total_limit",
            "1",
            callbacks=[StopAt(3)],
        )
    assert last_whole_checkpoint(tmp_path / "run").name == "checkpoint-3"


def test_only_checkpoints_that_a_run_wrote_are_deleted_as_too_many(all_data: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(TrainingStopped):
        run("labels", all_data["labels"], out, "--save_steps", "1", "--save_total_limit", "1", callbacks=[StopAt(2)])
    shutil.copytree(out / "checkpoint-2", out / "checkpoint-2-keep")
    (out / "checkpoint-2" / "notes.txt").write_text("mine")
    run("labels", all_data["labels"], out, "--save_steps", "1", "--save_total_limit", "1")
    assert (out / "checkpoint-2-keep" / "model.safetensors").is_file()
    assert [path.name for path in (out / "checkpoint-2").iterdir()] == ["notes.txt"]
    assert not (out / "checkpoint-3").exists() and (out / "checkpoint-4").is_dir()


# Damaged checkpoints

DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"\0" * 9),
}
# Files without which a run goes on to the same result: nothing is read from them, or the others are judged without it.
DISPENSABLE = ("training_args.bin", "checkpoint.json")


@pytest.fixture(scope="session")
def killed(all_data: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Kind -> a run that was killed behind its last checkpoint; not to be changed."""
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("killed") / kind
            with killed_at(ResumableTrainer, "_finalize_training"), pytest.raises(Killed):
                run(kind, all_data[kind], made[kind])
        return made[kind]

    return of


@pytest.mark.parametrize("kind", ["labels", pytest.param("elmo", marks=pytest.mark.slow)])
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "of an earlier release"])
def test_every_damaged_file_of_a_checkpoint_is_noticed(
    killed: Callable[[str], Path], tmp_path: Path, kind: str, listed: bool
) -> None:
    """Without a list of files, a file that may be left out, and a change that leaves the format whole, are not."""
    folder = shutil.copytree(killed(kind), tmp_path / "run")
    newest = folder / "checkpoint-4"
    if not listed:
        (newest / "checkpoint.json").unlink()
    assert newest_whole(folder) == (newest, [])
    for path in [path for path in newest.iterdir() if path.name not in DISPENSABLE]:
        for said, spoil in DAMAGES.items():
            if said == "changed" and (path.name == "trainer_state.json" or not listed):
                continue
            if not listed and said == "missing" and path.suffix == ".json" and path.name != "trainer_state.json":
                continue
            if not listed and path.name.startswith("carried_state"):
                continue
            content = path.read_bytes()
            spoil(path)
            found, passed = newest_whole(folder)
            assert found == folder / "checkpoint-2", (path.name, said)
            assert len(passed) == 1 and "checkpoint-4" in passed[0]
            path.write_bytes(content)
    assert damage(newest) is None


def check_damaged(kind: str, name: str, said: str, data: Path, whole: Path, killed_run: Path, tmp_path: Path) -> None:
    out, lines = shutil.copytree(killed_run, tmp_path / "run"), []
    path = next((out / "checkpoint-4").glob(name))
    DAMAGES[said](path)
    run(kind, data, out, say=lines.append)
    assert any(line.startswith("passed over checkpoint-4") for line in lines), lines
    assert any(line.startswith("going on from") and line.endswith("checkpoint-2") for line in lines), lines
    assert same_weights(out, whole) and history(out) == history(whole)
    assert facts(out)["steps"] == STEPS and not (out / "replaced_run").exists()


SPOILT = [
    ("model.safetensors", "cut off"),
    ("optimizer.pt", "empty"),
    ("scheduler.pt", "cut off"),
    ("optimizer.pt", "missing"),
    ("rng_state.pth", "missing"),
    ("tokenizer_config.json", "empty"),
]


@pytest.mark.parametrize(("name", "said"), SPOILT)
def test_a_damaged_checkpoint_is_passed_over(
    all_data: dict[str, Path],
    undisturbed: Callable[..., Path],
    killed: Callable[[str], Path],
    tmp_path: Path,
    name: str,
    said: str,
) -> None:
    check_damaged("labels", name, said, all_data["labels"], undisturbed("labels"), killed("labels"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "said"), SPOILT)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "labels"])
def test_a_damaged_checkpoint_of_every_kind_is_passed_over(
    all_data: dict[str, Path],
    undisturbed: Callable[..., Path],
    killed: Callable[[str], Path],
    tmp_path: Path,
    kind: str,
    name: str,
    said: str,
) -> None:
    check_damaged(kind, name, said, all_data[kind], undisturbed(kind), killed(kind), tmp_path)


def test_without_a_whole_checkpoint_a_run_begins_anew(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], killed: Callable[[str], Path], tmp_path: Path
) -> None:
    out = shutil.copytree(killed("labels"), tmp_path / "run")
    for checkpoint in out.glob("checkpoint-*"):
        (checkpoint / "model.safetensors").write_bytes(b"")
    with pytest.raises(ValueError, match=r"is no complete checkpoint: model\.safetensors has 0 bytes"):
        run("labels", all_data["labels"], out, "--resume_from_checkpoint", str(out / "checkpoint-4"))
    run("labels", all_data["labels"], out)
    assert same_weights(out, undisturbed("labels"))


def test_an_older_checkpoint_is_taken_where_the_best_one_or_one_to_be_averaged_is_damaged(
    killed: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(killed("labels"), tmp_path / "run")
    shutil.copytree(folder / "checkpoint-4", folder / "checkpoint-6")
    (folder / "checkpoint-4" / "model.safetensors").write_bytes(b"")
    assert newest_whole(folder)[0].name == "checkpoint-6"
    assert newest_whole(folder, averaged=2)[0].name == "checkpoint-2"
    state = folder / "checkpoint-6" / "trainer_state.json"
    state.write_text(
        json.dumps({**json.loads(state.read_text()), "best_model_checkpoint": "/moved/since/checkpoint-4"})
    )
    assert newest_whole(folder)[0].name == "checkpoint-2"


# Full disks


@contextmanager
def little_room(most: int) -> Iterator[None]:
    """No file can be written beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def check_full_disk(kind: str, data: Path, whole: Path, out: Path, error_of: Callable[[], str]) -> None:
    with killed_at(ResumableTrainer, "_save_checkpoint", call=2), pytest.raises(Killed):
        run(kind, data, out)
    weights = (out / "checkpoint-2" / "model.safetensors").stat().st_size
    optimizer = (out / "checkpoint-2" / "optimizer.pt").stat().st_size
    for most in (weights - 8, optimizer - 8, 2500):
        with little_room(most):
            assert main(command(kind, data, out)) == 2, most
        error = error_of().strip().splitlines()
        assert len([line for line in error if line.startswith("attention-zoo: ")]) == 1, error
        assert "Traceback" not in "".join(error)
        assert damage(out / "checkpoint-2") is None and not (out / "checkpoint-4").exists()
    run(kind, data, out)
    assert same_weights(out, whole)


@pytest.mark.parametrize(
    "kind", [kind if kind == "labels" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_after_a_full_disk_the_run_goes_on(
    all_data: dict[str, Path],
    undisturbed: Callable[..., Path],
    tmp_path: Path,
    kind: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = undisturbed(kind)
    capsys.readouterr()
    check_full_disk(kind, all_data[kind], whole, tmp_path / "run", lambda: capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["rnnsearch", "luong", "transformer2017"])
def test_kill_minus_nine_and_rerun_give_the_losses_of_an_undisturbed_run(
    tiny_run: Callable[..., list[str]], tmp_path: Path, architecture: str
) -> None:
    flags = ("--max_tokens_per_batch", "60", "--num_train_epochs", "20", "--config.dropout", "0.2")
    saves = ("--save_strategy", "steps", "--save_steps", "11", "--save_total_limit", "2")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(folder: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(SCRIPT), *tiny_run(*flags, *saves, folder=folder, architecture=architecture)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert start("whole").wait(timeout=600) == 0

    process = start("killed")
    limit = time.monotonic() + 600
    while last_whole_checkpoint(tmp_path / "killed") is None and time.monotonic() < limit:
        assert process.poll() is None, "training ended before it could be killed"
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    assert not (tmp_path / "killed" / "training.json").exists()
    killed_at = history(tmp_path / "killed")[-1][0]

    assert start("killed").wait(timeout=600) == 0
    undisturbed, continued = history(tmp_path / "whole"), history(tmp_path / "killed")
    assert killed_at < undisturbed[-1][0]
    assert continued == undisturbed
