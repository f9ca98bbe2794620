"""One data file for a newcomer, over all tasks: parted by a fixed rule, said, recorded, and scored from memory."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import run_kinds
from datasets import Dataset
from PIL import Image

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.parting import HeldOut, digest_of, parted
from hf_attention_zoo.tasks.running_text.rows import DocumentSource

QUICK = ["--max_steps", "2", "--eval_strategy", "steps", "--eval_steps", "2", "--save_strategy", "no"]
QUICK += ["--load_best_model_at_end", "False"]
QUICK += ["--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none", "--per_device_train_batch_size", "8"]
BERT = ["bert2018", "--tokenizer.vocab_size", "120", "--config.max_position_embeddings", "40"]
BERT += ["--config.hidden_size", "16", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"]
BERT += ["--config.intermediate_size", "16"]
RNNSEARCH = ["rnnsearch", "--recipe", "none", "--tokenizer.kind", "word", "--tokenizer.vocab_size", "60"]
RNNSEARCH += ["--config.embedding_size", "8", "--config.hidden_size", "8", "--config.attention_size", "8"]
LABELS = ["self_attentive", "--recipe", "none", "--tokenizer.kind", "word", "--tokenizer.vocab_size", "60"]
LABELS += ["--config.embedding_size", "8", "--config.hidden_size", "6", "--config.attention_size", "6"]
CAPTIONS = ["show_attend_tell", "--config.embedding_size", "8", "--config.hidden_size", "8"]
CAPTIONS += ["--config.annotation_size", "8", "--config.encoder_channels", "[8]", "--config.grid_height", "4"]
CAPTIONS += ["--config.grid_width", "4"]

WORDS = ["red", "blue", "green", "small", "big", "old"]


def text(number: int) -> str:
    return f"the {WORDS[number % 6]} dog {WORDS[number // 6 % 6]} came"


# Task -> architecture with sizes, a row, and the flags of its unusual columns.
TASKS: dict[str, tuple[list[str], Callable[[int], dict[str, Any]], list[str]]] = {
    "translation": (
        RNNSEARCH,
        lambda n: {"deutsch": text(n), "englisch": text(n).upper()},
        ["--source_column", "deutsch", "--target_column", "englisch", "--source_lang", "de", "--target_lang", "en"],
    ),
    "text-classification": (
        LABELS,
        lambda n: {"body": text(n), "stars": n % 2 + 1},
        ["--text_column", "body", "--label_column", "stars"],
    ),
    "token-classification": (
        [*BERT, "--task", "token-classification"],
        lambda n: {"w": text(n).split(), "t": ["D", "A", "N", "A", "V"]},
        ["--words_column", "w", "--tags_column", "t"],
    ),
    "question-answering": (
        [*BERT, "--task", "question-answering"],
        lambda n: {"q": "who ?", "c": text(n), "a": {"text": ["dog"], "answer_start": [text(n).index("dog")]}},
        ["--question_column", "q", "--context_column", "c", "--answers_column", "a"],
    ),
    "multiple-choice": (
        [*BERT, "--task", "multiple-choice"],
        lambda n: {"c": text(n), "e": ["it sat", "it ran"], "r": n % 2},
        ["--context_column", "c", "--choices_column", "e", "--right_column", "r"],
    ),
    "image-captioning": (
        CAPTIONS,
        lambda n: {"picture": f"{n}.png", "said": [text(n)]},
        ["--source_column", "picture", "--target_column", "said"],
    ),
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_file_is_parted_trained_on_and_its_test_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    architecture, row, columns = TASKS[task]
    home = tmp_path / "home"
    home.mkdir()
    path = home / "mine.jsonl"
    path.write_text("".join(json.dumps(row(n)) + "\n" for n in range(30)), encoding="utf-8")
    if task == "image-captioning":
        for n in range(30):
            Image.new("RGB", (8, 8), (8 * n, 0, 0)).save(home / f"{n}.png")
    data = home if task == "image-captioning" else path
    run = home / "run" if task != "image-captioning" else tmp_path / "run"
    argv = ["train", *architecture, "--dataset", str(data), "--output_dir", str(run), *columns, *QUICK]
    assert main(argv) == 0
    assert "parted by a fixed rule: 24 for train, 3 for validation, 3 for test" in capsys.readouterr().out
    facts = json.loads((run / "training.json").read_text(encoding="utf-8"))
    assert facts["parted"] == {"train": 24, "validation": 3, "test": 3}
    assert str(tmp_path) not in (run / "training.json").read_text(encoding="utf-8")
    # Columns, languages and the file itself are remembered, wherever the command is called from.
    monkeypatch.chdir(os.sep)
    assert main(["evaluate", str(run)]) == 0
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["dataset"]["split"], metrics["dataset"]["rows"]) == ("test", 3)
    assert main(["evaluate", str(run), "--dataset", str(data)]) == 0  # the same place is the same data
    # Other rows would be parted otherwise, so that the test might have been trained on.
    path.write_text("".join(json.dumps(row(n)) + "\n" for n in range(29)), encoding="utf-8")
    capsys.readouterr()
    assert main(["evaluate", str(run)]) == 2
    assert "has 29 rows, but 30 when the model was trained" in capsys.readouterr().err


def test_parts_do_not_depend_on_the_order_and_keep_like_inputs_together() -> None:
    rows = [{"source": f"s{n % 40}", "target": f"t{n}"} for n in range(100)]
    one = parted(Dataset.from_list(rows), "rows")
    other = parted(Dataset.from_list(rows[::-1]), "rows")
    assert [len(set(part["source"])) for part in one.values()] == [32, 4, 4]
    for split, part in one.items():
        assert sorted(part["target"]) == sorted(other[split]["target"])
    sources = [set(part["source"]) for part in one.values()]
    assert sum(map(len, sources)) == len(set.union(*sources)) and sum(map(len, one.values())) == 100
    assert {split: len(part) for split, part in parted(Dataset.from_list(rows[:3]), "rows").items()} == {
        "train": 1,
        "validation": 1,
        "test": 1,
    }
    with pytest.raises(ValueError, match="rows has 2 different inputs, too few to be parted"):
        parted(Dataset.from_list([*rows[:2], rows[40]]), "rows")


def test_a_stream_is_parted_as_rows_are_and_little_of_it_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, count in ((2000, 100), (5, 400), (5, 50)):
        monkeypatch.setattr("hf_attention_zoo.data.parting.MOST", most)
        rows = [f"text {number * number % count}" for number in range(2 * count)]
        wanted = parted(Dataset.from_dict({"text": rows}), "rows")
        found = HeldOut.of(iter(rows))
        assert found.sizes == {split: len(part) for split, part in wanted.items()}
        for split, part in wanted.items():
            assert [row for row in rows if found.split_of(row) == split] == part["text"]
        assert len(found.test) <= most and min(map(digest_of, rows)) in found.test
    assert HeldOut.of(["one", "two", "one"]) is None


@pytest.mark.parametrize(("kind", "named"), [("bert", "--dataset"), ("elmo", "--train_file"), ("gpt", "--dataset")])
def test_one_file_of_running_text_is_parted_too_and_remembered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, named: str
) -> None:
    path = tmp_path / "mine.txt"
    documents = ["\n".join(f"{text(n + k)} ." for k in range(4)) for n in range(30)]
    path.write_text("\n\n".join(documents), encoding="utf-8")
    run = tmp_path / "run"
    argv = ["pretrain", run_kinds.KINDS[kind].architecture, named, str(path), "--output_dir", str(run)]
    argv += [*run_kinds.COMMON, *run_kinds.KINDS[kind].flags, "--max_steps", "1", "--eval_strategy", "epoch"]
    assert main(argv) == 0
    assert "parted by a fixed rule: 24 for train, 3 for validation, 3 for test" in capsys.readouterr().out
    facts = json.loads((run / "training.json").read_text(encoding="utf-8"))
    assert facts["parted"] == {"train": 24, "validation": 3, "test": 3} and facts["training_documents"] == 24
    assert main(["evaluate", str(run)]) == 0
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["dataset"]["split"], metrics["dataset"]["rows"]) == ("test", 3) and metrics["baselines"]
    parts = [list(DocumentSource(path, part=part)) for part in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [24, 3, 3]
    assert sorted(document for part in parts for document in part) == sorted(DocumentSource(path))
    assert main(["evaluate", str(run), "--dataset", str(path), "--no_baselines"]) == 0
    path.write_text("\n\n".join(documents[:29]), encoding="utf-8")
    capsys.readouterr()
    assert main(["evaluate", str(run)]) == 2
    assert "has 29 documents, but 30 when the model was trained" in capsys.readouterr().err


def test_files_of_running_text_are_remembered_and_too_little_of_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = []
    for split, count in (("train", 9), ("validation", 3), ("test", 4)):
        path = tmp_path / f"{split[:2]}.txt"
        path.write_text("\n\n".join(f"{text(n)} .\n{text(n + 1)} ." for n in range(count)), encoding="utf-8")
        named += [f"--{split}_file", str(path)]
    flags = [*run_kinds.COMMON, *run_kinds.KINDS["gpt"].flags, "--max_steps", "1", "--eval_strategy", "epoch"]
    run = tmp_path / "run"
    assert main(["pretrain", "gpt2018", *named, "--output_dir", str(run), *flags]) == 0
    for split, count in (("test", 4), ("validation", 3)):
        assert main(["evaluate", str(run), "--split", split]) == 0
        assert json.loads((run / "metrics.json").read_text())["dataset"]["rows"] == count
    facts = json.loads((run / "training.json").read_text())
    del facts["places"]["test_file"]
    (run / "training.json").write_text(json.dumps(facts))
    assert main(["evaluate", str(run)]) == 2
    assert "the training named no test text, only files for: train, validation" in capsys.readouterr().err
    (tmp_path / "tr.txt").write_text("one document\nand no more\n")
    assert main(["pretrain", "gpt2018", *named[:2], "--output_dir", str(tmp_path / "no"), *flags]) == 2
    assert "fewer than three different documents" in capsys.readouterr().err and not (tmp_path / "no").exists()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_files_named_one_by_one_are_remembered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    architecture, row, columns = TASKS["text-classification"]
    named = []
    for split, count in (("train", 20), ("validation", 4), ("test", 5)):
        path = tmp_path / f"{split[:2]}.jsonl"
        path.write_text("".join(json.dumps(row(n)) + "\n" for n in range(count)), encoding="utf-8")
        named += [f"--{split}_file", str(path)]
    run = tmp_path / "run"
    assert main(["train", *architecture, *named, "--output_dir", str(run), *columns, *QUICK]) == 0
    assert main(["evaluate", str(run)]) == 0
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["dataset"]["rows"] == 5
