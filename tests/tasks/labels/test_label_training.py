"""Classifiers through the training command: every kind of label, pairs, documents, resuming, word vectors."""

import gzip
import json
import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import StopAt, check_two_processes, losses, train
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from hf_attention_zoo.folders.privacy import public_facts
from hf_attention_zoo.tasks.labels.evaluation import evaluate_classifier, summary
from hf_attention_zoo.training.output_folder import TrainingStopped

SIZES = {
    "self_attentive": [
        *("--config.embedding_size", "8", "--config.hidden_size", "6", "--config.attention_size", "6"),
        *("--config.num_hops", "3", "--config.classifier_size", "8"),
    ],
    "han": ["--config.embedding_size", "8", "--config.hidden_size", "6", "--config.attention_size", "6"],
}
FLAGS = [
    *("--tokenizer.kind", "word", "--tokenizer.vocab_size", "60", "--use_cpu", "True", "--disable_tqdm", "True"),
    *("--logging_steps", "1", "--per_device_train_batch_size", "8", "--learning_rate", "0.02", "--report_to", "none"),
]
Arguments = Callable[..., list[str]]


def row_of(rng: random.Random) -> dict[str, Any]:
    """A text of nonsense with one telling word, and labels of every kind that it tells."""
    words = [rng.choice(["ba", "da", "ga", "ka", "la", "ma"]) for _ in range(rng.randint(2, 7))]
    number = rng.randrange(3)
    words.insert(rng.randrange(len(words)), ("good", "bad", "fair")[number])
    return {
        "text": " ".join(words),
        "sentences": [" ".join(words), "ba ba ."],
        "second": rng.choice(("ba da", " ".join(words))),
        "label": ("good", "bad", "fair")[number],
        "rating": number - 0.5,
        "has_ba": int("ba" in words),
        "has_da": int("da" in words),
    }


