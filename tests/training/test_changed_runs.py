"""A stopped run goes on with the data and settings that it was begun with, or says what was changed, and from when."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_kinds import KINDS, Killed, killed_at, run, same_weights, write_data

from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.fingerprint import EARLY, IN_THE_BATCH, OF_THE_CHOICE, WITHOUT_EFFECT
from hf_attention_zoo.training.resumable_trainer import ResumableTrainer


@pytest.fixture(scope="session")
def stopped(all_data: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Kind and flags -> a run that was killed behind step 2 of 4; not to be changed."""
    made: dict[tuple[str, ...], Path] = {}

    def of(kind: str, *more: str) -> Path:
        if (kind, *more) not in made:
            folder = tmp_path_factory.mktemp("stopped") / kind
            with killed_at(ResumableTrainer, "_save_checkpoint", call=2), pytest.raises(Killed):
                run(kind, all_data[kind], folder, *more)
            made[kind, *more] = folder
        return made[kind, *more]

    return of


# Flags that change the result: kind -> (flags, what the message names).
CHANGES = {
    "learning rate": (("--learning_rate", "0.5"), "learning_rate: 0.02 then, 0.5 now"),
    "schedule": (("--lr_scheduler_type", "linear"), "lr_scheduler_type: 'constant' then, 'linear' now"),
    "warm-up": (("--lr_scheduler_type", "constant_with_warmup", "--warmup_steps", "3"), "warmup_steps: "),
    "clipping": (("--max_grad_norm", "0.01"), "max_grad_norm: 1.0 then, 0.01 now"),
    "weight decay": (("--weight_decay", "0.5"), "weight_decay: 0.0 then, 0.5 now"),
    "momentum": (("--adam_beta1", "0.5"), "adam_beta1: 0.9 then, 0.5 now"),
    "order": (("--data_seed", "7"), "data_seed: None then, 7 now"),
    "sampling": (("--train_sampling_strategy", "sequential"), "train_sampling_strategy: "),
    "more steps": (("--max_steps", "6"), "max_steps: 4 then, 6 now"),
    "batch": (("--per_device_train_batch_size", "4"), "global_batch: 2 then, 4 now"),
    "dropout": (("--config.dropout", "0.6"), "config.dropout: 0.2 then, 0.6 now"),
}
NOT_IN_PRETRAINING = ("sampling", "batch")  # streams in a fixed order; what has been seen is counted in batches
CANNOT_CHANGE = {
    "seed and optimiser": (("--optimizer", "adadelta"), "optimizer: "),
    "tokenizer": (("--tokenizer.vocab_size", "12"), "tokenizer.vocab_size: "),
}
# Flags that change nothing: a run goes on with them to the same weights.
HARMLESS = (
    *("--logging_steps", "2", "--dataloader_num_workers", "1", "--save_steps", "1", "--save_total_limit", "3"),
    *("--per_device_eval_batch_size", "3", "--run_name", "other"),
)


