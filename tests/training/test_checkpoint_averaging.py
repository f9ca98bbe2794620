"""Means of weights: by the command, at the end of a run, and what cannot be averaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.checkpoint_averaging import average_weights, load_average, write_average
from hf_attention_zoo.training.run_plan import parse_run

Arguments = Callable[..., list[str]]


def trained(argv: list[str]) -> None:
    run_training(parse_run(argv, command="attention-zoo train ..."), say=lambda text: None)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def folder_of(path: Path, **tensors: torch.Tensor) -> Path:
    path.mkdir()
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path


def test_the_run_saves_the_mean_and_the_command_makes_the_same(
    tiny_run: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saves = ("--save_strategy", "steps", "--save_steps", "2", "--save_total_limit", "3", "--max_steps", "9")
    noam = ("--noam_schedule", "True", "--warmup_steps", "2", "--learning_rate", "1", "--optim", "sgd")
    smooth = ("--label_smoothing_factor", "0.1", "--label_smoothing_distribution", "other_classes")
    trained(tiny_run(*saves, *noam, *smooth, "--average_last_checkpoints", "3", "--eval_strategy", "epoch"))
    run = tmp_path / "run"
    facts = json.loads((run / "training.json").read_text())
    assert facts["averaged_checkpoints"] == [6, 8, 9]
    assert facts["arguments"]["label_smoothing_distribution"] == "other_classes"
    parts = [weights(run / f"checkpoint-{step}") for step in (6, 8, 9)]
    saved = weights(run)
    for name, tensor in saved.items():
        torch.testing.assert_close(tensor, sum(part[name].double() for part in parts).div(3).float())
    assert any(not torch.equal(saved[name], parts[-1][name]) for name in saved)

    recorded = json.loads((run / "training.json").read_text()) | {"command": "attention-zoo train a --output_dir run"}
    (run / "training.json").write_text(json.dumps(recorded))
    assert main(["average", str(run), str(tmp_path / "mean"), "--last", "3"]) == 0
    assert "after steps 6, 8, 9" in capsys.readouterr().out
    made = weights(tmp_path / "mean")
    assert all(torch.equal(made[name], saved[name]) for name in saved)
    facts = json.loads((tmp_path / "mean" / "training.json").read_text())
    assert facts["averaged_checkpoints"] == [6, 8, 9] and "validation" not in facts
    assert facts["command"] == f"{recorded['command']} && attention-zoo average run mean --last 3"
    assert not (tmp_path / "mean" / "optimizer.pt").exists()
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "mean")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "mean")
    assert model.generate(**tokenizer(["ba de"], return_tensors="pt"), max_length=5).shape[0] == 1

    assert main(["average", str(run), str(tmp_path / "mean"), "--last", "3"]) == 2
    assert "not an empty folder" in capsys.readouterr().err
    assert main(["average", str(run), str(tmp_path / "other"), "--last", "4"]) == 2
    said = capsys.readouterr().err
    assert "holds 3 complete checkpoints (checkpoint-STEP) of the 4 that were asked for; average at most 3, or" in said
    assert "--save_total_limit 4 or more" in said
    assert main(["average", str(run / "checkpoint-9"), str(tmp_path / "other"), "--last", "2"]) == 2
    said = capsys.readouterr().err
    assert "holds no checkpoint-STEP folder; give the output folder of a training run" in said
    assert main(["average", str(run), str(run / "checkpoint-99"), "--last", "2"]) == 2
    assert "is where a run has its checkpoints" in capsys.readouterr().err
    assert main(["average", str(run), str(run / "checkpoint-9" / "mean"), "--last", "2"]) == 2
    assert "is where a run has its checkpoints" in capsys.readouterr().err
    assert main(["average", str(run), str(run / "training.json" / "mean"), "--last", "2"]) == 2
    assert "training.json is a file; choose another name" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_a_mean_that_cannot_be_written_leaves_no_folder(
    tiny_run: Arguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(tiny_run("--save_strategy", "steps", "--save_steps", "2", "--max_steps", "4"))
    before = sorted(path.name for path in tmp_path.iterdir())

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr("safetensors.torch.save_file", full)
        write_average(tmp_path / "run", tmp_path / "mean", 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert write_average(tmp_path / "run", tmp_path / "mean", 2).is_dir()  # the name is still free


def test_what_is_passed_over_or_not_noted_is_said(
    tiny_run: Arguments, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(tiny_run("--save_strategy", "steps", "--save_steps", "2", "--max_steps", "6", "--save_total_limit", "3"))
    run = tmp_path / "run"
    write_average(run, tmp_path / "whole", 2)
    assert not caplog.messages
    damaged = run / "checkpoint-6" / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:100])
    (run / "training.json").unlink()  # as a run that has not ended
    assert main(["average", str(run), str(tmp_path / "mean"), "--last", "1"]) == 0
    assert "after step 4 written" in capsys.readouterr().out
    passed, no_record = caplog.messages
    with pytest.raises(ValueError, match=r"2 complete .* of the 3 .* \(checkpoint-6: .*\); average at most 2$"):
        write_average(run, tmp_path / "three", 3)
    assert passed.startswith("passed over checkpoint-6: ") and "model.safetensors" in passed
    assert "has no training.json" in no_record and "name the data set" in no_record


def test_the_mean_of_equal_checkpoints_is_each_of_them(tmp_path: Path) -> None:
    tensor = torch.randn(7, 3).bfloat16()
    folders = [folder_of(tmp_path / name, a=tensor, steps=torch.tensor([4])) for name in "xyz"]
    mean = average_weights(folders)
    assert torch.equal(mean["a"], tensor) and mean["a"].dtype == torch.bfloat16
    assert torch.equal(mean["steps"], torch.tensor([4]))


def test_weights_in_parts_are_averaged_too(tmp_path: Path) -> None:
    whole = folder_of(tmp_path / "whole", a=torch.tensor([1.0]), b=torch.tensor([5.0]))
    parts = tmp_path / "parts"
    parts.mkdir()
    save_file({"a": torch.tensor([3.0])}, parts / "one.safetensors")
    save_file({"b": torch.tensor([7.0])}, parts / "two.safetensors")
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (parts / "model.safetensors.index.json").write_text(json.dumps(index))
    assert {name: tensor.item() for name, tensor in average_weights([whole, parts]).items()} == {"a": 2.0, "b": 6.0}


def test_what_has_no_mean_is_refused(tmp_path: Path) -> None:
    first = folder_of(tmp_path / "first", a=torch.ones(2))
    with pytest.raises(ValueError, match=r"not of one model: they differ in a \[2\]"):
        average_weights([first, folder_of(tmp_path / "wider", a=torch.ones(3))])
    counts = [folder_of(tmp_path / f"count{n}", steps=torch.tensor([n])) for n in (1, 2)]
    with pytest.raises(ValueError, match=r"steps holds torch.int64 numbers that differ"):
        average_weights(counts)
    with pytest.raises(ValueError, match=r"no model\.safetensors"):
        average_weights([tmp_path])
    with pytest.raises(ValueError, match="name at least one folder"):
        average_weights([])
    shutil.copytree(first, tmp_path / "cut")
    (tmp_path / "cut" / "model.safetensors").write_bytes(b"\x10\x00")
    with pytest.raises(ValueError, match="not written to its end"):
        average_weights([first, tmp_path / "cut"])
    with pytest.raises(ValueError, match="do not fit the model: a"):
        load_average(torch.nn.Linear(2, 2), [first])
    with pytest.raises(ValueError, match="not a folder"):
        write_average(tmp_path / "nowhere", tmp_path / "out", 2)
    with pytest.raises(ValueError, match="last=0"):
        write_average(tmp_path, tmp_path / "out", 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"save_strategy": "no"}, "set save_strategy"),
        ({"save_total_limit": 2}, "save_total_limit=2 keeps fewer"),
        ({"load_best_model_at_end": True, "eval_strategy": "steps"}, "both choose the final weights"),
        ({"average_last_checkpoints": 0}, "average_last_checkpoints=0"),
    ],
)
def test_settings_that_keep_too_few_checkpoints_are_refused(settings: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        ZooTrainingArguments(output_dir=str(tmp_path), **{"average_last_checkpoints": 3, **settings})
