"""Tags, questions, choices and pairs through the training command: learnt, scored, saved, in their pipelines."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import check_two_processes, losses, train
from transformers import AutoConfig, AutoModel, AutoTokenizer, pipeline

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.choices.evaluation import NO_USUAL_PLACE, evaluate_chooser
from hf_attention_zoo.tasks.labels.evaluation import evaluate_classifier
from hf_attention_zoo.tasks.questions import evaluation as question_evaluation
from hf_attention_zoo.tasks.questions.evaluation import evaluate_answerer, summary
from hf_attention_zoo.tasks.questions.examples import question_windows
from hf_attention_zoo.tasks.questions.training import QuestionTask
from hf_attention_zoo.tasks.table import task_for
from hf_attention_zoo.tasks.tags.evaluation import evaluate_tagger, predict_tags
from hf_attention_zoo.training.zoo_trainer import ZooTrainer

NOUNS, VERBS, NAMES = ("dog", "cat", "horse"), ("sees", "likes", "hunts"), ("Anna", "Bert", "Carla", "David")
SIZES = {
    "bert2018": [
        *("--config.hidden_size", "32", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"),
        *("--config.intermediate_size", "64", "--config.max_position_embeddings", "40"),
    ],
}
SIZES["gpt2018"] = SIZES["bert2018"]
FLAGS = [
    *("--tokenizer.vocab_size", "120", "--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none"),
    *("--num_train_epochs", "6", "--learning_rate", "0.005", "--per_device_train_batch_size", "8"),
]
Arguments = Callable[..., list[str]]


def tagged_row(rng: random.Random) -> dict[str, Any]:
    words = ["the", rng.choice(NOUNS), rng.choice(VERBS), rng.choice(NAMES), "."]
    return {"tokens": words, "upos": ["DET", "NOUN", "VERB", "PROPN", "PUNCT"]}


def asked_row(rng: random.Random, answered: bool = True) -> dict[str, Any]:
    """The one name in the context answers; without it nothing does."""
    texts = [f"the {rng.choice(NOUNS)} {rng.choice(VERBS)} the {rng.choice(NOUNS)}." for _ in range(3)]
    name, place = rng.choice(NAMES), rng.randrange(3)
    start = sum(len(text) + 1 for text in texts[:place])
    if answered:
        texts[place] = f"{name} came."
    answers = {"text": [name] * answered, "answer_start": [start] * answered}
    return {"question": "who came ?", "context": " ".join(texts), "answers": answers}


def choice_row(rng: random.Random) -> dict[str, Any]:
    """The ending that goes on with the noun of the context is right, and the only one with a noun."""
    noun, label = rng.choice(NOUNS), rng.randrange(3)
    words = [noun if number == label else rng.choice(VERBS) for number in range(3)]
    return {"context": f"a {noun} came", "choices": [f"the {word} went" for word in words], "label": label}


def nested(rng: random.Random, number: int) -> dict[str, Any]:
    """A paragraph in the layout of SQuAD 2.0; every other one has no answer."""
    row = asked_row(rng, answered=number % 2 == 0)
    pairs = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
    answers = [{"text": text, "answer_start": start} for text, start in pairs]
    asked = {"id": str(number), "question": row["question"], "answers": answers, "is_impossible": not answers}
    return {"context": row["context"], "qas": [asked]}


def pair_row(rng: random.Random) -> dict[str, Any]:
    one, other = rng.choice(NOUNS), rng.choice(NOUNS)
    return {"text": f"a {one} came", "text_pair": f"the {other} went", "label": ["other", "same"][one == other]}


ROWS = {"tags": tagged_row, "questions": asked_row, "choices": choice_row, "pairs": pair_row}


@pytest.fixture(scope="module")
def task_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind with train, validation and test files."""
    folder, rng = tmp_path_factory.mktemp("tasks"), random.Random(0)
    for kind, make in ROWS.items():
        (folder / kind).mkdir()
        for split, count in (("train", 60), ("validation", 12), ("test", 12)):
            lines = "".join(json.dumps(make(rng)) + "\n" for _ in range(count))
            (folder / kind / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "nested").mkdir()
    for split, count in (("train", 80), ("dev", 20), ("test", 20)):
        text = json.dumps({"data": [{"paragraphs": [nested(rng, number) for number in range(count)]}]}, indent=1)
        (folder / "nested" / f"{split}.json").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def task_run(task_folders: Path, tmp_path: Path) -> Arguments:
    def arguments(kind: str, *flags: str, model: str = "bert2018", folder: str = "run") -> list[str]:
        data = ("--dataset", str(task_folders / kind), "--output_dir", str(tmp_path / folder))
        return [model, *data, *SIZES[model], *FLAGS, *flags]

    return arguments


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert2018", "gpt2018"])
def test_two_processes_give_the_losses_of_one(task_run: Arguments, tmp_path: Path, model: str) -> None:
    check_two_processes(lambda *flags, folder: task_run("pairs", *flags, model=model, folder=folder), tmp_path)


