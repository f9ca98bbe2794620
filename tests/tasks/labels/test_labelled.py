"""Texts with labels: every kind of file, of label and of text, and what is refused by name."""

import gzip
import json
import lzma
import warnings
from pathlib import Path

import pytest

from hf_attention_zoo.data.labels import MULTI_LABEL, REGRESSION, SINGLE_LABEL, label_info_of, understand_labels
from hf_attention_zoo.tasks.labels.rows import load_labelled


def write_lines(path: Path, rows: list[dict]) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def understood(*labels, **options):
    info, values = understand_labels({"train": [(f"row {i}", label) for i, label in enumerate(labels)]}, **options)
    return info, values["train"]


@pytest.mark.parametrize(
    ("labels", "names", "values"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        ([5, 1, 3], ("1", "3", "5"), [2, 0, 1]),
        (["10", "9", "10"], ("9", "10"), [1, 0, 1]),
        ([True, False], ("false", "true"), [1, 0]),
    ],
    ids=["names", "stars", "numbers as text", "truth values"],
)
def test_classes_are_numbered_in_order(labels, names, values):
    info, found = understood(*labels)
    assert (info.problem_type, info.names, found) == (SINGLE_LABEL, names, values)


def test_fractions_are_a_regression_and_numbers_may_be_one():
    assert understood(1.5, 2.0)[0].problem_type == REGRESSION
    assert understood("1.5", "2")[1] == [1.5, 2.0]
    assert understood(1, 2, problem_type=REGRESSION)[1] == [1.0, 2.0]
    info, values = understood([0.5, 1.0], [0.1, 0.2])
    assert info.names == ("number_0", "number_1") and values == [[0.5, 1.0], [0.1, 0.2]]


def test_lists_are_several_classes_at_once():
    assert understood(["a", "b"], ["b"], [])[1] == [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    info, values = understood([0, 1, 1], [1, 0, 0])
    assert info == type(info)(("0", "1", "2"), MULTI_LABEL) and values == [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    split = understood("red;blue", "blue", problem_type=MULTI_LABEL, separator=";")
    assert split[0].names == ("blue", "red") and split[1] == [[1.0, 1.0], [1.0, 0.0]]
    marks = understood([1, 0], [1, 1], columns=("warm", "dry"))
    assert marks[0].names == ("warm", "dry") and marks[1] == [[1.0, 0.0], [1.0, 1.0]]


def test_the_callers_names_settle_the_order():
    names = ("low", "middle", "high")
    assert understood("high", "low", names=names)[1] == [2, 0]
    assert understood(2, 0, listed=names) == (understood("low", "high", names=names)[0], [2, 0])
    assert understood(2, 0, listed=names, names=names[::-1])[1] == [0, 2]
    with pytest.raises(ValueError, match="row 0: the label is 'none'; the classes are low, middle, high"):
        understood("none", names=names)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a", "a"], {}, "a single class, 'a'"),
        ([1.0, float("nan")], {"problem_type": REGRESSION}, "row 1: the label is nan"),
        (["x", "1.0"], {"problem_type": REGRESSION}, "row 0: the label is 'x'; a regression wants"),
        ([1.5, 2.5], {"problem_type": SINGLE_LABEL}, "row 0: the label is 1.5"),
        ([["a"], ["b"]], {"problem_type": SINGLE_LABEL}, "a list; one class a row"),
        ([[0, 1], [1, 7]], {"columns": ("a", "b"), "problem_type": MULTI_LABEL}, "2 marks of 0 or 1 are wanted"),
        ([1, 2], {"problem_type": "ranking"}, "problem_type='ranking': it is one of"),
    ],
)
def test_labels_that_do_not_fit_are_named(labels, options, message):
    with pytest.raises(ValueError, match=message):
        understood(*labels, **options)


def test_a_config_gives_the_labels_back():
    from transformers import BertConfig

    info, _ = understood("a", "b", "c")
    assert label_info_of(BertConfig(**info.config_fields())) == info
    assert label_info_of(BertConfig(num_labels=1)).problem_type == REGRESSION


