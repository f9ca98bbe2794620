"""What no run wrote into an output folder stays; what a run wrote stays until another has taken its place."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from run_kinds import KINDS, Killed, command, killed_at, run, same_weights, weights

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.folders.written_files import note_files
from hf_attention_zoo.training import output_folder
from hf_attention_zoo.training.output_folder import LOCK_FILE, RunInFolder, sole_run
from hf_attention_zoo.training.resumable_trainer import ResumableTrainer


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def finished_labels(undisturbed: Callable[..., Path]) -> Path:
    """A finished run; not to be changed."""
    return undisturbed("labels")


@pytest.fixture
def finished(finished_labels: Path, tmp_path: Path) -> Path:
    """A copy of a finished run that may be spoilt."""
    return shutil.copytree(finished_labels, tmp_path / "finished")


# What is refused before anything in the folder is touched: name -> (flags, what the message says).
REFUSED = {
    "no such data": (("--dataset", "/no/such"), "/no/such"),
    "no such data, overwriting": (("--dataset", "/no/such", "--overwrite_output_dir"), "/no/such"),
    "overwriting": (("--overwrite_output_dir",), "holds what no training run wrote"),
    "no flag": ((), "holds what no training run wrote"),
    "the model": (("--model", "{}"), "lies in --output_dir"),
    "the model, overwriting": (("--model", "{}", "--overwrite_output_dir"), "lies in --output_dir"),
    "the tokenizer": (("--tokenizer", "{}", "--overwrite_output_dir"), "lies in --output_dir"),
    "a mistyped flag": (("--confg.hidden_size", "3"), "confg"),
    "a mistyped field": (("--config.hiden_size", "3", "--overwrite_output_dir"), "hiden_size"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_no_run_wrote_is_left_as_it_is(
    all_data: dict[str, Path], finished_labels: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(finished_labels / name, own)
    (own / "README.md").write_text("my project")
    (own / "checkpoint-7").mkdir()
    (own / "checkpoint-7" / "notes.txt").write_text("mine")
    before = contents(own)
    for name, (flags, message) in REFUSED.items():
        words = command(kind, all_data[kind], own, *(flag.format(own) for flag in flags))
        assert main(words) == 2, name
        error = capsys.readouterr().err.strip()
        said = (message, "holds what no", "holds a model of")  # which of them is seen first
        assert "\n" not in error and any(one in error for one in said), (name, error)
        assert contents(own) == before, name


def test_the_folder_that_a_project_lies_in_is_no_output_folder(
    all_data: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "README.md").write_text("my project")
    (tmp_path / "checkpoint-7").mkdir()
    (tmp_path / "checkpoint-7" / "model.safetensors").write_text("mine")
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    for more in ((), ("--overwrite_output_dir",)):
        with pytest.raises(ValueError, match="holds what no training run wrote"):
            run("labels", all_data["labels"], ".", *more)
    assert contents(tmp_path) == before


def test_a_new_folder_of_a_refused_run_does_not_stay(all_data: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hiden_size"):
        run("labels", all_data["labels"], tmp_path / "new" / "run", "--config.hiden_size", "3")
    with pytest.raises(ValueError, match="nothing"):
        run("labels", tmp_path / "nothing", tmp_path / "new" / "run")
    assert not (tmp_path / "new").exists()


# Mistakes that show at different times: name -> (flags, what the message says).
LATE_MISTAKES = {
    "data": (("--dataset", "/no/such"), "/no/such"),
    "a split": (("--train_split", "dev"), "no split 'dev'"),
    "a model": (("--model", "/no/such"), "/no/such"),
    "tokenizer settings": (("--tokenizer.size", "3"), "tokenizer settings"),
    "encoding": (("--max_source_length", "1"), "longer"),
    "generation": (("--generation.beams", "3"), "generation"),
    "the trainer": (("--metric_for_best_model", "nothing", "--load_best_model_at_end", "True"), ""),
}


@pytest.mark.parametrize("mistake", LATE_MISTAKES)
def test_a_mistake_beside_overwriting_leaves_the_finished_run(
    all_data: dict[str, Path], finished: Path, mistake: str
) -> None:
    before = contents(finished)
    flags, message = LATE_MISTAKES[mistake]
    with pytest.raises(ValueError, match=message):
        run("labels", all_data["labels"], finished, "--overwrite_output_dir", *flags)
    assert contents(finished) == before


def test_what_is_replaced_stands_aside_until_the_new_run_is_finished(
    all_data: dict[str, Path], finished: Path, finished_labels: Path
) -> None:
    (finished / "notes.txt").write_text("mine")
    (finished / "checkpoint-4" / "notes.txt").write_text("mine, too")
    (finished / "README.md").write_text("a card")
    note_files(finished, "README.md")
    new = ("--overwrite_output_dir", "--seed", "5")
    with killed_at(ResumableTrainer, "_save_checkpoint", call=2), pytest.raises(Killed):
        run("labels", all_data["labels"], finished, *new)
    aside = finished / "replaced_run"
    assert same_weights(aside, finished_labels) and (aside / "README.md").read_text() == "a card"
    assert (aside / "checkpoint-4" / "model.safetensors").is_file() and not (finished / "model.safetensors").exists()
    assert not (finished / "training.json").exists()
    run("labels", all_data["labels"], finished, "--seed", "5")
    assert not aside.exists() and not same_weights(finished, finished_labels)
    assert (finished / "notes.txt").read_text() == "mine"
    assert (finished / "checkpoint-4" / "notes.txt").read_text() == "mine, too"
    assert not (finished / "README.md").exists(), "a card of other weights"


def test_an_error_before_the_first_checkpoint_gives_back_what_was_replaced(
    all_data: dict[str, Path], finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(finished)

    def fails(*args: object, **kwargs: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(ResumableTrainer, "_save_checkpoint", fails)
    with pytest.raises(RuntimeError, match="out of memory"):
        run("labels", all_data["labels"], finished, "--overwrite_output_dir", "--seed", "5")
    assert contents(finished) == before


@pytest.mark.parametrize("call", range(1, 9))
def test_a_kill_while_the_old_run_moves_aside_loses_nothing(
    all_data: dict[str, Path], finished: Path, call: int
) -> None:
    before = contents(finished)
    with killed_at(Path, "rename", call=call), pytest.raises(Killed):
        run("labels", all_data["labels"], finished, "--overwrite_output_dir", "--seed", "5")
    with pytest.raises(ValueError, match="holds a finished run"):
        run("labels", all_data["labels"], finished, "--seed", "5")
    assert contents(finished) == before


def test_files_that_were_changed_since_the_run_are_not_replaced(all_data: dict[str, Path], finished: Path) -> None:
    (finished / "model.safetensors").write_bytes(b"the user's own weights")
    before = contents(finished)
    with pytest.raises(ValueError, match=r"model\.safetensors in .* written anew since"):
        run("labels", all_data["labels"], finished, "--overwrite_output_dir")
    assert contents(finished) == before


def test_a_model_saved_into_an_unfinished_run_is_not_replaced(all_data: dict[str, Path], tmp_path: Path) -> None:
    with killed_at(RunInFolder, "place_final"), pytest.raises(Killed):
        run("labels", all_data["labels"], tmp_path / "run")
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"holds what no training run wrote \(config\.json\)"):
        run("labels", all_data["labels"], tmp_path / "run")


def test_runs_of_earlier_releases_are_replaced_by_name(all_data: dict[str, Path], finished: Path) -> None:
    facts = json.loads((finished / "training.json").read_text())
    del facts["files"]
    (finished / "training.json").write_text(json.dumps(facts))
    (finished / "notes.txt").write_text("mine")
    run("labels", all_data["labels"], finished, "--overwrite_output_dir", "--seed", "5")
    assert "files" in json.loads((finished / "training.json").read_text())
    assert (finished / "notes.txt").read_text() == "mine"


def _hold(folder: str, held: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event) -> None:
    with sole_run(Path(folder)):
        held.set()
        done.wait(30)


def test_a_second_run_in_a_folder_is_refused_and_a_dead_one_holds_nothing(
    all_data: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with sole_run(folder), pytest.raises(ValueError, match="another run is at work"):
        run("labels", all_data["labels"], folder)
    context = multiprocessing.get_context("fork")
    held, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(folder), held, done))
    other.start()
    assert held.wait(30)
    assert main(command("labels", all_data["labels"], folder)) == 2
    os.kill(other.pid, 9)
    other.join(30)
    assert (folder / LOCK_FILE).exists()
    run("labels", all_data["labels"], folder)
    assert not (folder / LOCK_FILE).exists() and weights(folder)


def test_the_page_names_every_file_of_a_run_s_own() -> None:
    page = (Path(__file__).parents[2] / "docs" / "output-folders.md").read_text()
    names = [value for name, value in vars(output_folder).items() if name.endswith(("_FILE", "_FOLDER"))]
    assert len(names) >= 7 and not [name for name in names if f"`{name}" not in page]
