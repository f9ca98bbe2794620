"""load_data on local files: every format, columns, splits, and errors that name what is wrong."""

import csv
import gzip
import json
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from datasets import DatasetDict, IterableDatasetDict

from hf_attention_zoo.tasks.translation.rows import load_data

PAIRS = [
    {"source": "Das Haus ist groß.", "target": "The house is big."},
    {"source": '고양이가 "잔다", 그래', "target": 'the cat "sleeps", yes'},
    {"source": "zwei\u2028Zeilen", "target": "two\tlines"},
]


def write_jsonl(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows, delimiter=",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_raw_tsv(path: Path, rows) -> Path:
    lines = ["\t".join(rows[0]), *("\t".join(row.values()).replace("\tlines", " lines") for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def zipped(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


def write_parquet(path: Path, rows) -> Path:
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


def write_array(path: Path, rows) -> Path:
    path.write_text("\n " + json.dumps(rows), encoding="utf-8")
    return path


WRITERS = {
    "a.jsonl": write_jsonl,
    "lines.json": write_jsonl,
    "array.json": write_array,
    "a.csv": write_csv,
    "a.parquet": write_parquet,
    "packed.jsonl.gz": lambda path, rows: zipped(write_jsonl(path.with_suffix(""), rows)),
    "packed.csv.gz": lambda path, rows: zipped(write_csv(path.with_suffix(""), rows)),
}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_each_format_gives_its_pairs(tmp_path, name, streaming):
    path = WRITERS[name](tmp_path / name, PAIRS)
    data = load_data(path, streaming=streaming)
    assert type(data) is (IterableDatasetDict if streaming else DatasetDict)
    assert list(data) == ["train"]
    assert list(data["train"]) == PAIRS


def test_tab_separated_text_keeps_lone_quotation_marks(tmp_path):
    rows = [{"source": '"Nein', "target": '"No'}, {"source": "ja", "target": "yes"}]
    assert list(load_data(str(write_raw_tsv(tmp_path / "a.tsv", rows)))["train"]) == rows


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    for name, text in (("a.csv", "source,target\na,b\n"), ("a.jsonl", '{"source": "a", "target": "b"}\n')):
        (tmp_path / name).write_text("\ufeff" + text, encoding="utf-8")
        assert list(load_data(tmp_path / name)["train"]) == [{"source": "a", "target": "b"}]


@pytest.mark.parametrize("streaming", [False, True])
def test_a_folder_gives_its_splits_under_their_usual_names(tmp_path, streaming):
    write_jsonl(tmp_path / "train.jsonl", PAIRS)
    zipped(write_csv(tmp_path / "dev.csv", PAIRS[:2]))
    write_parquet(tmp_path / "test-00000-of-00002.parquet", PAIRS[:1])
    write_parquet(tmp_path / "test-00001-of-00002.parquet", PAIRS[1:])
    (tmp_path / "train_results.json").write_text("{}")
    (tmp_path / "README.md").write_text("hello")
    with pytest.warns(UserWarning, match=r"train_results.json is left out, train.jsonl is the split 'train'"):
        data = load_data(tmp_path, streaming=streaming)
    assert {split: len(list(rows)) for split, rows in data.items()} == {"train": 3, "validation": 2, "test": 3}
    assert list(data["test"]) == PAIRS
    assert list(load_data(tmp_path, splits=["dev", "test"])) == ["validation", "test"]


def test_a_data_folder_as_on_the_hub_is_found(tmp_path):
    (tmp_path / "data").mkdir()
    write_parquet(tmp_path / "data" / "train-00000-of-00001.parquet", PAIRS)
    assert list(load_data(tmp_path)["train"]) == PAIRS


def test_parallel_text_pairs_up_line_by_line(tmp_path):
    (tmp_path / "train.de").write_text("eins\rzwei\ndrei\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("one two\nthree\n", encoding="utf-8")
    (tmp_path / "dev.de.gz").write_bytes(gzip.compress(b"vier\n"))
    (tmp_path / "dev.en").write_text("four", encoding="utf-8")
    data = load_data(tmp_path, source_lang="de", target_lang="en")
    assert list(data["train"]) == [
        {"source": "eins\rzwei", "target": "one two"},
        {"source": "drei", "target": "three"},
    ]
    assert list(data["validation"]) == [{"source": "vier", "target": "four"}]
    (tmp_path / "train.en").write_text("one\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"train\.en ends before the other"):
        load_data(tmp_path, source_lang="de", target_lang="en")


def test_data_files_name_splits_patterns_and_formats(tmp_path):
    write_jsonl(tmp_path / "part1.jsonl", PAIRS[:1])
    write_jsonl(tmp_path / "part2.jsonl", PAIRS[1:])
    data = load_data(tmp_path, data_files={"train": "part*.jsonl", "valid": ["part1.jsonl"]})
    assert list(data["train"]) == PAIRS
    assert list(data["validation"]) == PAIRS[:1]
    assert list(load_data("json", data_files=str(tmp_path / "part2.jsonl"))["train"]) == PAIRS[1:]
    with pytest.raises(ValueError, match=r"part3\.jsonl does not exist"):
        load_data(tmp_path, data_files={"train": ["part1.jsonl", "part3.jsonl"]})
    with pytest.raises(ValueError, match="expected csv files"):
        load_data("csv", data_files=str(tmp_path / "part1.jsonl"))
    with pytest.raises(ValueError, match="say which files"):
        load_data("json")


NESTED = [{"id": 7, "translation": {"de": "Hallo", "en": "Hello", "ko": "안녕"}, "text": {"a": {"b": "tief"}}}]


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        (
            {"columns": {"source": "translation.de", "target": "translation.en"}},
            {"source": "Hallo", "target": "Hello"},
        ),
        ({"columns": {"source": "text.a.b", "target": "translation.ko"}}, {"source": "tief", "target": "안녕"}),
        (
            {"columns": {"source": "translation.de", "target": "translation.en", "id": "id"}},
            {"id": "7", "source": "Hallo", "target": "Hello"},
        ),
        ({"source_lang": "ko", "target_lang": "de"}, {"id": "7", "source": "안녕", "target": "Hallo"}),
    ],
)
def test_columns_may_be_nested(tmp_path, keywords, expected):
    for name, write in (("a.jsonl", write_jsonl), ("a.parquet", write_parquet)):
        assert list(load_data(write(tmp_path / name, NESTED), **keywords)["train"]) == [expected]


def test_columns_may_be_named_by_language_or_hold_a_dot(tmp_path):
    path = write_csv(tmp_path / "a.csv", [{"de": "Hallo", "en": "Hello", "x.y": "flat"}])
    flat = load_data(path, columns={"source": "x.y", "target": "de"})
    assert list(flat["train"]) == [{"source": "flat", "target": "Hallo"}]
    assert list(load_data(path, source_lang="en", target_lang="de")["train"]) == [
        {"source": "Hello", "target": "Hallo"}
    ]


@pytest.mark.parametrize("streaming", [False, True])
def test_missing_columns_are_named_with_those_there(tmp_path, streaming):
    path = write_jsonl(tmp_path / "a.jsonl", NESTED)
    with pytest.raises(
        ValueError, match=r"no column 'translation\.fr'; it has .*'translation\.de', 'translation\.en'"
    ):
        load_data(path, columns={"source": "translation.de", "target": "translation.fr"}, streaming=streaming)
    path = write_csv(tmp_path / "a.csv", [{"german": "a", "english": "b"}])
    with pytest.raises(ValueError, match=r"\['german', 'english'\].*columns="):
        load_data(path, streaming=streaming)
    path = write_jsonl(tmp_path / "b.jsonl", [*PAIRS, {"source": "allein"}])
    with pytest.raises(
        ValueError, match=r"line 4 of .*b\.jsonl: column 'target' is missing; the row has \['source'\]"
    ):
        list(load_data(path, streaming=streaming)["train"])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "a number, 3,"),
        (2.5, "a number"),
        (None, r"nothing \(null\)"),
        (["a", "b"], "a list"),
        (True, "a truth value"),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_something_else_than_text_is_named_with_its_line(tmp_path, value, said, streaming):
    path = write_jsonl(tmp_path / "a.jsonl", [*PAIRS, {"source": value, "target": "x"}])
    with pytest.raises(
        ValueError, match=rf"line 4 of .*a\.jsonl: column 'source' holds {said}.* where text is wanted"
    ):
        list(load_data(path, streaming=streaming)["train"])


def test_text_that_is_no_unicode_is_named_with_its_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"source": "\\ud800", "target": "x"}\n')
    with pytest.raises(ValueError, match=r"line 1 of .*a\.jsonl: column 'source'.*not valid Unicode"):
        load_data(tmp_path / "a.jsonl")


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", ""), ("a.json", "[]"), ("a.csv", "source,target\n"), ("b.csv", "")]
)
def test_an_empty_file_is_an_error(tmp_path, name, content, streaming):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=rf"{name}: no rows; the file is empty"):
        load_data(tmp_path / name, streaming=streaming)


