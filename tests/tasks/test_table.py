"""The table of tasks: whatever follows from a row can be found, and no model has two tasks."""

from collections import Counter
from pathlib import Path

import pytest

from hf_attention_zoo.folders.task_card import TaskCard
from hf_attention_zoo.tasks.table import TASKS, Task


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
    for name in (task.evaluation, "summary", "main"):
        assert callable(task.load("evaluation", name))
    if task.training is not None:
        assert set(task.auto_classes) >= {task.load("training", task.training).auto_class}