def test_json_csv_and_tsv_hold_the_same(tmp_path):
    rows = [{"text": "좋아요, 정말", "label": "good"}, {"text": 'so "so"', "label": "bad"}]
    write_lines(tmp_path / "a.jsonl", rows)
    (tmp_path / "b.csv").write_text('text,label\n"좋아요, 정말",good\n"so ""so""",bad\n', encoding="utf-8")
    (tmp_path / "c.tsv").write_text('text\tlabel\n좋아요, 정말\tgood\nso "so"\tbad\n', encoding="utf-8")
    packed = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "d.jsonl.xz").write_bytes(lzma.compress(packed))
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(packed))
    for name in ("a.jsonl", "b.csv", "c.tsv", "d.jsonl.xz", "e.jsonl.gz"):
        data, info = load_labelled(tmp_path / name)
        assert data["train"][:] == {"text": [row["text"] for row in rows], "label": [1, 0]}, name
        assert info.names == ("bad", "good")
    (tmp_path / "f.jsonl.xz").write_bytes(lzma.compress(packed)[:-8])
    with pytest.raises(ValueError, match="not a whole xz file"):
        load_labelled(tmp_path / "f.jsonl.xz")


def test_text_files_stand_in_folders_by_class(tmp_path):
    for split in ("train", "dev"):
        for label in ("neg", "pos"):
            folder = tmp_path / "split" / split / label
            folder.mkdir(parents=True)
            (folder / "1.txt").write_text(f"{split} {label}", encoding="utf-8")
    data, info = load_labelled(tmp_path / "split")
    assert list(data) == ["train", "validation"] and info.names == ("neg", "pos")
    assert data["validation"][:]["text"] == ["dev neg", "dev pos"] and data["train"][1]["id"] == "pos/1"
    alone, _ = load_labelled(tmp_path / "split" / "train")
    assert list(alone) == ["train"] and alone["train"]["label"][:] == [0, 1]


def test_documents_keep_their_sentences_and_pairs_both_texts(tmp_path):
    rows = [
        {"paragraphs": [["One.", " "], ["Two."]], "label": 0, "label_name": "no"},
        {"paragraphs": [["Three."]], "label": 1, "label_name": "yes"},
    ]
    data, info = load_labelled(write_lines(tmp_path / "documents.jsonl", rows))
    assert data["train"]["text"][:] == [["One.", "Two."], ["Three."]] and info.names == ("no", "yes")
    pairs = [{"premise": "a", "hypothesis": "b", "label": i} for i in (0, 1)]
    data, _ = load_labelled(write_lines(tmp_path / "pairs.jsonl", pairs))
    assert data["train"][0] == {"text": "a", "text_pair": "b", "label": 0}


def test_columns_are_named_several_for_labels(tmp_path):
    rows = [{"body": "a", "warm": 1, "dry": 0, "score": 1.5}, {"body": "b", "warm": 1, "dry": 1, "score": 2}]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    data, info = load_labelled(path, columns={"text": "body", "label": ["warm", "dry"]})
    assert (info.problem_type, info.names) == (MULTI_LABEL, ("warm", "dry"))
    assert data["train"]["label"][:] == [[1.0, 0.0], [1.0, 1.0]]
    assert load_labelled(path, columns={"text": "body", "label": "score"})[1].problem_type == REGRESSION
    with pytest.raises(ValueError, match=r"none of them a text .*name them with columns="):
        load_labelled(path)
    with pytest.raises(ValueError, match=r"no column 'rating'; it has \['body'"):
        load_labelled(path, columns={"text": "body", "label": "rating"})
    with pytest.raises(ValueError, match="expected names for any of text, text_pair, label, id"):
        load_labelled(path, columns={"source": "body"})