def test_tags_are_learnt_scored_and_served(task_run: Arguments, tmp_path: Path) -> None:
    result = train(task_run("tags", "--task", "token-classification"))
    assert result.metrics["eval_accuracy"] > 0.9
    assert result.facts["tags"] == ["DET", "NOUN", "PROPN", "PUNCT", "VERB"]
    metrics = evaluate_tagger(tmp_path / "run", predictions=tmp_path / "answers.jsonl")
    assert metrics["results"]["accuracy"] > 0.9 and metrics["results"]["words"] == 60
    assert metrics["baselines"]["most_frequent_tag"]["accuracy"] == 1.0
    assert metrics["baselines"]["majority"]["accuracy"] == pytest.approx(0.2)
    assert [(one["name"], one["texts"]) for one in metrics["classes"]] == [(tag, 12) for tag in result.facts["tags"]]
    assert metrics["entities"] == [] and "PUNCT" in task_for(tmp_path / "run").summary(metrics)
    answer = json.loads((tmp_path / "answers.jsonl").read_text().splitlines()[0])
    assert len(answer["predicted"]) == len(answer["words"]) == 5
    tagger = pipeline("token-classification", model=str(tmp_path / "run"), aggregation_strategy="first")
    assert [group["entity_group"] for group in tagger("the dog sees Anna .")] == answer["tags"]


def test_long_sentences_are_tagged_in_parts() -> None:
    row = get_architecture("bert2018")
    tokenizer = row.tokenizer_class.train([" ".join((*NOUNS, *VERBS, *NAMES))] * 3, vocab_size=80)
    config = row.config_class(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=16,
        num_labels=3,
    )
    model = row.model_classes["AutoModelForTokenClassification"](config).eval()
    tokenizer.model_max_length = 16
    sentences = [["dog"] * 50, [], ["cat", " ", "horse"]]
    found = predict_tags(model, tokenizer, sentences, batch_size=2)
    assert [len(row) for row in found] == [50, 0, 3]
    assert min(found[0]) >= 0 and found[2][1] == -1 and found[2][0] >= 0


def test_tags_do_not_depend_on_the_side_of_pads() -> None:
    row = get_architecture("bert2018")
    tokenizer = row.tokenizer_class.train([" ".join((*NOUNS, *VERBS, *NAMES))] * 3, vocab_size=80)
    torch.manual_seed(0)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer), "num_labels": 5}
    model = row.model_classes["AutoModelForTokenClassification"](row.config_class(**fields)).eval()
    sentences = [["dog", "sees", "Anna"], ["cat"], ["horse", "likes"]]
    alone = [predict_tags(model, tokenizer, [words])[0] for words in sentences]
    tokenizer.padding_side = "left"
    assert predict_tags(model, tokenizer, sentences, batch_size=3) == alone
    assert len({tag for tags in alone for tag in tags}) > 1


def test_training_windows_are_padded_where_their_answers_are_counted_from() -> None:
    row = get_architecture("bert2018")
    rng = random.Random(1)
    rows = [asked_row(rng) for _ in range(3)]
    contexts = [one["context"][: 12 + 20 * n] for n, one in enumerate(rows)]
    tokenizer = row.tokenizer_class.train([one["question"] for one in rows] + contexts, vocab_size=80)
    tokenizer.padding_side = "left"
    windows = question_windows(tokenizer, [one["question"] for one in rows], contexts, max_length=99, stride=9)
    batch = QuestionTask.collator(None, tokenizer)([{**window.columns, "start_positions": 3} for window in windows])
    assert len({len(window.spans) for window in windows}) > 1 and batch["start_positions"].tolist() == [3, 3, 3]
    for ids, window in zip(batch["input_ids"], windows, strict=True):
        assert ids[: len(window.spans)].tolist() == window.columns["input_ids"]


