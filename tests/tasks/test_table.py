"""The table of tasks: whatever follows from a row can be found, and no model has two tasks."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hf_attention_zoo.evaluation.class_table import MOST_CLASSES, class_lines
from hf_attention_zoo.folders.task_card import TaskCard
from hf_attention_zoo.tasks.table import TASKS, Task, task_for

CARDS = sorted((Path(__file__).parents[2] / "model_cards").glob("*/metrics.json"))


def test_an_auto_class_has_one_task() -> None:
    assert [
        name for name, times in Counter(name for task in TASKS for name in task.auto_classes).items() if times > 1
    ] == []


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.folder)
def test_a_row_names_what_its_folder_has(task: Task) -> None:
    import hf_attention_zoo

    folder = Path(hf_attention_zoo.__file__).parent / "tasks" / task.folder
    assert task.pipelines == (folder / "pipeline.py").is_file()
    assert task.judged == (folder / "held_out.py").is_file()
    assert not task.judged or callable(task.load("held_out", "held_out_rows"))
    assert isinstance(task.card, TaskCard) and task.card.metrics
    assert task.evaluation_parser("attention-zoo evaluate").prog == "attention-zoo evaluate"
    for name in (task.evaluation, "summary", "main"):
        assert callable(task.load("evaluation", name))
    if task.training is not None:
        assert set(task.auto_classes) >= {task.load("training", task.training).auto_class}


def class_cells(one: dict[str, Any]) -> list[str]:
    """Precision, recall and F1 as they are shown: a dash for what would be divided by nothing."""
    counted = {"precision": one["predicted"], "recall": one["texts"], "f1": one["predicted"] + one["texts"]}
    return [f"{one[name]:.3f}" if count else "-" for name, count in counted.items()]


@pytest.mark.parametrize("file", CARDS, ids=lambda file: file.parent.name)
def test_a_summary_shows_classes_baselines_and_what_is_missing(file: Path) -> None:
    metrics, task = json.loads(file.read_text(encoding="utf-8")), task_for(file.parent)
    printed = task.summary({**metrics, "left_out": ["no baselines: this one"]})
    assert "no baselines: this one" in printed or task.folder in ("translation", "questions")
    lines = printed.splitlines()
    for one in metrics.get("classes", []):
        wanted = [one["name"], *class_cells(one), f"{one['texts']:,}"]
        assert any(line.split()[-4:] == wanted[1:] and line.strip().startswith(one["name"]) for line in lines), one
    for scores in metrics["baselines"].values():
        assert any(f"{value:.{digits}f}" in printed for value in scores.values() for digits in (2, 3))


@pytest.mark.parametrize("file", CARDS, ids=lambda file: file.parent.name)
def test_what_has_classes_is_scored_class_by_class_in_its_file_and_card(file: Path) -> None:
    metrics, task = json.loads(file.read_text(encoding="utf-8")), task_for(file.parent)
    wanted = {name for name in ("labels", "tags", "choices") if name == task.folder}
    assert bool(metrics.get("classes")) == bool(wanted)
    card = (file.parent / "README.md").read_text(encoding="utf-8")
    for one in metrics.get("classes", []):
        cells = [cell if cell == "-" else f"{100 * float(cell):.1f} %" for cell in class_cells(one)]
        assert any(line.startswith(f"| {one['name']} | {one['texts']:,} | ") for line in card.splitlines()), cells


def test_a_table_of_classes_is_aligned_and_not_endless() -> None:
    scores = {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "predicted": 4}
    table = class_lines([{"name": name, "texts": 1234, **scores} for name in ("좋다", "poor", "e\u0301")])
    assert table[1].endswith("      0.500      1.000      0.667      1,234")
    assert [line.index("0.500") for line in table[1:]] == [11, 13, 14]  # two columns a Hangul, none an accent
    many = class_lines([{"name": f"c{n}", "texts": n, **scores} for n in range(MOST_CLASSES + 3)], "tag")
    assert len(many) == MOST_CLASSES + 2 and "and 3 less frequent" in many[-1] and many[1].split()[0] == "c3"
    assert class_lines([]) == []
    unseen = {"name": "X", "precision": 0.0, "recall": 0.0, "f1": 0.0, "texts": 0, "predicted": 0}
    assert class_lines([unseen])[1].split() == ["X", "-", "-", "-", "0"]
    assert class_lines([{**unseen, "predicted": 3}])[1].split() == ["X", "0.000", "-", "0.000", "0"]
