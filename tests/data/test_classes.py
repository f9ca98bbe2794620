"""A class is its text, for texts, for several classes at once and for words: one rule, every reader."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Sequence as ListOf

from hf_attention_zoo.data.labels import MULTI_LABEL, SINGLE_LABEL
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.tags.rows import load_tagged

# Each reads rows with one class each from a file and gives the names and the class of every row.
Read = Callable[..., tuple[list[str], list[int]]]


def one_of_a_text(path: Path, names: Sequence[str] | None = None) -> tuple[list[str], list[int]]:
    data, info = load_labelled(path, label_names=names, problem_type=SINGLE_LABEL)
    return list(info.names), list(data["train"]["label"])


def several_of_a_text(path: Path, names: Sequence[str] | None = None) -> tuple[list[str], list[int]]:
    data, info = load_labelled(path, label_names=names, problem_type=MULTI_LABEL)
    return list(info.names), [marks.index(1.0) for marks in data["train"]["label"]]


def one_of_a_word(path: Path, names: Sequence[str] | None = None) -> tuple[list[str], list[int]]:
    data, info = load_tagged(path, words="text", tags="label", tag_names=names)
    return list(info.names), [tags[0] for tags in data["train"]["tags"]]


READERS: list[Read] = [one_of_a_text, several_of_a_text, one_of_a_word]


def write(folder: Path, labels: Sequence[Any], read: Read, ending: str) -> Path:
    """A file with a row for each label; JSON keeps numbers, CSV has texts alone."""
    path = folder / f"rows.{ending}"
    if ending == "csv":
        path.write_text("text,label\n" + "".join(f"word,{label}\n" for label in labels), encoding="utf-8")
    else:
        listed = read is not one_of_a_text
        rows = [{"text": ["word"] if read is one_of_a_word else "word", "label": [x] if listed else x} for x in labels]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("labels", "ending", "names", "numbers"),
    [
        (["1", "3", "2"], "jsonl", ["1", "2", "3"], [0, 2, 1]),
        ([1, 3, 2], "jsonl", ["1", "2", "3"], [0, 2, 1]),
        ([1, 3, 2], "csv", ["1", "2", "3"], [0, 2, 1]),
        (["011", "11", "0"], "csv", ["0", "011", "11"], [1, 2, 0]),
        (["011", "11"], "jsonl", ["011", "11"], [0, 1]),
        (["1", "+1", "01", "1e0"], "jsonl", ["+1", "01", "1", "1e0"], [2, 0, 1, 3]),
        ([10, 9, 100], "csv", ["9", "10", "100"], [1, 0, 2]),
        ([True, False], "jsonl", ["false", "true"], [1, 0]),
        (["b", 2, "a", 10], "jsonl", ["2", "10", "a", "b"], [3, 0, 2, 1]),
    ],
)
def test_a_class_is_its_text(
    tmp_path: Path, read: Read, labels: list[Any], ending: str, names: list[str], numbers: list[int]
) -> None:
    path = write(tmp_path, labels, read, ending)
    assert read(path) == (names, numbers)
    assert read(path, names) == (names, numbers)  # as a model trained on them is evaluated
    backwards = names[::-1]
    assert read(path, backwards) == (backwards, [len(names) - 1 - number for number in numbers])


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize(
    ("label", "names"),
    [(0, ["1", "2", "3"]), (0, ["low", "high"]), (1, ["low", "high"]), ("11", ["011", "12"]), ("One", ["one", "two"])],
)
def test_what_is_no_known_class_is_refused_with_its_row(
    tmp_path: Path, read: Read, ending: str, label: Any, names: list[str]
) -> None:
    path = write(tmp_path, [names[0], label], read, ending)
    with pytest.raises(
        ValueError, match=rf"(line|row) 2 of .*rows\.{ending}: .*'{label}'; the classes are {names[0]}"
    ):
        read(path, names)


@pytest.mark.parametrize("read", READERS)
def test_numbers_are_places_where_the_features_of_the_data_say_so(tmp_path: Path, read: Read) -> None:
    kind: Any = ClassLabel(names=["9", "3", "5"])
    features = Features(
        {
            "text": ListOf(Value("string")) if read is one_of_a_word else Value("string"),
            "label": kind if read is one_of_a_text else ListOf(kind),
        }
    )
    labels = [2, 0, 1]
    rows = {
        "text": [["word"] if read is one_of_a_word else "word"] * 3,
        "label": labels if read is one_of_a_text else [[label] for label in labels],
    }
    path = tmp_path / "rows.parquet"
    Dataset.from_dict(rows, features=features).to_parquet(path)
    assert read(path) == (["9", "3", "5"], labels)
    assert read(path, ["3", "5", "9"]) == (["3", "5", "9"], [1, 2, 0])  # a model that has them in another order
    with pytest.raises(ValueError, match=r"row 1 of .*'5'; the classes are 9, 3"):
        read(path, ["9", "3"])


def test_lists_of_numbers_mark_classes_and_lists_of_texts_name_them(tmp_path: Path) -> None:
    for labels, names, values in [
        ([[0, 1], [1, 0]], ("0", "1"), [[0.0, 1.0], [1.0, 0.0]]),
        ([["0", "1"], ["1", "0"]], ("0", "1"), [[1.0, 1.0], [1.0, 1.0]]),
        ([["0", "2"], ["1", "0"]], ("0", "1", "2"), [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]),
    ]:
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps({"text": "a", "label": label}) + "\n" for label in labels))
        data, info = load_labelled(path)
        assert (info.problem_type, info.names, list(data["train"]["label"])) == (MULTI_LABEL, names, values)
