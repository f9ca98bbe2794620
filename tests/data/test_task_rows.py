"""Rows of tasks from files: questions in SQuAD's own nesting, with and without answers."""

import json
from pathlib import Path

import pytest

from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.data.task_rows import load_questions

CONTEXT = "Anna sees the dog. Bert hunts the cat."
ASKED = [
    {"id": "one", "question": "who sees?", "answers": [{"text": "Anna", "answer_start": 0}], "is_impossible": False},
    {
        "id": "two",
        "question": "who sleeps?",
        "answers": [],
        "plausible_answers": [{"text": "Bert", "answer_start": 19}],
        "is_impossible": True,
    },
]
NESTED = {"version": "v2.0", "data": [{"title": "animals", "paragraphs": [{"context": CONTEXT, "qas": ASKED}]}]}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["train.json", "dev.json"])
def test_questions_stand_in_nested_files_as_they_are_given_out(tmp_path: Path, name: str, indent: int | None) -> None:
    (tmp_path / name).write_text("\n" + json.dumps(NESTED, indent=indent) + "\n", encoding="utf-8")
    (rows,) = load_questions(tmp_path).values()
    assert rows["id"] == ["one", "two"] and rows["context"] == [CONTEXT, CONTEXT]
    assert rows["answers"] == [["Anna"], []] and rows["starts"] == [[0], []]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data":\n[1,\n}', r"line 1 of .* is not JSON"),
        ('{"question": "a"}\n{"question":\n"b"}', r"line 2 of .* is not JSON"),
    ],
)
def test_broken_files_are_named_by_their_first_bad_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "train.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        list(read_rows(tmp_path / "train.json"))