@pytest.mark.parametrize("streaming", [False, True])
def test_rows_with_an_empty_side_are_dropped_and_counted(tmp_path, streaming):
    rows = [PAIRS[0], {"source": "", "target": "x"}, {"source": "x", "target": " \t"}, PAIRS[1]]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    with pytest.warns(UserWarning, match=r"split train: dropped 2 of 4 rows .*first: line 2 of"):
        found = list(load_data(path, streaming=streaming)["train"])
    assert found == PAIRS[:2]


def test_nothing_but_empty_rows_is_an_error(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"source": "", "target": "x"}])
    with pytest.warns(UserWarning, match="dropped 1 of 1"), pytest.raises(ValueError, match="no pair is left, 1 rows"):
        load_data(path)


@pytest.mark.parametrize("streaming", [False, True])
def test_max_words_counts_both_sides_at_white_space(tmp_path, streaming):
    rows = [
        {"source": "a b c", "target": "a, b."},
        {"source": "a b c d", "target": "a"},
        {"source": "a", "target": "a b c d"},
    ]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    assert list(load_data(path, max_words=3, streaming=streaming)["train"]) == rows[:1]


def test_a_limit_that_leaves_nothing_is_an_error(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", PAIRS)
    with pytest.raises(ValueError, match="3 are longer than max_words=1"):
        load_data(path, max_words=1)
    with pytest.warns(UserWarning, match="no pair is left"):
        assert list(load_data(path, max_words=1, streaming=True)["train"]) == []
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="max_words="):
            load_data(path, max_words=wrong)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n', "line 2 of .* is not JSON"),
        ("a.jsonl", b'["a", "b"]x\n', "is not JSON"),
        ("a.json", b'{"source": "a", "target": "b"}\n"text"\n', "line 2 of .* is str 'text'; expected an object"),
        ("a.csv", b"source,target\na,b\na,b,c\n", r"row 2 of .* has 3 fields where the header line has 2"),
        ("a.csv", b"source,source\na,b\n", "names a column twice"),
        ("a.csv", b'source,target\n"a,b\n', "cannot be read"),
        ("a.csv", b"source,target\n\xe4,b\n", "is not UTF-8"),
        ("a.csv.gz", b"source,target\na,b\n", "not a whole gzip file"),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"source": "a", "target": "b"}\n' * 500, mtime=0)[:-20],
            "not a whole gzip file",
        ),
        ("a.parquet", b"source,target\na,b\n", "not a whole Parquet file"),
        ("a.txt", b"", r"a\.txt is empty; files that can be read: \.jsonl"),
        ("a.txt", b"a b\n", r"of no known format; files that can be read: \.jsonl"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_data(tmp_path / name)


def test_missing_files_folders_and_splits_are_named(tmp_path):
    for name in ("missing.csv", "missing"):
        with pytest.raises(ValueError, match=f"{name} does not exist"):
            load_data(tmp_path / name)
    with pytest.raises(ValueError, match="holds: nothing"):
        load_data(tmp_path)
    write_jsonl(tmp_path / "pairs.jsonl", PAIRS)
    assert list(load_data(tmp_path)["train"]) == PAIRS
    write_jsonl(tmp_path / "more.jsonl", PAIRS)
    with pytest.raises(ValueError, match=r"no train, validation or test file.*pairs\.jsonl"):
        load_data(tmp_path)
    write_jsonl(tmp_path / "train.jsonl", PAIRS)
    with pytest.raises(ValueError, match="no split 'test'; it has train"):
        load_data(tmp_path, splits=["train", "test"])


@pytest.mark.parametrize("rival", ["train.csv", "train-00000-of-00001.jsonl", "training.jsonl", "train.jsonl.gz"])
def test_rival_files_of_a_split_are_an_error(tmp_path, rival):
    write_jsonl(tmp_path / "train.jsonl", PAIRS)
    (tmp_path / rival).write_bytes(b"")
    with pytest.raises(ValueError, match="several candidates for the split 'train'"):
        load_data(tmp_path)


def test_arguments_that_do_not_apply_are_refused(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", PAIRS)
    with pytest.raises(ValueError, match="dataset_config='x' does not apply"):
        load_data(path, dataset_config="x")
    with pytest.raises(ValueError, match=r"data_files=.* does not apply"):
        load_data(path, data_files="b.jsonl")
    for wrong in ({"source": "a"}, {"source": "a", "target": 3}, {"source": "a", "target": "b", "label": "c"}):
        with pytest.raises(ValueError, match="columns"):
            load_data(path, columns=wrong)


def test_streamed_files_are_shared_among_loader_workers(tmp_path):
    for number in range(2):
        write_jsonl(tmp_path / f"train-{number}.jsonl", [{"source": f"s{number}", "target": "t"}])
    data = load_data(tmp_path, streaming=True)["train"]
    assert data.num_shards == 2
    assert [row["source"] for row in data.shard(2, 1)] == ["s1"]


def test_good_files_warn_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert len(load_data(write_jsonl(tmp_path / "a.jsonl", PAIRS))["train"]) == 3