def check_refused(kind: str, data: Path, folder: Path, flags: tuple[str, ...], message: str) -> None:
    """A run in `folder` is refused with the field that differs, and nothing in the folder is touched."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(ValueError, match="started differently") as caught:
        run(kind, data, folder, *flags)
    assert message in str(caught.value)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_setting_is_refused_by_name_or_taken_on_purpose_and_recorded(
    all_data: dict[str, Path],
    undisturbed: Callable[..., Path],
    stopped: Callable[..., Path],
    tmp_path: Path,
    change: str,
) -> None:
    flags, message = CHANGES[change]
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    check_refused("labels", all_data["labels"], folder, flags, message)
    run("labels", all_data["labels"], folder, *flags, "--resume_changed")
    (noted,) = json.loads((folder / "training.json").read_text())["changes"]
    assert noted["after_step"] == 2 and any(message in one for one in noted["changed"])
    assert not same_weights(folder, undisturbed("labels")), "the change was recorded, but not used"


@pytest.mark.slow
@pytest.mark.parametrize("change", [change for change in CHANGES if change != "dropout"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "labels"])
def test_a_changed_setting_of_every_kind_is_refused_or_recorded(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path, kind: str, change: str
) -> None:
    if KINDS[kind].pretrains and change in NOT_IN_PRETRAINING:
        pytest.skip("a stream is not sampled")
    flags, message = CHANGES[change]
    folder = shutil.copytree(stopped(kind), tmp_path / "run")
    check_refused(kind, all_data[kind], folder, flags, message)
    run(kind, all_data[kind], folder, *flags, "--resume_changed")
    (noted,) = json.loads((folder / "training.json").read_text())["changes"]
    assert noted["after_step"] == 2 and any(message in one for one in noted["changed"])


@pytest.mark.parametrize("change", CANNOT_CHANGE)
def test_what_the_weights_depend_on_cannot_be_changed_on_purpose(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path, change: str
) -> None:
    flags, message = CANNOT_CHANGE[change]
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    check_refused("labels", all_data["labels"], folder, flags, message)
    check_refused("labels", all_data["labels"], folder, (*flags, "--resume_changed"), message)
    with pytest.raises(ValueError, match="sizes cannot be changed"):
        run("labels", all_data["labels"], folder, "--config.classifier_size", "6", "--resume_changed")


def test_other_losses_are_refused_by_name(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(stopped("translation"), tmp_path / "run")
    for flag, value in (("label_smoothing_factor", "0.1"), ("loss_scale", "batch_sum")):
        check_refused("translation", all_data["translation"], folder, (f"--{flag}", value), f"{flag}: ")


def test_the_changed_rate_and_decay_hold_from_the_checkpoint_on(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    flags = ("--learning_rate", "0.3", "--weight_decay", "0.5", "--resume_changed")
    result = run("labels", all_data["labels"], folder, *flags)
    rates = {entry["step"]: entry["learning_rate"] for entry in result.log_history if "learning_rate" in entry}
    assert rates == {1: 0.02, 2: 0.02, 3: 0.3, 4: 0.3}
    import torch

    saved = torch.load(folder / "checkpoint-4" / "optimizer.pt", weights_only=True)["param_groups"]
    assert {group["weight_decay"] for group in saved} == {0.5, 0.0}


def test_harmless_flags_are_no_change(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], stopped: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    run("labels", all_data["labels"], folder, *HARMLESS)
    assert same_weights(folder, undisturbed("labels"))
    assert "changes" not in json.loads((folder / "training.json").read_text())


def test_fewer_steps_than_were_trained_are_refused(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    check_refused("labels", all_data["labels"], folder, ("--max_steps", "1"), "max_steps: 4 then, 1 now")
    with pytest.raises(ValueError, match="is at step 2, behind the end of this run at step 1"):
        run("labels", all_data["labels"], folder, "--max_steps", "1", "--resume_changed")
    run("labels", all_data["labels"], folder)


# The last column of a row, changed.
CHANGED: dict[str, Callable[[Any], Any]] = {
    "translation": lambda target: target + " BA",
    "labels": lambda label: "good" if label == "bad" else "bad",
    "tags": lambda tags: ["NOUN" if tags[0] == "VERB" else "VERB", *tags[1:]],
    "questions": lambda answers: {"text": [answers["text"][0][0]], "answer_start": answers["answer_start"]},
    "choices": lambda label: 1 - label,
}


def spoil(kind: str, data: Path) -> None:
    """Change one label, tag, word or picture of the training data."""
    if kind == "captions":
        shutil.rmtree(data)
        write_data(kind, data, seed=1)
        return
    file = data / ("train.txt" if KINDS[kind].rows is None else "train.jsonl")
    lines = file.read_text().splitlines()
    if KINDS[kind].rows is None:
        lines[0] += " ba"
    else:
        row = json.loads(lines[0])
        name, value = list(row.items())[-1]
        row[name] = CHANGED[kind](value)
        assert row[name] != value
        lines[0] = json.dumps(row)
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("kind", KINDS)
def test_changed_data_are_refused_wherever_they_lie(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path, kind: str
) -> None:
    data = shutil.copytree(all_data[kind], tmp_path / "elsewhere")
    folder = shutil.copytree(stopped(kind), tmp_path / "run")
    spoil(kind, data)
    check_refused(kind, data, folder, (), "contents.training: ")


@pytest.mark.parametrize(
    "kind", [kind if kind in ("labels", "gpt") else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_the_same_data_in_another_place_are_no_change_and_fewer_rows_are(
    all_data: dict[str, Path],
    undisturbed: Callable[..., Path],
    stopped: Callable[..., Path],
    tmp_path: Path,
    kind: str,
) -> None:
    folder = shutil.copytree(stopped(kind), tmp_path / "run")
    few = write_data(kind, tmp_path / "few", rows=9)
    check_refused(kind, few, folder, (), "contents.training: ")
    moved = shutil.copytree(all_data[kind], tmp_path / "moved")
    run(kind, moved, folder)
    assert same_weights(folder, undisturbed(kind))


def test_changed_data_can_be_taken_on_purpose(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path
) -> None:
    data = shutil.copytree(all_data["labels"], tmp_path / "data")
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    spoil("labels", data)
    run("labels", data, folder, "--resume_changed")
    (noted,) = json.loads((folder / "training.json").read_text())["changes"]
    assert noted["changed"][0].startswith("contents.training: '12 rows")


def test_changes_are_remembered_over_another_kill(
    all_data: dict[str, Path], stopped: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(stopped("labels"), tmp_path / "run")
    flags = ("--learning_rate", "0.3")
    with killed_at(ResumableTrainer, "_finalize_training"), pytest.raises(Killed):
        run("labels", all_data["labels"], folder, *flags, "--resume_changed")
    run("labels", all_data["labels"], folder, *flags)
    assert [one["after_step"] for one in json.loads((folder / "training.json").read_text())["changes"]] == [2]


def test_a_finished_run_is_trained_further_as_the_message_says(
    all_data: dict[str, Path], undisturbed: Callable[..., Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(undisturbed("labels"), tmp_path / "run")
    further = ("--resume_from_checkpoint", "True", "--max_steps", "6")
    with pytest.raises(ValueError, match="started differently"):
        run("labels", all_data["labels"], folder, *further)
    run("labels", all_data["labels"], folder, *further, "--resume_changed")
    facts = json.loads((folder / "training.json").read_text())
    assert facts["steps"] == 6 and facts["changes"][0]["after_step"] == 4 and not (folder / "replaced_run").exists()


def test_every_training_argument_counts_or_is_known_to_have_no_effect() -> None:
    names = {item.name for item in dataclasses.fields(ZooTrainingArguments)}
    for known in (WITHOUT_EFFECT, IN_THE_BATCH, OF_THE_CHOICE, set(EARLY)):
        assert not {name for name in known if name not in names} - {"logging_dir"}
    counted = names - WITHOUT_EFFECT - IN_THE_BATCH
    for name in ("weight_decay", "max_grad_norm", "warmup_steps", "data_seed", "loss_scale", "label_smoothing_factor"):
        assert name in counted
