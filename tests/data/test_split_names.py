"""Splits by the words of file and folder names, for every kind of folder; nothing is left out without a word."""

import fnmatch
import json
import warnings
from pathlib import Path

import pytest

from hf_attention_zoo.data.split_names import in_natural_order, split_of_name, stem_of
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.running_text.rows import DocumentSource, text_files_of_folder
from hf_attention_zoo.tasks.tags.rows import load_tagged
from hf_attention_zoo.tasks.translation.rows import load_data

NAMES = {
    "wiki.train.raw": "train",
    "wiki.valid.raw": "validation",
    "wiki.test.raw": "test",
    "en_ewt-ud-dev.conllu": "validation",
    "ratings_train.txt": "train",
    "captions_val2017.json": "validation",
    "test-00000-of-00002.parquet": "test",
    "KorQuAD_v1.0_dev.json": "validation",
    "Training data.csv": "train",
    "my-eval.jsonl.gz": "test",
    "testing.tsv": "test",
    "newstest2014.de": None,
    "retrained.csv": None,
    "devices.txt": None,
    "emma.txt": None,
}


@pytest.mark.parametrize(("name", "split"), NAMES.items())
def test_a_name_says_its_split_by_whole_words_as_for_datasets(name: str, split: str | None) -> None:
    from datasets.data_files import DEFAULT_PATTERNS_SPLIT_IN_FILENAME

    assert split_of_name(stem_of(Path(name))) == split
    theirs = {
        str(one)
        for one, patterns in DEFAULT_PATTERNS_SPLIT_IN_FILENAME.items()
        if any(fnmatch.fnmatchcase(name.lower(), pattern.replace("**/", "")) for pattern in patterns)
    }
    assert theirs == ({split} if split else set())


def test_two_words_in_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match="the words of two splits, test and train; rename it"):
        split_of_name("train_test")


def test_numbers_in_names_sort_by_their_value() -> None:
    assert in_natural_order(["ending10", "ending2", "a", "ending1", "Ä1"]) == [
        "a",
        "ending1",
        "ending2",
        "ending10",
        "Ä1",
    ]


def write(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}.\n", encoding="utf-8")
    return folder


def test_running_text_never_loses_a_file_without_a_word(tmp_path: Path) -> None:
    novels = write(tmp_path / "novels", "emma.txt", "persuasion.txt", "train_to_lisbon.txt")
    with pytest.warns(UserWarning, match="emma.txt, persuasion.txt are read for training, too"):
        assert len(list(DocumentSource(novels))) == 3
    with warnings.catch_warnings(action="error"):
        wiki = text_files_of_folder(write(tmp_path / "wiki", "wiki.train.raw", "wiki.valid.raw", "wiki.test.raw"))
        folders = text_files_of_folder(write(tmp_path / "parts", "train/a2.txt", "train/a10.txt", "dev/b.txt"))
    assert {split: [path.name for path in paths] for split, paths in wiki.items()} == {
        "train": ["wiki.train.raw"],
        "validation": ["wiki.valid.raw"],
        "test": ["wiki.test.raw"],
    }
    assert [path.name for path in folders["train"]] == ["a2.txt", "a10.txt"] and list(folders) == [
        "train",
        "validation",
    ]
    with pytest.warns(UserWarning, match=r"emma.txt is left out, their names say no split|emma.txt is left out"):
        assert len(list(DocumentSource(write(tmp_path / "both", "train.txt", "test.txt", "emma.txt")))) == 1


def test_folders_of_classes_leave_out_what_has_no_class_with_a_warning(tmp_path: Path) -> None:
    names = [
        f"{split}/{label}/{number}.txt"
        for split in ("train", "test")
        for label in ("neg", "pos")
        for number in (2, 10)
    ]
    folder = write(tmp_path, *names, "train/unsup/1.txt", "train/pos/notes.md")
    with pytest.warns(UserWarning) as said:
        data, info = load_labelled(folder)
    messages = " | ".join(str(warning.message) for warning in said)
    assert "unsup is left out, its texts have no class" in messages and "pos/notes.md is left out" in messages
    assert info.names == ("neg", "pos") and list(data) == ["train", "test"]
    assert list(data["train"]["id"]) == ["neg/2", "neg/10", "pos/2", "pos/10"]


def test_tables_and_parallel_text_go_by_the_words_of_their_names(tmp_path: Path) -> None:
    rows = json.dumps({"source": "a", "target": "b"}) + "\n"
    for name in ("pairs_train_1.jsonl", "pairs_train_2.jsonl", "pairs-dev.jsonl", "other.jsonl"):
        (tmp_path / name).write_text(rows)
    with pytest.warns(UserWarning, match="other.jsonl is left out"):
        data = load_data(tmp_path)
    assert {split: len(part) for split, part in data.items()} == {"train": 2, "validation": 1}
    below = tmp_path / "below"
    for part in ("training", "val"):
        (below / part).mkdir(parents=True)
        (below / part / "rows.jsonl").write_text(rows)
    assert list(load_data(below)) == ["train", "validation"]
    text = write(tmp_path / "text", "europarl.train.de", "europarl.train.en", "europarl.dev.de", "europarl.dev.en")
    data = load_data(text, source_lang="de", target_lang="en")
    assert list(data) == ["train", "validation"] and data["train"]["source"][0] == "Text of europarl.train.de."


def test_treebanks_of_universal_dependencies_are_read_by_their_own_names(tmp_path: Path) -> None:
    lines = "# text = Im Haus\n1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_\n" + "".join(
        f"{n}\t{word}\t{word}\t{tag}\tX\t_\t0\troot\t_\t_\n"
        for n, (word, tag) in enumerate([("in", "ADP"), ("dem", "DET")], 1)
    )
    for split in ("train", "dev"):
        (tmp_path / f"de_gsd-ud-{split}.conllu").write_text(lines + "\n" + lines, encoding="utf-8")
    data, info = load_tagged(tmp_path)
    assert list(data) == ["train", "validation"] and info.names == ("ADP", "DET")
    assert data["train"][:] == {"words": [["in", "dem"]] * 2, "tags": [[0, 1]] * 2}
