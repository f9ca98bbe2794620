"""Data sets that everybody has, small files in their real layouts: read, or refused in one line that helps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tasks.captions.rows import load_captions
from hf_attention_zoo.tasks.choices.rows import load_choices
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.questions.rows import load_questions
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.translation.rows import load_data

SNLI_COLUMNS = [
    *("gold_label", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse", "sentence2_parse"),
    *("sentence1", "sentence2", "captionID", "pairID", "label1", "label2", "label3", "label4", "label5"),
]


def snli_rows() -> list[dict[str, Any]]:
    row = {name: "( ( A x ) )" for name in SNLI_COLUMNS}
    row |= {"sentence1": 'A man "on" a horse.', "sentence2": "He's out.", "captionID": "34.jpg#4", "pairID": "34#4r1n"}
    return [{**row, "gold_label": label} for label in ("neutral", "-", "entailment", "contradiction", "-")]


def write_snli(folder: Path, *endings: str) -> Path:
    folder.mkdir()
    for split in ("train", "dev", "test"):
        if "jsonl" in endings:
            lines = [json.dumps({**row, "annotator_labels": ["neutral", "-"]}) for row in snli_rows()]
            (folder / f"snli_1.0_{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if "txt" in endings:
            lines = ["\t".join(SNLI_COLUMNS), *("\t".join(row.values()) for row in snli_rows())]
            (folder / f"snli_1.0_{split}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "README.txt").write_text("Stanford Natural Language Inference\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("ending", ["jsonl", "txt"])
def test_pairs_of_snli_without_a_gold_label_are_left_out_and_counted(tmp_path: Path, ending: str) -> None:
    folder = write_snli(tmp_path / "snli_1.0", ending)
    with pytest.warns(UserWarning, match=r"split train: left out 2 rows whose gold_label is '-'.*first: (line|row) 2"):
        splits, info = load_labelled(folder, needed=["train", "validation"])
    assert list(splits) == ["train", "validation", "test"] and info.names == ("contradiction", "entailment", "neutral")
    assert splits["train"][0] == {"text": 'A man "on" a horse.', "text_pair": "He's out.", "label": 2}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 3, "validation": 3, "test": 3}


def test_a_dash_in_another_column_is_a_class_and_two_forms_of_snli_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "moods.jsonl"
    path.write_text("".join(json.dumps({"text": "a", "label": label}) + "\n" for label in "+-"), encoding="utf-8")
    assert load_labelled(path)[1].names == ("+", "-")
    only = write_snli(tmp_path / "undecided", "jsonl")
    for file in only.glob("*.jsonl"):
        file.write_text(json.dumps(snli_rows()[1]) + "\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="left out 1 rows"), pytest.raises(ValueError, match="1 no gold_label"):
        load_labelled(only)
    with pytest.raises(ValueError, match=r"several candidates for the split 'train'.*jsonl, snli_1.0_train.txt; keep"):
        load_labelled(write_snli(tmp_path / "both", "jsonl", "txt"))


GLUE: dict[str, tuple[str, str, dict[str, str] | None, Any]] = {
    # Task -> files, header and rows, the columns that have to be named, and the first row.
    "SST-2": ("train dev", "sentence\tlabel\na gem \t1\nhide \t0\n", None, ("a gem ", None, 1)),
    "RTE": (
        "train dev",
        'index\tsentence1\tsentence2\tlabel\n0\tNo "x\tY\tentailment\n1\tA\tB\tnot_entailment\n',
        None,
        ('No "x', "Y", 0),
    ),
    "MRPC": (
        "msr_paraphrase_train msr_paraphrase_test",
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said "no.\tNo.\n0\t3\t4\tA\tB\n',
        {"text": "#1 String", "text_pair": "#2 String", "label": "Quality"},
        ('He said "no.', "No.", 1),
    ),
    "QQP": (
        "train dev",
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWhy?\tHow?\t0\n1\t3\t4\tA?\tB?\t1\n",
        {"label": "is_duplicate"},
        ("Why?", "How?", 0),
    ),
    "STS-B": (
        "train dev",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
        "0\tmain\tMSR\t2012\t1\tnone\tnone\tA plane.\tA jet.\t5.000\n1\tm\tM\t2\t4\tn\tn\tX\tY\t3.8\n",
        {"label": "score"},
        ("A plane.", "A jet.", 5.0),
    ),
}


@pytest.mark.parametrize("name", GLUE)
def test_tables_of_glue_are_read_or_ask_for_the_names_that_they_need(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files, text, columns, (first, second, label) = GLUE[name]
    for file in files.split():
        (tmp_path / f"{file}.{'txt' if name == 'MRPC' else 'tsv'}").write_text(text, encoding="utf-8")
    if columns is not None:
        with pytest.raises(ValueError, match=r'none of them a (text|label) .*name them with columns=\{"text"'):
            load_labelled(tmp_path)
        argv = ["train", "self_attentive", "--dataset", str(tmp_path), "--output_dir", str(tmp_path / "run")]
        assert main(argv) == 2
        assert "--text_column, --text_pair_column and --label_column" in capsys.readouterr().err
    splits, _ = load_labelled(tmp_path, columns=columns)
    row = splits["train"][0]
    assert (row["text"], row.get("text_pair"), row["label"]) == (first, second, label) and len(splits) == 2


def test_the_two_validation_sets_of_multinli_are_chosen_between(tmp_path: Path) -> None:
    text = (
        "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n0\tg\tA\tB\tx\tneutral\n1\tg\tC\tD\tx\tentailment\n"
    )
    for split in ("train", "dev_matched", "dev_mismatched"):
        (tmp_path / f"{split}.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"several candidates .* 'validation': dev_matched.tsv, dev_mismatched.tsv"):
        load_labelled(tmp_path)
    files = {"train": str(tmp_path / "train.tsv"), "validation": str(tmp_path / "dev_matched.tsv")}
    assert list(load_labelled("tsv", data_files=files)[0]) == ["train", "validation"]


@pytest.mark.parametrize("version", ["v1.1", "v2.0"])
def test_both_squads_are_read_under_their_own_names(tmp_path: Path, version: str) -> None:
    asked: list[dict[str, Any]] = [
        {"id": "5", "question": "Who sees?", "answers": [{"text": "Anna", "answer_start": 0}] * 2}
    ]
    if version == "v2.0":
        asked[0]["is_impossible"] = False
        no = {"id": "6", "question": "Who sings?", "answers": [], "is_impossible": True}
        asked.append({**no, "plausible_answers": [{"text": "dog", "answer_start": 14}]})
    paragraphs = [{"context": "Anna sees the dog.", "qas": asked}]
    for split in ("train", "dev"):
        content = {"version": version, "data": [{"title": "Anna", "paragraphs": paragraphs}]}
        (tmp_path / f"{split}-{version}.json").write_text(json.dumps(content), encoding="utf-8")
    splits = load_questions(tmp_path, needed=["train", "validation"])
    assert list(splits) == ["train", "validation"]
    assert splits["train"]["answers"] == [["Anna", "Anna"], []][: len(asked)]


def test_tables_of_swag_with_their_full_forms_beside_them(tmp_path: Path) -> None:
    names = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
    for split in ("train", "val", "test"):
        told = split != "test"
        rows = [
            '0,anetv_jkn,3416,"Members, of a","Members, of",a,gold,"passes, by",b,c,d',
            "1,x,3,X Y,X,Y,gold,e,f,g,h",
        ]
        text = names + ",label" * told + "\n" + "".join(row + ",2" * told + "\n" for row in rows)
        (tmp_path / f"{split}.csv").write_text(text, encoding="utf-8")
        if told:
            (tmp_path / f"{split}_full.csv").write_text("video-id,startphrase,gold-ending\na,b,c\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="train_full.csv is left out, train.csv is the split 'train'"):
        splits = load_choices(tmp_path, needed=["train", "validation"])
    assert list(splits) == ["train", "validation"]
    assert splits["train"][0]["choices"] == ["a passes, by", "a b", "a c", "a d"] and splits["train"][0]["label"] == 2


PICTURES = ["1000268201_693b08cb0e.jpg", "1001773457_577c3a7d70.jpg", "1002674143_1b742ab4b8.jpg"]


def write_flickr(folder: Path, file: str, pictures: str) -> Path:
    (folder / pictures).mkdir(parents=True)
    for name in PICTURES:
        Image.new("RGB", (4, 4)).save(folder / pictures / name)
    lines = [f"{name}#{number}\tA dog , number {number} .\n" for name in PICTURES for number in range(5)]
    (folder / file).write_text("".join(lines), encoding="utf-8")
    return folder


def test_captions_of_flickr_are_read_with_their_lists_of_splits(tmp_path: Path) -> None:
    thirty = write_flickr(tmp_path / "30k", "results_20130124.token", "flickr30k-images")
    (rows,) = load_captions(thirty).values()
    assert len(rows) == 3 and [len(listed) for listed in rows.captions] == [5] * 3
    assert rows.picture(2).size == (4, 4) and rows.captions[0][1] == "A dog , number 1 ."
    eight = write_flickr(tmp_path / "8k", "Flickr8k.token.txt", "Flicker8k_Dataset")
    (eight / "Flickr8k.lemma.token.txt").write_text(f"{PICTURES[0]}#0\tdog number 0 .\n", encoding="utf-8")
    (eight / "ExpertAnnotations.txt").write_text(f"{PICTURES[0]}\t{PICTURES[1]}#2\t1\t1\t1\n", encoding="utf-8")
    for split, name in zip(("train", "dev"), PICTURES, strict=False):
        (eight / f"Flickr_8k.{split}Images.txt").write_text(name + "\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=f"left out 1 pictures that are in no list of a split .first: {PICTURES[2]}"):
        splits = load_captions(eight)
    assert {split: rows.names for split, rows in splits.items()} == {
        "train": [f"Flicker8k_Dataset/{PICTURES[0]}"],
        "validation": [f"Flicker8k_Dataset/{PICTURES[1]}"],
    }
    (eight / "Flickr8k.token.txt").write_text("1.jpg A dog .\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 1 of .*captions of Flickr are 1.jpg#0, a tab, and the caption"):
        load_captions(eight)


def test_other_tables_of_flickr_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "Images").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "Images" / "1.jpg")
    table = tmp_path / "train.csv"
    table.write_text("image_name| comment_number| comment\n1.jpg| 0| Two men, outside .\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"parted by commas, semicolons or tabs, not by \|; write the table so"):
        load_captions(tmp_path)
    table.write_text('image,caption\n1.jpg,"A girl, going"\n1.jpg,A child .\n', encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"has no picture '1.jpg'; it lies in Images/: move the file of captions there"
    ):
        load_captions(tmp_path)
    table.rename(tmp_path / "Images" / "train.csv")  # as the message advises
    assert load_captions(tmp_path / "Images")["train"].captions == [["A girl, going", "A child ."]]


@pytest.mark.parametrize("ending", ["raw", "tokens"])
def test_both_forms_of_wikitext_are_read_by_their_splits(tmp_path: Path, ending: str) -> None:
    for split in ("train", "valid", "test"):
        text = f" \n = {split} = \n \n Senjō no Valkyria : <unk> . \n It is . \n \n \n = = Gameplay = = \n \n"
        (tmp_path / f"wiki.{split}.{ending}").write_text(text, encoding="utf-8")
    for split, name in (("train", "train"), ("validation", "valid"), ("test", "test")):
        documents = list(DocumentSource(tmp_path, split=split))
        assert documents == [[f"= {name} ="], ["Senjō no Valkyria : <unk> .", "It is ."], ["= = Gameplay = ="]]


READERS: dict[str, Callable[[Path], Any]] = {
    "translation": load_data,
    "labels": load_labelled,
    "questions": load_questions,
    "choices": load_choices,
    "captions": load_captions,
}


@pytest.mark.parametrize("name", READERS)
def test_several_tables_without_a_split_in_their_names_are_refused_with_the_cure(tmp_path: Path, name: str) -> None:
    for file in ("one.jsonl", "two.jsonl"):
        (tmp_path / file).write_text('{"source": "a", "target": "b", "text": "a", "label": "x"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"it holds: one.jsonl, two.jsonl. Rename the files or name them with"):
        READERS[name](tmp_path)
    documents = list(DocumentSource(tmp_path))  # running text has no rows that belong together
    assert len(documents) == 2