def test_questions_are_learnt_scored_and_served(task_run: Arguments, tmp_path: Path) -> None:
    result = train(task_run("questions", "--task", "question-answering", "--doc_stride", "8"))
    assert result.metrics["eval_f1"] >= result.metrics["eval_exact_match"] > 80
    assert result.facts["training_rows"] == 60 and result.facts["training_inputs"] >= 60
    metrics = evaluate_answerer(tmp_path / "run", predictions=tmp_path / "answers.jsonl")
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    constant = max(sum(name in row["right"] for row in answers) for name in NAMES) / len(answers)
    assert metrics["results"]["exact_match"] > 80 > 100 * constant and "null_threshold" not in metrics["results"]
    assert metrics["results"]["f1"] > metrics["baselines"]["likely_sentence"]["f1"] and "questions" in summary(metrics)
    answerer = pipeline("question-answering", model=str(tmp_path / "run"))
    context = "the dog sees the cat. Carla came."
    found = answerer(question="who came ?", context=context)
    assert context[found["start"] : found["end"]] == found["answer"] == "Carla" and 0.3 < found["score"] <= 1


def test_that_there_is_no_answer_is_learnt_by_a_threshold_of_the_validation_split(
    task_run: Arguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(task_run("nested", "--task", "question-answering"))
    metrics = evaluate_answerer(tmp_path / "run")
    results = metrics["results"]
    assert f"null_threshold={results['null_threshold']}" in summary(metrics)
    assert results["answerable_f1"] > 80 and results["unanswerable_f1"] > 80
    assert results["exact_match"] > 80 > 50  # of the empty answer to all
    only = evaluate_answerer(tmp_path / "run", split="validation")["results"]
    assert "null_threshold" in results and "null_threshold" not in only
    answer = question_evaluation.answer_questions

    def shifted(*args: Any, **kwargs: Any) -> list[Any]:
        return [replace(one, null=one.null + 100.0) for one in answer(*args, **kwargs)]

    monkeypatch.setattr(question_evaluation, "answer_questions", shifted)
    moved = evaluate_answerer(tmp_path / "run")["results"]
    assert moved["null_threshold"] == pytest.approx(results["null_threshold"] + 100.0, abs=0.01)
    assert moved["f1"] == results["f1"]


# The loss before training is log 3, and GPT's half of that of its words more: 3.1.
@pytest.mark.parametrize(("model", "least"), [("bert2018", 0.3), ("gpt2018", 1.5)])
def test_choices_are_learnt_and_scored(
    task_run: Arguments, task_folders: Path, tmp_path: Path, model: str, least: float
) -> None:
    result = train(task_run("choices", "--task", "multiple-choice", "--logging_steps", "8", model=model))
    assert losses(result)[-1] < least and result.metrics["eval_accuracy"] > 0.8
    metrics = evaluate_chooser(tmp_path / "run")
    assert metrics["baselines"]["chance"]["accuracy"] == pytest.approx(1 / 3, abs=1e-4)
    assert {"chance", "shared_words", "majority"} == set(metrics["baselines"])
    assert metrics["baselines"]["shared_words"]["accuracy"] == 1.0 and metrics["results"]["accuracy"] > 0.8
    places = metrics["classes"]
    assert [one["name"] for one in places] == ["0", "1", "2"]
    assert sum(one["texts"] for one in places) == metrics["dataset"]["rows"] == sum(map(sum, metrics["confusion"]))
    assert "place of the right choice" in task_for(tmp_path / "run").summary(metrics)
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "test.jsonl").symlink_to(task_folders / "choices" / "test.jsonl")
    alone = evaluate_chooser(tmp_path / "run", dataset=str(tmp_path / "held"))
    assert "majority" not in alone["baselines"] and alone["left_out"] == [NO_USUAL_PLACE]


