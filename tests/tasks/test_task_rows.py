"""Rows of tasks from files: questions in SQuAD's own nesting, with and without answers."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.tasks.choices.rows import load_choices
from hf_attention_zoo.tasks.questions.rows import load_questions
from hf_attention_zoo.tasks.tags.rows import load_tagged

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


def write(folder: Path, **splits: list[dict[str, Any]]) -> Path:
    for split, rows in splits.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return folder


TAGGED = {"tokens": ["the", "dog"], "tags": ["DET", "NOUN"]}
CHOSEN = {"context": "a dog", "choices": ["barks", "sings"], "label": 0}
QUESTION = {"question": "who sees?", "context": CONTEXT, "answers": {"text": ["Anna"], "answer_start": [0]}}


def without(row: dict[str, Any], column: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != column}


@pytest.mark.parametrize(
    ("load", "row", "untold", "message"),
    [
        (load_tagged, TAGGED, without(TAGGED, "tags"), "no column with tags"),
        (load_tagged, TAGGED, {**TAGGED, "tags": None}, "a tag for each word is wanted"),
        (load_tagged, TAGGED, {**TAGGED, "tags": []}, "a tag for each word is wanted"),
        (load_tagged, TAGGED, {**TAGGED, "tags": [-1, -1]}, "the tag of 'the' is -1, which says that it is not told"),
        (load_tagged, TAGGED, {**TAGGED, "tags": ["", None]}, "the tag of 'the' is '', which says"),
        (load_tagged, {**TAGGED, "tags": [1, 0]}, {**TAGGED, "tags": [-1, -1]}, "the tag of 'the' is -1"),
        (load_questions, QUESTION, without(QUESTION, "answers"), "no column with the answers"),
        (load_questions, QUESTION, {**QUESTION, "answers": None}, None),
        (load_choices, CHOSEN, without(CHOSEN, "label"), "no column with the right choice"),
        (load_choices, CHOSEN, {**CHOSEN, "label": -1}, "the right choice is -1, which says that it is not told"),
        (load_choices, CHOSEN, {**CHOSEN, "label": ""}, "the right choice is ''"),
    ],
)
def test_a_split_without_answers_is_left_out_unless_it_is_needed(
    load: Callable[..., Any], row: dict[str, Any], untold: dict[str, Any], message: str | None, tmp_path: Path
) -> None:
    def splits(needed: list[str]) -> list[str]:
        found = load(tmp_path, needed=needed)
        return list(found[0] if isinstance(found, tuple) else found)

    write(tmp_path, train=[row, row], test=[untold, untold])
    with pytest.warns(UserWarning, match="split test: left out, its rows have no "):
        assert splits(["train"]) == ["train"]
    if message is None:
        assert splits(["test"]) == ["train", "test"]
    else:
        with pytest.raises(ValueError, match=f"test.jsonl.*{message}"):
            splits(["test"])
        write(tmp_path, test=[row, untold])
        with pytest.raises(ValueError, match=f"line 2 of .*test.jsonl.*{message}"):
            splits(["train"])
    (tmp_path / "train.jsonl").unlink()
    write(tmp_path, test=[untold])
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError, match="its rows have"):
        splits(["train"])


@pytest.mark.parametrize("told", [["O", "X"], [0, 1]])
@pytest.mark.parametrize("untold", [["-1", "-1"], "-1 -1", -1, [-1, None], ["", ""], []])
def test_tags_that_are_not_told_are_no_classes(told: list[Any], untold: Any, tmp_path: Path) -> None:
    write(tmp_path, train=[{**TAGGED, "tags": told}], test=[{**TAGGED, "tags": untold}] * 2)
    with pytest.warns(UserWarning, match="split test: left out, its rows have no tags"):
        splits, tags = load_tagged(tmp_path)
    assert list(splits) == ["train"] and tags.names == tuple(map(str, told))
    write(tmp_path, test=[{**TAGGED, "tags": [told[0], -1]}])
    with pytest.raises(ValueError, match=r"line 1 of .*test.jsonl: the tag of 'dog' is -1, which says"):
        load_tagged(tmp_path)


def test_choices_in_the_layout_of_swag_are_read_with_their_untold_test_split(tmp_path: Path) -> None:
    names = ["", "video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source"]
    names += [f"ending{number}" for number in range(4)]
    for split in ("train", "val", "test"):
        told = [] if split == "test" else ["label"]
        with (tmp_path / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow([*names, *told])
            rows.writerow(["0", "v", "1", "A dog. It", "A dog.", "It", "gold", *"abcd", *("2" for _ in told)])
    with pytest.warns(UserWarning, match="split test: left out, its rows have no right choices"):
        found = load_choices(tmp_path)
    assert list(found) == ["train", "validation"]
    assert found["train"][0] == {"context": "A dog.", "choices": ["It a", "It b", "It c", "It d"], "label": 2}


def test_nested_questions_without_answers_are_left_out_and_impossible_ones_are_not(tmp_path: Path) -> None:
    hidden = [without(asked, "answers") for asked in ASKED]
    (tmp_path / "train.json").write_text(json.dumps(NESTED), encoding="utf-8")
    for split, questions in (("dev", hidden[1:]), ("test", [without(one, "is_impossible") for one in hidden])):
        paragraphs = [{"context": CONTEXT, "qas": questions}]
        (tmp_path / f"{split}.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), encoding="utf-8")
    with pytest.warns(UserWarning, match="split test: left out"):
        found = load_questions(tmp_path)
    assert {split: list(rows["answers"]) for split, rows in found.items()} == {
        "train": [["Anna"], []],
        "validation": [[]],
    }


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        ({"text": "Anna", "answer_start": 0}, ["Anna"]),
        ({"text": ["Anna", "Bert"], "answer_start": [0, 19]}, ["Anna", "Bert"]),
        ([{"text": "Bert", "answer_start": 19}], ["Bert"]),
        ({"text": [], "answer_start": []}, []),
        ({"text": [""], "answer_start": [-1]}, []),
        ({"text": "", "answer_start": None}, []),
        ([{"text": "", "answer_start": 100}, {"text": "Bert", "answer_start": 19}], ["Bert"]),
        ("Anna", None),
        (["Anna"], None),
        ([{"text": "Anna"}], None),
        ({"text": "Anna"}, None),
        ({"text": ["Anna"], "answer_start": []}, None),
        ({"text": ["Anna"], "answer_start": 0}, None),
        ({"text": [3], "answer_start": ["0"]}, None),
        ({"text": "Anna", "answer_start": -38}, None),
        (7, None),
    ],
)
def test_answers_have_one_of_three_forms(answers: Any, right: list[str] | None, tmp_path: Path) -> None:
    write(tmp_path, train=[{**QUESTION, "answers": answers}])
    if right is None:
        with pytest.raises(ValueError, match=r"line 1 of .*train.jsonl: the answers are .* and not"):
            load_questions(tmp_path)
    else:
        assert load_questions(tmp_path)["train"]["answers"][0] == right


def test_questions_without_a_context_are_dropped_and_the_first_is_named(tmp_path: Path) -> None:
    empty = {**QUESTION, "context": " ", "answers": {"text": [], "answer_start": []}}
    write(tmp_path, train=[QUESTION, empty, QUESTION, {**empty, "context": "a", "question": ""}])
    with pytest.warns(UserWarning, match=r"split train: dropped 2 of 4 rows .*first: line 2 of .*train.jsonl"):
        rows = load_questions(tmp_path)["train"]
    assert rows["id"] == ["train-0", "train-1"] and rows["context"] == [CONTEXT, CONTEXT]
    nothing = [{**QUESTION, column: value} for column in ("question", "context") for value in (None, "", " ")]
    write(tmp_path, train=[*nothing, QUESTION])
    with pytest.warns(UserWarning, match="split train: dropped 6 of 7 rows"):
        assert load_questions(tmp_path)["train"]["answers"][:] == [["Anna"]]
    write(tmp_path, train=[empty])
    with pytest.raises(ValueError, match="split train: no row has both"):
        load_questions(tmp_path)