def test_empty_texts_are_dropped_and_missing_labels_named(tmp_path):
    rows = [{"text": " ", "label": "a"}, {"text": "x", "label": "a"}, {"text": "y", "label": "b"}]
    with pytest.warns(UserWarning, match=r"dropped 1 of 3 rows without text \(first: line 1"):
        data, _ = load_labelled(write_lines(tmp_path / "a.jsonl", rows))
    assert len(data["train"]) == 2
    rows[1]["label"] = None
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(ValueError, match=r"line 2 .*no label in column label \(1 of 2"),
    ):
        load_labelled(write_lines(tmp_path / "b.jsonl", rows))
    rows = [{"text": "x", "label": label} for label in (-1, 0, 1)]
    with pytest.raises(ValueError, match=r"\(1 of 3 rows have none; -1 counts as none"):
        load_labelled(write_lines(tmp_path / "d.jsonl", rows))
    rows = [{"text": "x", "label": label} for label in ("red,blue", "", "red")]
    several, info = load_labelled(write_lines(tmp_path / "e.jsonl", rows), problem_type=MULTI_LABEL)
    assert info.names == ("blue", "red") and list(several["train"]["label"]) == [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="after rows with a text; hold all the same way"):
        mixed = [{"text": "x", "label": 0}, {"text": ["y"], "label": 1}]
        load_labelled(write_lines(tmp_path / "c.jsonl", mixed))


def test_a_split_without_labels_is_left_out_and_unseen_classes_are_told(tmp_path):
    write_lines(tmp_path / "d/train.jsonl", [{"text": "x", "label": 0}, {"text": "y", "label": 1}])
    write_lines(tmp_path / "d/validation.jsonl", [{"text": "z", "label": 2}])
    write_lines(tmp_path / "d/test.jsonl", [{"text": "z", "label": -1}])
    with pytest.warns(UserWarning) as said:
        data, info = load_labelled(tmp_path / "d")
    assert list(data) == ["train", "validation"] and info.num_labels == 3
    messages = " | ".join(str(warning.message) for warning in said)
    assert "split test: left out, its rows have no labels" in messages
    assert "no training text has the label 2" in messages


@pytest.mark.parametrize("columns", [None, {"label": "label"}])
def test_a_split_without_the_column_of_labels_is_left_out_unless_it_is_the_training_split(tmp_path, columns):
    train = write_lines(tmp_path / "d/train.jsonl", [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    test = write_lines(tmp_path / "d/test.jsonl", [{"text": "c"}])
    with pytest.warns(UserWarning, match="split test: left out, its rows have no labels"):
        splits, info = load_labelled(tmp_path / "d", columns=columns)
    assert list(splits) == ["train"] and info.names == ("x", "y")
    message = r"split %s has (no column 'label'|the columns \['text'\])"
    with pytest.raises(ValueError, match=message % "test"):
        load_labelled(tmp_path / "d", columns=columns, splits=["test"])
    test.rename(train)
    with pytest.raises(ValueError, match=message % "train"):
        load_labelled(tmp_path / "d", columns=columns)


@pytest.mark.parametrize("row", [{"text": "c"}, {"text": "c", "label": None}, {"text": "c", "label": -1}])
@pytest.mark.filterwarnings("ignore:.*split validation")
def test_a_needed_split_must_have_labels_whatever_it_is_called(tmp_path, row):
    write_lines(tmp_path / "d/test.jsonl", [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}])
    for split in ("train", "validation"):
        write_lines(tmp_path / f"d/{split}.jsonl", [row])
    message = r"split train has the columns \['text'\]" if "label" not in row else "line 1 of .*train.jsonl: no label"
    with pytest.warns(UserWarning, match="split train: left out, its rows have no labels"):
        splits, _ = load_labelled(tmp_path / "d", needed=["test"])
    assert list(splits) == ["test"]
    with pytest.raises(ValueError, match=message):
        load_labelled(tmp_path / "d", needed=["test", "train"])
    with (
        pytest.raises(ValueError, match=message.replace("train", "validation")),
        warnings.catch_warnings(action="ignore"),
    ):
        load_labelled(tmp_path / "d", needed=["test", "validation"])