@pytest.mark.filterwarnings("ignore:.*left out, its rows have no labels")
@pytest.mark.parametrize(
    ("kind", "task", "answer"),
    [
        ("tags", "token-classification", "upos"),
        ("questions", "question-answering", "answers"),
        ("choices", "multiple-choice", "label"),
        ("pairs", "text-classification", "label"),
    ],
)
def test_a_test_split_without_answers_stops_no_training_and_cannot_be_scored(
    task_run: Arguments, tmp_path: Path, kind: str, task: str, answer: str
) -> None:
    rng, folder = random.Random(2), tmp_path / "data"
    folder.mkdir()
    for split in ("train", "validation", "test"):
        rows = [ROWS[kind](rng) for _ in range(8)]
        for row in rows if split == "test" else ():
            del row[answer]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.warns(UserWarning, match="split test: left out, its rows have no"):
        result = train(task_run(kind, "--task", task, "--dataset", str(folder), "--num_train_epochs", "1"))
    assert {"eval_accuracy", "eval_f1"} & set(result.metrics)
    evaluate = {"tags": evaluate_tagger, "questions": evaluate_answerer, "choices": evaluate_chooser}
    with pytest.raises(ValueError, match=r"no column with the|no column with tags|no split 'test' with labels"):
        evaluate.get(kind, evaluate_classifier)(tmp_path / "run")


