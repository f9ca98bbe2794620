"""The page on data formats: each of its files is read by its task, whole and without a warning."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from hf_attention_zoo.data.parting import parted
from hf_attention_zoo.tasks.captions.rows import load_captions
from hf_attention_zoo.tasks.choices.rows import load_choices
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.questions.rows import load_questions
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.table import TASKS
from hf_attention_zoo.tasks.tags.rows import load_tagged
from hf_attention_zoo.tasks.translation.rows import load_data

PAGE = Path(__file__).parents[2] / "docs" / "data-formats.md"
FILES = re.findall(r"<!-- file: (\w+) (\S+) -->\n```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
LOAD: dict[str, Callable] = {
    "translation": lambda path: load_data(path)["train"],
    "labels": lambda path: load_labelled(path)[0]["train"],
    "tags": lambda path: load_tagged(path)[0]["train"],
    "questions": lambda path: load_questions(path)["train"],
    "choices": lambda path: load_choices(path)["train"],
    "captions": lambda path: load_captions(path.parent)["train"],
    "running_text": lambda path: list(DocumentSource(path)),
}


def test_the_page_has_a_file_for_each_task() -> None:
    assert {task for task, _, _ in FILES} == {task.folder for task in TASKS} == set(LOAD)


@pytest.mark.parametrize(("task", "name", "text"), FILES)
def test_each_file_of_the_page_is_read_and_parted(tmp_path: Path, task: str, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    for number in (1, 2, 3):
        Image.new("RGB", (4, 4), "red").save(tmp_path / f"{number}.png")
    with warnings.catch_warnings(action="error", category=UserWarning):
        rows = LOAD[task](tmp_path / name)
    assert len(rows) == (2 if task == "running_text" else 3)
    if task != "running_text":
        assert [len(part) for part in parted(rows, name).values()] == [1, 1, 1]