@pytest.fixture(scope="session")
def labelled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train, validation and test files with all columns."""
    folder, rng = tmp_path_factory.mktemp("labelled"), random.Random(0)
    for split, count in (("train", 60), ("validation", 13), ("test", 11)):
        rows = [row_of(rng) for _ in range(count)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def label_run(labelled_folder: Path, tmp_path: Path) -> Arguments:
    def arguments(*flags: str, model: str = "self_attentive", folder: str = "run") -> list[str]:
        run = [model, "--recipe", "none", "--dataset", str(labelled_folder), "--output_dir", str(tmp_path / folder)]
        return [*run, *SIZES[model], *FLAGS, *flags]

    return arguments


@pytest.mark.slow
@pytest.mark.parametrize("model", ["self_attentive", "han"])
def test_two_processes_give_the_losses_of_one(label_run: Arguments, tmp_path: Path, model: str) -> None:
    own = ("--text_column", "sentences") if model == "han" else ()
    check_two_processes(lambda *flags, folder: label_run(*own, *flags, model=model, folder=folder), tmp_path)


@pytest.mark.parametrize("model", ["self_attentive", "han"])
def test_a_run_learns_scores_and_serves_the_pipeline(
    label_run: Arguments, tmp_path: Path, labelled_folder: Path, model: str
) -> None:
    column = ("--text_column", "sentences") if model == "han" else ()
    flags = ("--num_train_epochs", "8", "--eval_strategy", "epoch", "--seed", "3", *column)
    result = train(label_run(*flags, model=model))
    folder = tmp_path / "run"
    facts = json.loads((folder / "training.json").read_text())
    assert facts["labels"] == ["bad", "fair", "good"] and facts["training_texts"] == 60
    assert {"loss", "accuracy", "macro_f1", "texts"} <= set(facts["validation"])
    assert facts["validation"]["texts"] == 13
    history = losses(result)
    assert sum(history[-4:]) < 0.7 * sum(history[:4])

    metrics = evaluate_classifier(folder)
    assert json.loads((folder / "metrics.json").read_text()) == public_facts(metrics)
    assert metrics["results"]["accuracy"] > metrics["baselines"]["majority"]["accuracy"]
    assert [one["name"] for one in metrics["classes"]] == facts["labels"]
    assert sum(map(sum, metrics["confusion"])) == metrics["dataset"]["rows"] == 11
    printed = summary(metrics)
    assert "most frequent" in printed and "tf-idf, linear" in printed and "left_out" not in metrics
    assert all(f"{one['f1']:.3f}" in printed and one["name"] in printed for one in metrics["classes"])

    texts = [json.loads(line)["text"] for line in (labelled_folder / "test.jsonl").read_text().splitlines()]
    classify = pipeline("text-classification", model=str(folder))
    together, alone = classify(texts, batch_size=4), [classify(text)[0] for text in texts]
    assert [one["label"] for one in together] == [one["label"] for one in alone]
    assert [one["score"] for one in together] == pytest.approx([one["score"] for one in alone], abs=1e-5)
    assert set(facts["labels"]) >= {one["label"] for one in alone}


def test_the_validation_loss_does_not_depend_on_the_batches(label_run: Arguments) -> None:
    flags = ("--max_steps", "1", "--learning_rate", "0.0", "--eval_strategy", "steps")
    found = [
        train(label_run(*flags, "--per_device_eval_batch_size", size, folder=size)).metrics for size in ("13", "4")
    ]
    assert found[0]["eval_loss"] == pytest.approx(found[1]["eval_loss"], abs=1e-6)
    assert found[0]["eval_macro_f1"] == found[1]["eval_macro_f1"]


@pytest.mark.parametrize("model", ["self_attentive", "han"])
@pytest.mark.parametrize(
    ("column", "names", "metric"),
    [("rating", ["rating"], "mse"), ("has_ba,has_da", ["has_ba", "has_da"], "micro_f1")],
    ids=["regression", "several classes"],
)
def test_numbers_and_several_classes_train_with_their_own_metrics(
    label_run: Arguments, tmp_path: Path, column: str, names: list[str], metric: str, model: str
) -> None:
    flags = ("--label_column", column, "--num_train_epochs", "2", "--recipe", "small")  # whose metric is accuracy
    if metric == "mse":
        with pytest.raises(ValueError, match="accuracy: this validation does not make it; name one of mse, mae"):
            train(label_run(*flags, "--metric_for_best_model", "accuracy", model=model))
    result = train(label_run(*flags, model=model))
    assert f"eval_{metric}" in result.metrics
    assert result.facts["labels"] == names
    if metric == "mse":
        assert result.facts["arguments"]["metric_for_best_model"] == "mse"
        assert result.facts["arguments"]["greater_is_better"] is False
    config = AutoModelForSequenceClassification.from_pretrained(tmp_path / "run").config
    assert list(config.id2label.values()) == names and config.problem_type == result.facts["problem_type"]
    (answer,) = pipeline("text-classification", model=str(tmp_path / "run"))(["ba da good"])
    assert answer["label"] in names
    metrics = evaluate_classifier(tmp_path / "run")
    assert metric in metrics["results"] and metric in metrics["baselines"]["majority"]


def test_pairs_train_and_are_scored(label_run: Arguments, tmp_path: Path) -> None:
    flags = ("--text_pair_column", "second", "--config.sentence_pairs", "True", "--config.gated_size", "5")
    train(label_run(*flags, "--max_steps", "3"))
    metrics = evaluate_classifier(tmp_path / "run", batch_size=3)
    assert metrics["dataset"]["rows"] == 11 and "tfidf" in metrics["baselines"]
    (answer,) = pipeline("text-classification", model=str(tmp_path / "run"))([{"text": "ba", "text_pair": "good"}])
    assert answer["label"] in ("good", "bad", "fair")


@pytest.mark.parametrize(
    "batches",
    [("--max_tokens_per_batch", "40"), ("--train_sampling_strategy", "group_by_length")],
    ids=["token budget", "by length"],
)
def test_a_stopped_run_goes_on_to_the_same_losses(
    label_run: Arguments, tmp_path: Path, batches: tuple[str, ...]
) -> None:
    flags = (*batches, "--num_train_epochs", "2", "--config.dropout", "0.2", "--eval_strategy", "epoch")
    whole = train(label_run(*flags, folder="whole"))
    steps = whole.facts["steps"] // 2 + 1
    with pytest.raises(TrainingStopped, match=f"step {steps}"):
        train(label_run(*flags, folder="parts"), StopAt(steps))
    (saved,) = (tmp_path / "parts").glob(f"checkpoint-{steps}/trainer_state.json")
    state = json.loads(saved.read_text())
    state["stateful_callbacks"]["Stopwatch"]["args"]["seconds"] += 1000
    saved.write_text(json.dumps(state))
    rest = train(label_run(*flags, folder="parts"))
    assert losses(rest) == losses(whole)
    assert rest.metrics["eval_loss"] == whole.metrics["eval_loss"]
    assert 1000 < rest.facts["seconds"] < 1000 + 600


def test_patience_counts_on_in_a_run_that_goes_on(label_run: Arguments, tmp_path: Path) -> None:
    flags = (
        "--num_train_epochs",
        "9",
        "--learning_rate",
        "0.0",
        "--eval_strategy",
        "epoch",
        "--save_strategy",
        "epoch",
    )
    flags += ("--load_best_model_at_end", "True", "--early_stopping_patience", "2")
    whole = train(label_run(*flags, folder="whole"))
    assert whole.facts["epochs"] == 3  # the first is the best, two are no better
    steps = 2 * whole.facts["steps"] // 3 + 1
    with pytest.raises(TrainingStopped, match=f"step {steps}"):
        train(label_run(*flags, folder="parts"), StopAt(steps))
    assert train(label_run(*flags, folder="parts")).facts["epochs"] == 3


def test_word_vectors_start_the_embeddings_and_may_stay(label_run: Arguments, tmp_path: Path) -> None:
    lines = [f"{word} {' '.join(str(i + j / 8) for j in range(8))}" for i, word in enumerate(("good", "ba"))]
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    vectors = ("--word_vectors", str(tmp_path / "v.txt.gz"))
    result = train(label_run(*vectors, "--freeze_word_vectors", "True", "--max_steps", "3"))
    noted = result.facts["word_vectors"]
    assert (noted["source"], noted["frozen"], noted["found"]) == ("v.txt.gz", True, 2)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "run")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    row = model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids("ba")]
    assert torch.equal(row, torch.tensor([1 + j / 8 for j in range(8)]))
    with pytest.raises(ValueError, match="would freeze random embeddings"):
        train(label_run("--freeze_word_vectors", "True", folder="second"))


def test_vectors_learnt_from_the_training_texts_start_the_embeddings(label_run: Arguments, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    result = train(label_run("--word_vectors", "gensim", "--max_steps", "1", "--learning_rate", "0.0"))
    noted = result.facts["word_vectors"]
    assert noted["source"] == "gensim" and 0 < noted["found"] <= noted["entries"]
    assert noted["running_words"] > 0.9


def test_weights_are_trained_further_with_the_labels_in_their_order(label_run: Arguments, tmp_path: Path) -> None:
    train(label_run("--max_steps", "2", "--class_names", "good,fair,bad", folder="first"))
    first = str(tmp_path / "first")
    train(label_run("--max_steps", "1", "--model", first, "--learning_rate", "0.0", folder="second"))
    models = [AutoModelForSequenceClassification.from_pretrained(tmp_path / name) for name in ("first", "second")]
    assert models[0].config.id2label == models[1].config.id2label == {0: "good", 1: "fair", 2: "bad"}
    states = [model.state_dict() for model in models]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    with pytest.raises(ValueError, match="3 label names for 1 numbers a row: good, fair, bad"):
        train(label_run("--model", first, "--label_column", "rating", folder="third"))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--source_lang", "de"), "--source_lang is for pairs of languages; self_attentive reads labelled texts"),
        (("--streaming", "True"), "cannot be a stream"),
        (("--label_smoothing_factor", "0.1"), "label smoothing would take the loss out of the model's hands"),
        (("--generation.num_beams", "3"), "self_attentive generates nothing"),
        (("--max_source_length", "1"), "all 60 training texts are longer than max_source_length=1"),
        (("--label_column", "stars"), "has no column 'stars'"),
        (("--class_names", "good,bad"), "the label is 'fair'; the classes are good, bad"),
        (("--config.hiden_size", "3"), "SelfAttentiveConfig has no field hiden_size"),
        (("--dataset", "translation_de_en"), "holds translations, not labels"),
        (("--word_vectors", "nowhere.txt"), "no such file of word vectors: nowhere.txt"),
    ],
)
def test_wrong_settings_are_refused_by_name(label_run: Arguments, flags: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(label_run("--max_steps", "1", *flags))


def test_evaluation_refuses_what_the_model_does_not_know(label_run: Arguments, tmp_path: Path) -> None:
    train(label_run("--max_steps", "1"))
    with pytest.raises(ValueError, match="no split 'dev' with labels; it has: train, validation, test"):
        evaluate_classifier(tmp_path / "run", split="dev")
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "ba", "label": "awful"}\n{"text": "ba", "label": "good"}\n')
    with pytest.raises(ValueError, match="the label is 'awful'; the classes are bad, fair, good"):
        evaluate_classifier(tmp_path / "run", dataset=str(other), split="train")


def test_the_evaluate_command_finds_out_what_the_folder_holds(
    label_run: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hf_attention_zoo.tasks.evaluate import main

    monkeypatch.setattr("hf_attention_zoo.tasks.labels.evaluation.tfidf_available", lambda: False)
    train(label_run("--max_steps", "1"))
    assert main([str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    assert "most frequent" in printed and "precision     recall         F1    support" in printed
    assert [line.split()[0] for line in printed.splitlines()[-3:]] == ["bad", "fair", "good"]
    assert "  the tf-idf baseline needs scikit-learn: pip install 'hf_attention_zoo[baselines]'\n" in printed
    (left_out,) = evaluate_classifier(tmp_path / "run")["left_out"]
    assert left_out in printed
    answers = tmp_path / "answers.jsonl"
    assert main([str(tmp_path / "run"), "--no_baselines", "--max_samples", "4", "--predictions", str(answers)]) == 0
    assert "test split, 4 texts" in capsys.readouterr().out
    lines = [json.loads(line) for line in answers.read_text().splitlines()]
    assert len(lines) == 4 and set(lines[0]) == {"label", "predicted", "logits"}


def test_classes_may_get_names_that_say_more_and_are_scored_as_before(label_run: Arguments, tmp_path: Path) -> None:
    train(label_run("--max_steps", "1"))
    folder, names = tmp_path / "run", ["1 star", "2 stars", "3 stars"]
    before = evaluate_classifier(folder, baselines=False)
    script = runpy.run_path(str(Path(__file__).parents[3] / "scripts" / "name_labels.py"))
    script["name_labels"](folder, names)
    with pytest.raises(ValueError, match="3 classes; give each a name of its own"):
        script["name_labels"](folder, names[:2])
    assert [one["name"] for one in json.loads((folder / "metrics.json").read_text())["classes"]] == names
    after = evaluate_classifier(folder, baselines=False)
    assert after["confusion"] == before["confusion"] and after["results"]["loss"] == before["results"]["loss"]
    assert [one["name"] for one in after["classes"]] == names
    (answer,) = pipeline("text-classification", model=str(folder))("good and fair")
    assert answer["label"] in names