@pytest.mark.filterwarnings("ignore:.*left out, its rows have no")
@pytest.mark.parametrize(
    ("kind", "task", "answer", "message"),
    [
        ("tags", "token-classification", "upos", "line 1 of .*held.jsonl has no column with tags"),
        ("questions", "question-answering", "answers", "line 1 of .*held.jsonl has no column with the answers"),
        ("choices", "multiple-choice", "label", "line 1 of .*held.jsonl has no column with the right choice"),
        ("pairs", "text-classification", "label", "split validation has the columns .*none of them a label"),
    ],
)
def test_a_validation_file_without_answers_is_named_where_it_is_needed(
    tmp_path: Path, kind: str, task: str, answer: str, message: str
) -> None:
    rng = random.Random(2)
    rows = [ROWS[kind](rng) for _ in range(8)]
    held = [{name: value for name, value in row.items() if name != answer} for row in rows]
    for name, lines in (("mine", rows), ("held", held)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    files = ("--train_file", str(tmp_path / "mine.jsonl"), "--validation_file", str(tmp_path / "held.jsonl"))
    run = ["bert2018", "--task", task, *files, *SIZES["bert2018"], *FLAGS, "--num_train_epochs", "1"]
    with pytest.raises(ValueError, match=message):
        train([*run, "--output_dir", str(tmp_path / "refused")])
    flags = ("--eval_strategy", "no", "--load_best_model_at_end", "False", "--logging_steps", "1")
    assert len(losses(train([*run, *flags, "--output_dir", str(tmp_path / "run")]))) == 1


@pytest.mark.parametrize(
    ("kind", "task", "model", "batches"),
    [
        ("tags", "token-classification", "bert2018", ("--max_tokens_per_batch", "60")),
        ("questions", "question-answering", "bert2018", ("--pool_batches", "3")),
        ("pairs", "text-classification", "gpt2018", ("--max_tokens_per_batch", "90")),
        ("choices", "multiple-choice", "gpt2018", ("--pool_batches", "3", "--pool_order", "shuffled")),
    ],
)
def test_batches_from_sorted_pools_hold_every_example_once(
    task_run: Arguments, monkeypatch: pytest.MonkeyPatch, kind: str, task: str, model: str, batches: tuple[str, ...]
) -> None:
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    wanted: list[tuple[int, ...]] = []
    compute = ZooTrainer.compute_loss

    def watched(trainer: Any, model: Any, inputs: dict[str, Any], *args: Any, **options: Any) -> Any:
        given = trainer.train_dataset["input_ids"]
        wanted[:] = [tuple(chain(*ids)) if kind == "choices" else tuple(ids) for ids in given]
        if model.training:
            seen.append((inputs["input_ids"], inputs["attention_mask"].bool()))
        return compute(trainer, model, inputs, *args, **options)

    monkeypatch.setattr(ZooTrainer, "compute_loss", watched)
    flags = ("--task", task, *batches, "--num_train_epochs", "3", "--logging_steps", "1")
    result = train(task_run(kind, *flags, model=model))
    rows = [tuple(ids[real].tolist()) for batch in seen for ids, real in zip(*batch, strict=True)]
    assert Counter(rows) == {row: 3 * count for row, count in Counter(wanted).items()}
    if batches[0] == "--max_tokens_per_batch":
        assert max(ids.numel() for ids, _ in seen) <= int(batches[1])
    assert losses(result)[-1] < losses(result)[0]


def test_a_new_task_starts_from_the_body_of_another(task_run: Arguments, tmp_path: Path) -> None:
    train(task_run("tags", "--task", "token-classification", folder="tagger"))
    begun = str(tmp_path / "tagger")
    flags = ("--model", begun, "--num_train_epochs", "1", "--learning_rate", "0.0")
    result = train(task_run("pairs", *flags, folder="pairs"))
    assert result.facts["labels"] == ["other", "same"]
    one, other = (AutoModel.from_pretrained(tmp_path / name).embeddings for name in ("tagger", "pairs"))
    assert (one.embed_tokens.weight == other.embed_tokens.weight).all()
    assert (tmp_path / "tagger/tokenizer.json").read_text() == (tmp_path / "pairs/tokenizer.json").read_text()


@pytest.mark.parametrize(("kind", "task"), [("pairs", "text-classification"), ("tags", "token-classification")])
def test_a_new_model_reads_as_far_as_its_own_positions(
    task_run: Arguments, tmp_path: Path, kind: str, task: str
) -> None:
    """Not as far as those of the model whose tokenizer it takes; a limit of its own tokenizer stays."""
    tokenizer = get_architecture("bert2018").tokenizer_class.train([" ".join((*NOUNS, *VERBS, *NAMES))], vocab_size=80)
    tokenizer.model_max_length = 16
    tokenizer.save_pretrained(tmp_path / "body")
    quick = ("--task", task, "--max_steps", "1")
    train(task_run(kind, *quick, "--tokenizer", str(tmp_path / "body")))
    assert AutoTokenizer.from_pretrained(tmp_path / "run").model_max_length == 40
    train(task_run(kind, *quick, "--tokenizer.model_max_length", "16", folder="own"))
    assert AutoTokenizer.from_pretrained(tmp_path / "own").model_max_length == 16


def test_pairs_for_gpt_are_written_in_its_task_format(task_run: Arguments, tmp_path: Path) -> None:
    train(task_run("pairs", "--num_train_epochs", "1", model="gpt2018"))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    assert tokenizer.task_format and tokenizer.model_max_length == 40
    metrics = evaluate_classifier(tmp_path / "run")
    assert metrics["dataset"]["rows"] == 12
    classify = pipeline("text-classification", model=str(tmp_path / "run"))
    assert classify({"text": "a dog came", "text_pair": "the dog went"})["label"] in ("other", "same")


@pytest.mark.parametrize(("kind", "task"), [("pairs", "text-classification"), ("choices", "multiple-choice")])
def test_a_release_without_symbols_for_tasks_gets_them(
    task_run: Arguments, tmp_path: Path, kind: str, task: str
) -> None:
    row = get_architecture("gpt2018")
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = {piece: number for number, piece in enumerate(["<unk>", *letters, *(f"{one}</w>" for one in letters)])}
    tokenizer = row.tokenizer_class.from_pieces(pieces, [], text_packages=False)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer)}
    given = row.model_classes["AutoModelForCausalLM"](row.config_class(**fields))
    given.save_pretrained(tmp_path / "release")
    tokenizer.save_pretrained(tmp_path / "release")
    flags = ("--model", str(tmp_path / "release"), "--learning_rate", "0.0", "--num_train_epochs", "1")
    arguments = task_run(kind, *flags, "--task", task, model="gpt2018")
    place = arguments.index("--config.hidden_size")
    train([*arguments[:place], *arguments[place + len(SIZES["gpt2018"]) :]])
    config = AutoConfig.from_pretrained(tmp_path / "run")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "run")
    assert len(tokenizer) == len(pieces) + 4 == config.vocab_size and tokenizer.task_format
    assert (config.pad_token_id, config.delimiter_token_id) == (tokenizer.pad_token_id, tokenizer.delimiter_token_id)
    table = AutoModel.from_pretrained(tmp_path / "run").get_input_embeddings().weight
    assert torch.equal(table[:-4], given.get_input_embeddings().weight) and (table[-4:].std(1) > 0).all()


@pytest.mark.parametrize(
    ("kind", "flags", "message"),
    [
        ("tags", ("--task", "parsing"), "it is one of"),
        ("tags", ("--task", "translation"), "is trained for"),
        ("tags", ("--task", "token-classification", "--words_column", "word"), "no column 'word'"),
        ("questions", ("--task", "question-answering", "--max_words", "3"), "max_words says nothing"),
        ("choices", ("--task", "multiple-choice", "--right_column", "context"), "the right choice is"),
    ],
)
def test_wrong_tasks_and_columns_are_refused(
    task_run: Arguments, kind: str, flags: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        train(task_run(kind, *flags))
