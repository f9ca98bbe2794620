"""The table of tasks: whatever follows from a row can be found, and no model has two tasks."""

import json
from collections import Counter
from pathlib import Path

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
    assert isinstance(task.card, TaskCard) and task.card.metrics
    assert task.evaluation_parser("attention-zoo evaluate").prog == "attention-zoo evaluate"
    for name in (task.evaluation, "summary", "main"):
        assert callable(task.load("evaluation", name))
    if task.training is not None:
        assert set(task.auto_classes) >= {task.load("training", task.training).auto_class}


@pytest.mark.parametrize("file", CARDS, ids=lambda file: file.parent.name)
def test_a_summary_shows_classes_baselines_and_what_is_missing(file: Path) -> None:
    metrics, task = json.loads(file.read_text(encoding="utf-8")), task_for(file.parent)
    printed = task.summary({**metrics, "left_out": ["no baselines: this one"]})
    assert "no baselines: this one" in printed or task.folder in ("translation", "questions", "choices")
    lines = printed.splitlines()
    for one in metrics.get("classes", []):
        wanted = [f"{one[name]:.3f}" for name in ("precision", "recall", "f1")] + [f"{one['texts']:,}"]
        assert any(line.split()[-4:] == wanted and line.strip().startswith(one["name"]) for line in lines), one
    for scores in metrics["baselines"].values():
        assert any(f"{value:.{digits}f}" in printed for value in scores.values() for digits in (2, 3))


def test_a_table_of_classes_is_aligned_and_not_endless() -> None:
    scores = {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "predicted": 4}
    table = class_lines([{"name": name, "texts": 1234, **scores} for name in ("좋다", "poor", "e\u0301")])
    assert table[1].endswith("      0.500      1.000      0.667      1,234")
    assert [line.index("0.500") for line in table[1:]] == [11, 13, 14]  # two columns a Hangul, none an accent
    many = class_lines([{"name": f"c{n}", "texts": n, **scores} for n in range(MOST_CLASSES + 3)], "tag")
    assert len(many) == MOST_CLASSES + 2 and "and 3 less frequent" in many[-1] and many[1].split()[0] == "c3"
    assert class_lines([]) == []
