"""Two processes (gloo): the losses of one process with the doubled batch, and each sentence scored once."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from run_kinds import command, same_weights, write_data
from training_runs import PAPER_FLAGS, check_two_processes, facts, history, launch

Arguments = Callable[..., list[str]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "pools", [(), ("--pool_batches", "4", "--max_train_samples", "56")], ids=["random batches", "sorted pools"]
)
def test_two_processes_give_the_losses_of_one_with_the_doubled_batch(
    tiny_run: Arguments, tmp_path: Path, pools: tuple[str, ...]
) -> None:
    flags = (*pools, "--max_steps", "6", "--eval_strategy", "steps", "--eval_steps", "6", "--save_steps", "6")
    paper = ("--loss_scale", "batch_sum", "--optimizer", "adadelta", "--learning_rate", "1.0", "--use_cpu", "True")
    eval_size = ("--per_device_eval_batch_size", "4")
    for folder, processes, size in (("one", 1, 8), ("two", 2, 4)):
        batch = ("--per_device_train_batch_size", str(size))
        launch("train.py", tiny_run(*flags, *paper, *eval_size, *batch, folder=folder), processes)
    one, two = tmp_path / "one", tmp_path / "two"
    assert facts(two)["processes"] == 2
    for (loss, norm), (other_loss, other_norm) in zip(history(one), history(two), strict=True):
        assert other_loss == pytest.approx(loss, rel=1e-4)
        assert other_norm == pytest.approx(norm, rel=1e-3)
    validation, other = facts(one)["validation"], facts(two)["validation"]
    assert validation["sentences"] == other["sentences"] == 13
    for name in ("loss", "bleu", "chrf"):
        assert other[name] == pytest.approx(validation[name], rel=1e-3, abs=1e-6)

    for folder, processes in ((one, 1), (two, 2)):
        arguments = [str(folder), "--split", "test", "--output", str(folder / "scores.json")]
        printed = launch("evaluate.py", [*arguments, "--dataset", tiny_run()[4]], processes)
        assert printed.count("perplexity per token") == 1
    scores = [json.loads((folder / "scores.json").read_text()) for folder in (one, two)]
    assert scores[0]["dataset"]["rows"] == scores[1]["dataset"]["rows"] == 11
    assert scores[1]["results"]["target_tokens"] == scores[0]["results"]["target_tokens"]
    assert scores[1]["results"]["perplexity_per_token"] == pytest.approx(
        scores[0]["results"]["perplexity_per_token"], rel=1e-2
    )


@pytest.mark.slow
@pytest.mark.parametrize("architecture", PAPER_FLAGS)
def test_two_processes_give_the_losses_of_one_under_the_recipe_of_each_paper(
    tiny_run: Arguments, tmp_path: Path, architecture: str
) -> None:
    own = (*PAPER_FLAGS[architecture], "--max_train_samples", "48")
    check_two_processes(
        lambda *flags, folder: tiny_run(*own, *flags, architecture=architecture, folder=folder), tmp_path
    )


@pytest.mark.slow
def test_two_processes_share_a_stream_of_unequal_files(tiny_run: Arguments, pair_folder: Path, tmp_path: Path) -> None:
    data, lines = tmp_path / "data", (pair_folder / "train.jsonl").read_text().splitlines(keepends=True)
    data.mkdir()
    for number, part in enumerate((lines[:9], lines[9:])):
        (data / f"train-0000{number}.jsonl").write_text("".join(part))

    def arguments(*flags: str, folder: str) -> list[str]:
        return tiny_run("--dataset", str(data), "--streaming", "True", *flags, folder=folder)

    check_two_processes(arguments, tmp_path)


@pytest.mark.slow
def test_two_processes_with_a_token_budget_give_the_losses_of_one_that_accumulates(
    tiny_run: Arguments, tmp_path: Path
) -> None:
    flags = ("--max_tokens_per_batch", "64", "--max_steps", "4", "--save_steps", "4")
    launch("train.py", tiny_run(*flags, folder="two"), 2)
    losses = [loss for loss, _ in history(tmp_path / "two")]
    assert len(losses) == 4 and losses == sorted(losses, key=losses.index)
    launch("train.py", tiny_run(*flags, folder="again"), 2)
    assert [loss for loss, _ in history(tmp_path / "again")] == losses


@pytest.mark.slow
def test_two_processes_go_on_from_a_checkpoint_and_pass_over_one_that_lacks_a_process_s_part(tmp_path: Path) -> None:
    data = write_data("labels", tmp_path / "data")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    launch("hf_attention_zoo.cli.command", command("labels", data, whole), 2)
    assert (whole / "checkpoint-4" / "rng_state_1.pth").is_file()
    shutil.copytree(whole, parts)
    for path in (parts / "training.json", parts / "model.safetensors", parts / "checkpoint-4" / "rng_state_1.pth"):
        path.unlink()
    printed = launch("hf_attention_zoo.cli.command", command("labels", data, parts), 2)
    assert "passed over checkpoint-4: rng_state_1.pth is missing" in printed and "checkpoint-2" in printed
    assert same_weights(whole, parts)
    with pytest.raises(AssertionError, match="holds a finished run"):
        launch("hf_attention_zoo.cli.command", command("labels", data, parts), 2)
