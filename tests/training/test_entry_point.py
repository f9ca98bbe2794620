"""A whole run: what stands in the folder afterwards, and what is refused before any work is lost."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from training_runs import PAPER_FLAGS, StopAt, losses, train
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_attention_zoo.tasks.train import main
from hf_attention_zoo.training.callbacks import StopOnRequest
from hf_attention_zoo.training.output_folder import TrainingStopped

Arguments = Callable[..., list[str]]


def test_a_run_leaves_a_folder_that_loads_and_says_what_was_done(tiny_run: Arguments, tmp_path: Path) -> None:
    flags = ("--max_tokens_per_batch", "80", "--num_train_epochs", "2", "--eval_strategy", "epoch", "--seed", "3")
    result = train(tiny_run(*flags, "--generation.num_beams", "2"))
    folder = tmp_path / "run"
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "config.json", "generation_config.json", "tokenizer_config.json"} <= names
    assert "training_args.bin" not in names and "run.json" not in names
    facts = json.loads((folder / "training.json").read_text())
    assert facts["seed"] == 3
    assert facts["epochs"] == 2.0
    assert facts["steps"] == len(losses(result))
    assert facts["arguments"]["max_tokens_per_batch"] == 80
    assert facts["target_tokens"] > 0 and facts["seconds"] > 0 and facts["hardware"]
    assert facts["validation"]["sentences"] == 13
    assert {"loss", "perplexity", "bleu", "chrf"} <= set(facts["validation"])
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.generation_config.num_beams == 2
    assert model.config.decoder_vocab_size == tokenizer.target_vocab_size
    assert model.generate(**tokenizer(["ba de"], return_tensors="pt"), max_length=6).shape[0] == 1


def test_the_loss_falls_on_real_names(tiny_run: Arguments) -> None:
    data = ("--dataset", "translation_emoji_names", "--max_train_samples", "80", "--target_lang", "en")
    flags = ("--max_tokens_per_batch", "200", "--num_train_epochs", "8", "--learning_rate", "0.02")
    history = losses(train(tiny_run(*data, *flags)))
    assert sum(history[-3:]) < 0.8 * sum(history[:3])


def test_the_paper_recipe_trains_at_small_sizes(tiny_run: Arguments) -> None:
    result = train(tiny_run("--max_steps", "3", "--per_device_train_batch_size", "8", recipe="paper"))
    assert result.facts["steps"] == 3
    assert result.facts["arguments"]["loss_scale"] == "batch_sum"
    assert all(torch.isfinite(torch.tensor(losses(result))))


def test_a_finished_run_is_not_overwritten_by_accident(tiny_run: Arguments, tmp_path: Path) -> None:
    train(tiny_run("--max_steps", "1"))
    with pytest.raises(ValueError, match=r"finished run.*overwrite_output_dir"):
        train(tiny_run("--max_steps", "1"))
    (tmp_path / "run" / "mine.txt").write_text("mine")
    train(tiny_run("--max_steps", "2", "--overwrite_output_dir"))
    assert json.loads((tmp_path / "run" / "training.json").read_text())["steps"] == 2
    assert (tmp_path / "run" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "batches",
    [("--max_tokens_per_batch", "60"), ("--pool_batches", "3", "--per_device_train_batch_size", "6"), ()],
    ids=["token budget", "sorted pools", "random"],
)
def test_a_stopped_run_goes_on_to_the_same_losses(
    tiny_run: Arguments, tmp_path: Path, batches: tuple[str, ...]
) -> None:
    flags = (*batches, "--num_train_epochs", "3", "--config.dropout", "0.2", "--eval_strategy", "epoch")
    whole = train(tiny_run(*flags, folder="whole"))
    steps = whole.facts["steps"] // 3 + 2  # in the second epoch
    with pytest.raises(TrainingStopped, match=f"step {steps}"):
        train(tiny_run(*flags, folder="parts"), StopAt(steps))
    assert not (tmp_path / "parts" / "training.json").exists()
    rest = train(tiny_run(*flags, folder="parts"))
    assert losses(rest) == losses(whole)
    for name in ("eval_loss", "eval_bleu"):
        assert rest.metrics[name] == whole.metrics[name]
    first = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "whole").state_dict()
    second = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "parts").state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("architecture", PAPER_FLAGS)
def test_a_stopped_run_of_a_paper_s_recipe_goes_on_to_the_same_losses(tiny_run: Arguments, architecture: str) -> None:
    flags = (*PAPER_FLAGS[architecture], "--num_train_epochs", "2", "--per_device_train_batch_size", "10")
    flags = (*flags, "--config.dropout", "0.2")
    whole = train(tiny_run(*flags, architecture=architecture, folder="whole"))
    rates = [entry["learning_rate"] for entry in whole.log_history if "learning_rate" in entry]
    assert len(set(rates)) > 1 or "--halve_learning_rate_from" not in flags
    steps = whole.facts["steps"] // 2 + 2
    with pytest.raises(TrainingStopped, match=f"step {steps}"):
        train(tiny_run(*flags, architecture=architecture, folder="parts"), StopAt(steps))
    rest = train(tiny_run(*flags, architecture=architecture, folder="parts"))
    assert losses(rest) == losses(whole)


def test_an_unfinished_run_is_not_continued_with_other_settings(tiny_run: Arguments) -> None:
    with pytest.raises(TrainingStopped):
        train(tiny_run("--max_steps", "9"), StopAt(2))
    with pytest.raises(ValueError, match=r"started differently \(learning_rate: 5e-05 then, 0.5 now\)"):
        train(tiny_run("--max_steps", "9", "--learning_rate", "0.5"))


def test_pairs_beyond_learned_positions_are_found_before_training(tiny_run: Arguments) -> None:
    flags = ("--config.position_encoding", "learned", "--max_steps", "2")
    with pytest.raises(ValueError, match=r"\d+ training pairs have more than 6 tokens .* learns 6 positions"):
        train(tiny_run(*flags, "--config.max_position_embeddings", "6", architecture="transformer2017"))
    enough = ("--config.max_position_embeddings", "12", "--eval_strategy", "epoch")
    made = train(tiny_run(*flags, *enough, architecture="transformer2017", folder="enough"))
    assert made.facts["steps"] == 2


def test_settings_that_came_later_do_not_stop_a_run_that_began_before(tiny_run: Arguments, tmp_path: Path) -> None:
    flags = ("--max_steps", "4")
    with pytest.raises(TrainingStopped):
        train(tiny_run(*flags), StopAt(2))
    noted = tmp_path / "run" / "run.json"
    begun = json.loads(noted.read_text())
    del (
        begun["fingerprint"]["data"]["doc_stride"],
        begun["fingerprint"]["objective"],
        begun["fingerprint"]["pool_order"],
    )
    noted.write_text(json.dumps(begun))
    with pytest.raises(ValueError, match=r"started differently \(doc_stride: 128 then, 64 now\)"):
        train(tiny_run(*flags, "--doc_stride", "64"))
    assert train(tiny_run(*flags)).facts["steps"] == 4


def test_a_half_written_checkpoint_is_passed_over(tiny_run: Arguments, tmp_path: Path) -> None:
    flags = ("--max_steps", "6", "--save_strategy", "steps", "--save_steps", "2")
    whole = train(tiny_run(*flags, folder="whole"))
    with pytest.raises(TrainingStopped):
        train(tiny_run(*flags, folder="parts"), StopAt(4))
    broken = tmp_path / "parts" / "checkpoint-5"
    shutil.copytree(tmp_path / "parts" / "checkpoint-4", broken)
    (broken / "trainer_state.json").write_text('{"global_st')
    assert losses(train(tiny_run(*flags, folder="parts"))) == losses(whole)


def test_a_checkpoint_can_be_named(tiny_run: Arguments, tmp_path: Path) -> None:
    whole = train(tiny_run("--max_steps", "6", "--save_strategy", "steps", "--save_steps", "3", folder="whole"))
    checkpoint = str(tmp_path / "whole" / "checkpoint-3")
    again = train(tiny_run("--max_steps", "6", "--resume_from_checkpoint", checkpoint, folder="again"))
    assert losses(again)[-3:] == losses(whole)[-3:]
    with pytest.raises(ValueError, match="no complete checkpoint"):
        train(tiny_run("--resume_from_checkpoint", str(tmp_path / "nowhere"), folder="third"))


def test_early_stopping_ends_the_run_and_the_best_model_is_kept(tiny_run: Arguments) -> None:
    evaluations = ("--eval_strategy", "steps", "--eval_steps", "1", "--save_strategy", "steps", "--save_steps", "1")
    best = ("--load_best_model_at_end", "True", "--metric_for_best_model", "loss", "--early_stopping_patience", "2")
    result = train(tiny_run(*evaluations, *best, "--max_steps", "30", "--learning_rate", "3.0"))
    seen = [entry["eval_loss"] for entry in result.log_history if "eval_loss" in entry]
    assert result.facts["steps"] < 30
    assert result.metrics["eval_loss"] == pytest.approx(min(seen), abs=1e-6)


def test_a_tokenizer_and_weights_can_be_given(tiny_run: Arguments, tmp_path: Path) -> None:
    train(tiny_run("--max_steps", "2", folder="first"))
    first = str(tmp_path / "first")
    train(tiny_run("--max_steps", "1", "--model", first, "--learning_rate", "0.0", folder="second"))
    weights = [AutoModelForSeq2SeqLM.from_pretrained(tmp_path / name).state_dict() for name in ("first", "second")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert (tmp_path / "first" / "tokenizer.json").read_text() == (tmp_path / "second" / "tokenizer.json").read_text()


def test_pairs_are_held_out_when_there_is_no_validation_split(
    tiny_run: Arguments, pair_folder: Path, tmp_path: Path
) -> None:
    alone = ["--dataset", str(pair_folder / "train.jsonl"), "--max_steps", "1", "--eval_strategy", "epoch"]
    with pytest.raises(ValueError, match=r"no split 'validation'.*leave out --streaming"):
        train(tiny_run(*alone, "--streaming", "True"))
    result = train(tiny_run(*alone, folder="parted"))  # as the message advises: a file alone has a test split, too
    assert result.facts["parted"]["validation"] == result.facts["validation"]["sentences"] > 0
    result = train(tiny_run(*alone, "--validation_share", "0.1", folder="held_out"))
    assert result.facts["validation"]["sentences"] == 6
    assert result.facts["training_pairs"] == 54


def test_a_stream_can_be_trained_on(tiny_run: Arguments) -> None:
    result = train(tiny_run("--streaming", "True", "--max_steps", "3", "--eval_strategy", "steps"))
    assert result.facts["steps"] == 3
    assert result.metrics["eval_sentences"] == 13
    with pytest.raises(ValueError, match="sorted batches need"):
        train(tiny_run("--streaming", "True", "--max_steps", "3", "--pool_batches", "2", folder="second"))


def test_tensorboard_writes_events(tiny_run: Arguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    train(tiny_run("--max_steps", "2", "--report_to", "tensorboard"))
    assert list((tmp_path / "events").rglob("events.out.tfevents.*"))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--config.hiden_size", "3"), "RNNsearchConfig has no field hiden_size"),
        (("--tokenizer.size", "3"), "tokenizer settings"),
        (("--generation.beams", "3"), "generation settings that do not exist: beams"),
        (("--max_source_length", "1"), "all 60 training pairs are longer"),
        (("--train_split", "dev"), "no split 'dev' to train on"),
    ],
)
def test_wrong_settings_are_refused_by_name(tiny_run: Arguments, flags: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(tiny_run("--max_steps", "1", *flags))


def test_the_command_prints_the_validation_numbers(tiny_run: Arguments, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tiny_run("--max_steps", "1", "--eval_strategy", "steps")) == 0
    printed = capsys.readouterr().out
    assert "validation perplexity" in printed and "saved in" in printed
    assert main(["--help"]) == 0
    assert "--recipe" in capsys.readouterr().out


def test_a_stop_request_after_the_last_step_changes_nothing() -> None:
    stop = StopOnRequest()
    assert stop.stopped_at is None and not stop.requested
