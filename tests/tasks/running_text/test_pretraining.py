"""`attention-zoo pretrain`: tiny runs that are stopped and go on, two lengths, bad input; what it leaves behind."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from training_runs import StopAt, check_two_processes, losses, without_dropout
from transformers import AutoModelForCausalLM, AutoModelForPreTraining, AutoTokenizer, pipeline

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.evaluation import evaluate_language, summary
from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.running_text.rows import read_documents
from hf_attention_zoo.tasks.running_text.training import PretrainingTrainer
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.entry_point import TrainingResult
from hf_attention_zoo.training.held_out_trainer import HeldOutTrainer
from hf_attention_zoo.training.output_folder import TrainingStopped

Arguments = Callable[..., list[str]]
SIZES = [
    *("--config.hidden_size", "16", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"),
    *("--config.intermediate_size", "32", "--config.max_position_embeddings", "48"),
    *("--tokenizer.vocab_size", "400", "--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none"),
    *("--logging_steps", "1", "--per_device_train_batch_size", "4", "--learning_rate", "0.003", "--length", "32"),
]


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain text, a document between blank lines."""
    folder = tmp_path_factory.mktemp("text")
    for split, count in (("train", 60), ("validation", 15), ("test", 15)):
        documents = read_documents("lm_debian", split="validation" if split == "train" else "test", limit=count)
        (folder / f"{split}.txt").write_text("\n\n".join("\n".join(d) for d in documents) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def run_arguments(text_folder: Path, tmp_path: Path) -> Arguments:
    def arguments(*flags: str, model: str = "bert2018", folder: str = "run") -> list[str]:
        fields = {f"--config.{name}" for name in get_architecture(model).tiny_config().to_dict()}
        pairs = [*zip(SIZES[::2], SIZES[1::2], strict=True)]
        known = [pair for pair in pairs if not pair[0].startswith("--config.") or pair[0] in fields]
        sizes = [word for pair in known for word in pair]
        data = ("--dataset", str(text_folder), "--output_dir", str(tmp_path / folder))
        second = ("--second_length", "48") if model == "bert2018" else ()
        return [model, *data, *sizes, "--max_steps", "8", "--eval_steps", "8", *second, *flags]

    return arguments


def pretrain(argv: list[str], *callbacks: StopAt) -> TrainingResult:
    plan, task = pretraining_plan(argv, command="attention-zoo pretrain ...")
    return run_training(plan, task=task, callbacks=callbacks, say=lambda text: None)


@pytest.mark.parametrize("model", ["bert2018", "gpt2018"])
def test_a_stopped_run_goes_on_to_the_same_losses(run_arguments: Arguments, tmp_path: Path, model: str) -> None:
    phases = ("--second_share", "0.25") if model == "bert2018" else ()
    whole = pretrain(run_arguments(*phases, model=model, folder="whole"))
    workers = ("--seed", "42", "--dataloader_num_workers", "2")  # the whole run has none
    with pytest.raises(TrainingStopped):
        pretrain(run_arguments(*phases, *workers, model=model), StopAt(5))
    going_on = pretrain(run_arguments(*phases, *workers, model=model))
    assert losses(going_on) == losses(whole)
    assert going_on.metrics["eval_loss"] == whole.metrics["eval_loss"]

    folder = tmp_path / "whole"
    assert not (folder / "encoded_text").exists()
    facts = json.loads((folder / "training.json").read_text())
    assert facts["examples_seen"] == 32 and facts["training_documents"] == 60
    tokenizer = AutoTokenizer.from_pretrained(folder)
    auto = AutoModelForPreTraining if model == "bert2018" else AutoModelForCausalLM
    assert auto.from_pretrained(folder).config.vocab_size == len(tokenizer)


@pytest.mark.parametrize(
    ("model", "sizes"),
    [("elman", ["--config.embedding_size", "8", "--config.truncation", "4"]), ("nnlm", ["--config.order", "3"])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_stopped_run_carries_its_states_on(run_arguments: Arguments, model: str, sizes: list[str]) -> None:
    flags = ["--config.stateful", "True", "--objective.batching", "contiguous", "--eval_strategy", "no"]
    flags += ["--tokenizer.kind", "subword", *sizes]
    whole = pretrain(run_arguments(*flags, model=model, folder="whole"))
    with pytest.raises(TrainingStopped):
        pretrain(run_arguments(*flags, "--seed", "42", model=model), StopAt(5))
    assert losses(pretrain(run_arguments(*flags, "--seed", "42", model=model))) == losses(whole)


def test_a_run_that_goes_on_without_passing_over_batches_goes_on_in_the_text(run_arguments: Arguments) -> None:
    quick = (
        "--eval_strategy",
        "no",
        *without_dropout(run_arguments(model="gpt2018")),
    )  # its draws are not passed over
    whole = pretrain(run_arguments(*quick, model="gpt2018", folder="whole"))
    with pytest.raises(TrainingStopped):
        pretrain(run_arguments(*quick, "--seed", "42", model="gpt2018"), StopAt(5))
    going_on = pretrain(run_arguments(*quick, "--seed", "42", "--ignore_data_skip", "True", model="gpt2018"))
    assert losses(going_on) == pytest.approx(losses(whole), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert2018", "gpt2018", "nnlm"])
def test_two_processes_give_the_losses_of_one(run_arguments: Arguments, tmp_path: Path, model: str) -> None:
    def arguments(*flags: str, folder: str) -> list[str]:
        return ["pretrain", *run_arguments(*flags, model=model, folder=folder)]

    check_two_processes(arguments, tmp_path, "hf_attention_zoo.cli.command")


def test_pretrained_models_serve_their_pipelines_and_are_scored(run_arguments: Arguments, tmp_path: Path) -> None:
    trained = pretrain(run_arguments(folder="bert"))
    pretrain(run_arguments(model="gpt2018", folder="gpt"))
    filled = pipeline("fill-mask", model=str(tmp_path / "bert"))("This [MASK] provides a library.", top_k=3)
    assert len(filled) == 3 and {"token_str", "score", "sequence"} <= set(filled[0])
    fill = pipeline("fill-mask", model=str(tmp_path / "bert"), tokenizer_kwargs={"truncation": True})
    assert len(fill("This [MASK] is a library of words. " + "And more of it. " * 40)) == 5  # of 48 positions
    written = pipeline("text-generation", model=str(tmp_path / "gpt"))("This package", max_new_tokens=4)
    assert written[0]["generated_text"].lower().startswith("this package")

    metrics = evaluate_language(tmp_path / "bert", batch_size=4)
    assert {"masked_perplexity", "next_sentence_accuracy"} <= set(metrics["results"]) and metrics["length"] == 48
    assert set(metrics["baselines"]) == {"1-gram", "2-gram", "3-gram"} and metrics["task"] == "fill-mask"
    metrics = evaluate_language(tmp_path / "gpt", batch_size=4)
    assert metrics["length"] == 32  # the only one
    results, trigram = metrics["results"], metrics["baselines"]["3-gram"]
    assert results["perplexity_per_word"] > results["perplexity"] > trigram["perplexity"] > 1
    assert "perplexity" in summary(metrics)
    same = evaluate_language(tmp_path / "bert", split="validation", batch_size=4, baselines=False)
    assert same["length"] == 48 and same["results"]["loss"] == pytest.approx(trained.metrics["eval_loss"], abs=1e-4)


def test_what_reads_the_finished_folder_cuts_at_its_positions(run_arguments: Arguments, tmp_path: Path) -> None:
    quick = ("--max_steps", "1", "--eval_strategy", "no")
    pretrain(run_arguments(*quick, model="gpt2018"))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    assert tokenizer.model_max_length == 48
    assert len(tokenizer("a library of words " * 40, truncation=True)["input_ids"]) == 48
    longer = ("--tokenizer", str(tmp_path / "run"), "--config.max_position_embeddings", "64")
    pretrain(run_arguments(*quick, *longer, model="gpt2018", folder="longer"))
    assert AutoTokenizer.from_pretrained(tmp_path / "longer").model_max_length == 64


def test_other_steps_would_move_the_second_phase(run_arguments: Arguments) -> None:
    with pytest.raises(TrainingStopped):
        pretrain(run_arguments("--eval_strategy", "no"), StopAt(2))
    with pytest.raises(ValueError, match=r"started differently \(phases: \[\[32, 28\], .* then, \[\[32, 56\], .* now"):
        pretrain(run_arguments("--eval_strategy", "no", "--max_steps", "16"))


@pytest.mark.parametrize(
    ("auto", "onward", "results"),
    [
        ("AutoModelForMaskedLM", False, {"masked_perplexity"}),
        ("AutoModelForPreTraining", False, {"masked_perplexity", "next_sentence_accuracy"}),
        ("AutoModelForMaskedLM", True, {"perplexity"}),
        ("AutoModelForPreTraining", True, {"perplexity"}),
    ],
)
def test_models_of_unknown_training_are_scored_for_what_they_are(
    text_folder: Path, tmp_path: Path, auto: str, onward: bool, results: set[str]
) -> None:
    row = get_architecture("bert2018")
    documents = read_documents(text_folder)
    tokenizer = row.tokenizer_class.train((line for document in documents for line in document), vocab_size=300)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer), "left_to_right": onward}
    row.model_classes[auto](row.config_class(**fields)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    found = evaluate_language(tmp_path, dataset=str(text_folder), max_documents=4, length=32, baselines=False)
    names = {"masked_perplexity", "perplexity", "next_sentence_accuracy"}
    assert names & set(found["results"]) == results


def test_left_to_right_without_pairs_is_a_masked_lm(run_arguments: Arguments, tmp_path: Path) -> None:
    flags = ("--objective.next_sentence", "False", "--objective.left_to_right", "True", "--max_steps", "2")
    result = pretrain(run_arguments(*flags))
    assert "eval_perplexity" in result.metrics and "eval_masked_perplexity" not in result.metrics
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["architectures"] == ["BERT2018ForMaskedLM"] and config["left_to_right"] is True


def test_passes_over_the_text_can_be_counted_in_place_of_steps(run_arguments: Arguments) -> None:
    flags = ("--max_steps", "-1", "--num_train_epochs", "0.1", "--eval_strategy", "no")
    result = pretrain(run_arguments(*flags, model="gpt2018"))
    assert 0 < result.facts["steps"] < 60 and result.metrics == {}


def test_a_model_that_goes_on_is_what_the_objective_asks_for(run_arguments: Arguments, tmp_path: Path) -> None:
    pretrain(run_arguments("--max_steps", "2"))
    taken = run_arguments("--model", str(tmp_path / "run"), folder="more")
    onward = ("--objective.next_sentence", "False", "--objective.left_to_right", "True")
    with pytest.raises(ValueError, match="the model has left_to_right=False, the objective left_to_right=True"):
        pretrain([*taken, *onward])
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    words = len(tokenizer)
    tokenizer.add_tokens(["another", "one"])
    tokenizer.save_pretrained(tmp_path / "longer")
    with pytest.raises(ValueError, match=f"the tokenizer has {words + 2} tokens, the model {words}"):
        pretrain([*taken, "--tokenizer", str(tmp_path / "longer")])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--length", "64"), "48 positions"),
        (("--objective.mask", "1"), "no setting mask"),
        (("--validation_split", "nothing"), "no held-out text"),
        (("--second_length", "48", "--second_share", "1.5"), "second_share=1.5"),
        (("--pool_batches", "2"), "sorted batches"),
        (("--text_column", "story"), "plain text, which has no column 'story'"),
    ],
)
def test_bad_settings_are_refused_before_work_is_lost(
    run_arguments: Arguments, flags: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pretrain(run_arguments(*flags))


def test_held_out_text_too_short_for_the_second_length_is_refused_at_once(
    text_folder: Path, run_arguments: Arguments
) -> None:
    (text_folder / "validation.txt").write_text("It came.\n", encoding="utf-8")
    arguments = run_arguments("--length", "8", "--second_length", "40", "--eval_steps", "100", model="gpt2018")
    with pytest.raises(ValueError, match="the held-out text has fewer than 40 tokens"):
        pretrain(arguments)


def test_all_documents_held_out_leave_nothing_to_train_on(text_folder: Path, run_arguments: Arguments) -> None:
    arguments = run_arguments("--held_out_documents", "60")
    arguments[arguments.index("--dataset") + 1] = str(text_folder / "train.txt")
    with pytest.raises(ValueError, match="--held_out_documents 60 holds out all documents"):
        pretrain(arguments)


def test_other_architectures_are_told_apart() -> None:
    with pytest.raises(ValueError, match="attention-zoo train rnnsearch"):
        pretraining_plan(["rnnsearch", "--recipe", "none", "--dataset", "lm_debian", "--output_dir", "x"])


def test_true_goes_on_from_the_newest_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(HeldOutTrainer, "train", lambda self, checkpoint: begun.append(checkpoint), raising=False)
    trainer = object.__new__(PretrainingTrainer)
    trainer.args = SimpleNamespace(output_dir=str(tmp_path), process_index=0, world_size=1)
    trainer.train_dataset, trainer.model = None, torch.nn.Linear(1, 1)
    with pytest.raises(ValueError, match="no checkpoint in"):
        trainer.train(True)
    for step in (3, 12):
        (tmp_path / f"checkpoint-{step}").mkdir()
    trainer.train(True)
    assert begun == [str(tmp_path / "checkpoint-12")]
