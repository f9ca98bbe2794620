"""Formats that people have, on every reader: read as they are meant, or refused in one line that says what to do."""

import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from datasets import Dataset, Features, Image, Value
from datasets import Sequence as ListOf

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.delimited_files import as_list
from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.data.text_lines import split_words
from hf_attention_zoo.data.word_vectors import read_word_vectors
from hf_attention_zoo.tasks.captions.rows import load_captions
from hf_attention_zoo.tasks.choices.rows import load_choices
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.parsing.bracket_trees import read_trees
from hf_attention_zoo.tasks.questions.rows import load_questions
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.tags.examples import encode_tagged
from hf_attention_zoo.tasks.tags.rows import load_tagged
from hf_attention_zoo.tasks.translation.rows import load_data
from hf_attention_zoo.tokenization.bert2018_tokenizer import BERT2018Tokenizer
from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer

AWKWARD = ['say "yes"', "a\ttab", "two\nlines", "plain", '"quoted"', "", 'ends"', "a;b,c", "' single"]


@pytest.mark.parametrize("quoting", [0, 1])
@pytest.mark.parametrize(("ending", "separator"), [("tsv", "\t"), ("csv", ","), ("csv", ";"), ("csv", "\t")])
def test_tables_of_pandas_come_back_as_they_went(tmp_path: Path, ending: str, separator: str, quoting: int) -> None:
    table = pandas.DataFrame({"source": AWKWARD, "target": AWKWARD[::-1]})
    path = tmp_path / f"rows.{ending}"
    table.to_csv(path, sep=separator, index=False, quoting=quoting)
    assert [dict(row) for _, row in read_rows(path)] == table.to_dict("records")


def test_marks_of_corpora_are_part_of_their_texts(tmp_path: Path) -> None:
    rows = ['"Ja!"\t"Yes!"', '"Nein", sagte er.\t"No," he said.', 'Er sagte: "Nein\tHe said: "No', "a\rb\tc"]
    path = tmp_path / "rows.tsv"
    for count in range(1, len(rows) + 1):
        path.write_text("source\ttarget\n" + "".join(row + "\n" for row in rows[:count]), newline="")
        assert [f"{row['source']}\t{row['target']}" for _, row in read_rows(path)] == rows[:count]
    path.write_text("source\ttarget\na\tb\tc\n")
    with pytest.raises(
        ValueError, match=r"row 1 .* 3 fields .*no field may hold a tab .* write such tables as CSV or JSON"
    ):
        list(read_rows(path))
    pandas.DataFrame({"source": ["a\tb"], "target": ["c"]}).to_csv(tmp_path / "advice.csv", index=False)
    assert load_data(tmp_path / "advice.csv")["train"][0] == {"source": "a\tb", "target": "c"}


def test_a_parallel_file_without_a_header_keeps_its_first_pair(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("Go.\tGeh.\nHi!\tHallo!\n")
    for streaming in (False, True):
        with pytest.warns(UserWarning, match="has no header line: its columns are read as source and target"):
            data = load_data(path, streaming=streaming)["train"]
        assert list(data) == [{"source": "Go.", "target": "Geh."}, {"source": "Hi!", "target": "Hallo!"}]
    path.write_text("dog\tHund\ncat\tKatze\n")
    with pytest.raises(
        ValueError, match="where the first line is a pair and no header, put one before it: source and target"
    ):
        load_data(path)
    path.write_text("source\ttarget\n" + path.read_text())
    assert len(load_data(path)["train"]) == 2


@pytest.mark.parametrize(
    ("text", "encoding", "likely"),
    [
        ("이 영화 정말 재미있다", "cp949", "CP949"),
        ("日本語のテキストです", "shift_jis", "SHIFT_JIS"),
        ("这是中文文本", "gb18030", "GB18030"),
        ("Das Mädchen trägt ein grünes Kleid", "cp1252", "CP1252"),
        ("plain", "utf-16", "UTF-16"),
    ],
)
def test_other_encodings_are_named_with_the_command_that_converts_them(
    tmp_path: Path, text: str, encoding: str, likely: str
) -> None:
    (tmp_path / "rows.csv").write_bytes(f"text,label\n{text},1\n".encode(encoding))
    (tmp_path / "rows.txt").write_bytes(text.encode(encoding))
    for read in (lambda: load_labelled(tmp_path / "rows.csv"), lambda: list(DocumentSource(tmp_path / "rows.txt"))):
        with pytest.raises(ValueError, match=rf"probably {likely} .*iconv -f {likely} -t UTF-8 rows"):
            read()


LISTS = [["EU", "rejects", "it's", 'a "call"'], ["one"], ["[", "a, b"], ["\\n", "tab\there", "한국어"]]


@pytest.mark.parametrize("form", [json.dumps, repr, "numpy"])
@pytest.mark.parametrize("given", LISTS)
def test_cells_hold_lists_as_programs_print_them(given: list[str], form: Any) -> None:
    import numpy as np

    text = str(np.array(given, dtype=object)) if form == "numpy" else form(given)
    assert as_list(text) == given and as_list(f"[{text}, {text}]") == [given, given]


def test_cells_in_brackets_that_are_no_lists_are_texts_and_cut_lists_are_refused() -> None:
    for text in ("[Applause]", "[1, 2]", "[MASK] a [MASK]", "[]x", "['a'", "['a''b']", "no", "[1] see [2]"):
        assert as_list(text) == text
    assert as_list("[0 1 2]", numbers=True) == [0, 1, 2] and as_list("[]") == []
    with pytest.raises(ValueError, match=r"shortened or printed by a program, .*write the data as JSON lines"):
        as_list("['a' 'b' ... 'y' 'z']")


@pytest.mark.parametrize("write", ["datasets", "pandas"])
def test_lists_in_the_cells_of_csv_are_read_by_every_task(tmp_path: Path, write: str) -> None:
    rows: dict[str, list[Any]] = {
        "tokens": [["EU", "rejects"], ["a", "b"]],
        "tags": [["B", "O"], ["O", "O"]],
        "numbers": [[0, 1], [1, 0]],
        "labels": [["x", "y"], ["y"]],
        "sentences": [["One.", "Two, three."], ["It's."]],
        "captions": [["a dog", "the dog"], ["a cat"]],
        "choices": [["barks", "sings"], ["sits", "it's"]],
        "label": [0, 1],
        "context": ["a dog", "a cat"],
        "file_name": ["1.png", "2.png"],
    }
    path = tmp_path / "train.csv"
    if write == "datasets":
        Dataset.from_dict(rows).to_csv(path)
    else:
        pandas.DataFrame(rows).to_csv(path, index=False)
    for name in rows["file_name"]:
        (tmp_path / name).write_bytes(b"")
    tagged, info = load_tagged(path)
    assert tagged["train"]["words"][:] == rows["tokens"] and info.names == ("O", "B")
    assert load_tagged(path, tags="numbers")[0]["train"]["tags"][:] == rows["numbers"]
    several, names = load_labelled(path, columns={"text": "context", "label": "labels"})
    assert names.names == ("x", "y") and several["train"]["label"][:] == [[1.0, 1.0], [0.0, 1.0]]
    texts, _ = load_labelled(path, columns={"text": "sentences", "label": "label"})
    assert texts["train"]["text"][:] == rows["sentences"]
    assert list(DocumentSource(path, column="sentences")) == rows["sentences"]
    assert load_captions(tmp_path)["train"].captions == rows["captions"]
    assert load_choices(path)["train"]["choices"][:] == rows["choices"]


def test_films_of_nsmc_and_tables_of_glue(tmp_path: Path) -> None:
    nsmc = tmp_path / "nsmc"
    nsmc.mkdir()
    for split in ("train", "test"):
        (nsmc / f"ratings_{split}.txt").write_text(
            'id\tdocument\tlabel\n1\t좋다 "정말\t1\n2\t별로\t0\n', encoding="utf-8"
        )
    data, info = load_labelled(nsmc)
    assert list(data) == ["train", "test"] and info.names == ("0", "1") and data["train"]["text"][0] == '좋다 "정말'
    glue = tmp_path / "QNLI"
    glue.mkdir()
    for split in ("train", "dev"):
        rows = 'index\tquestion\tsentence\tlabel\n0\tWho?\tAn "x\tentailment\n1\tWhy?\tB\tnot_entailment\n'
        (glue / f"{split}.tsv").write_text(rows)
    (glue / "test.tsv").write_text("index\tquestion\tsentence\n0\tWho?\tC\n")
    with pytest.warns(UserWarning, match="split test: left out, its rows have no labels"):
        data, _ = load_labelled(glue)
    assert data["train"][0] == {"text": "Who?", "text_pair": 'An "x', "label": 0}
    (tmp_path / "cola.tsv").write_text("gj04\t1\t\tOur friends won't buy this.\ngj04\t0\t*\tThey drank the pub.\n")
    with pytest.raises(ValueError, match="put a line with the names of the columns first if there is none"):
        load_labelled(tmp_path / "cola.tsv")


SPACES = ["\u00a0", "\u2003", "\u2009", "\u202f", "\u3000", "\u1680", "\u0085", "\u2028"]


@pytest.mark.parametrize("space", SPACES, ids=[f"U+{ord(space):04X}" for space in SPACES])
def test_other_spaces_of_unicode_stay_inside_their_word(tmp_path: Path, space: str) -> None:
    words, tags = ["Paris", f"10{space}000", f"{space}!"], ["NN", "CD", "."]
    row = {"tokens": words, "tags": tags}
    joined = {name: " ".join(values) for name, values in row.items()}
    universal = [[str(n), word, "_", tag, *"______"] for n, (word, tag) in enumerate(zip(words, tags, strict=True), 1)]
    written = {
        "tabs.conll": "\n".join(map("\t".join, zip(words, tags, strict=True))),
        "blanks.conll": "\n".join(map(" ".join, zip(words, tags, strict=True))),
        "universal.conllu": "".join("\t".join(fields) + "\n" for fields in universal),
        "lists.jsonl": json.dumps(row) + "\n",
        "texts.jsonl": json.dumps(joined) + "\n",
        "texts.csv": pandas.DataFrame([joined]).to_csv(index=False),
        "lists.csv": pandas.DataFrame([{name: str(values) for name, values in row.items()}]).to_csv(index=False),
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        tags_column = {"tags": "upos"} if name.endswith("conllu") else {}
        data, info = load_tagged(tmp_path / name, **tags_column)
        assert data["train"]["words"][0] == words, name
        assert [info.names[tag] for tag in data["train"]["tags"][0]] == tags, name
    (tree,) = read_trees("(S " + " ".join(f"({t} {w})" for w, t in zip(words, tags, strict=True)) + ")")
    assert tree.words() == words and list(read_trees(str(tree))) == [tree]
    assert split_words(" \t".join(words) + "\r\n") == words
    vectors = tmp_path / "words.vec"
    vectors.write_text("".join(f"{word} 1 2\n" for word in words), encoding="utf-8", newline="")
    assert list(read_word_vectors(vectors)) == words
    for tokenizer in (
        WordCharacterTokenizer.train(["Paris 10 000 !"]),
        BERT2018Tokenizer.train(["Paris 10 000 !"] * 9),
    ):
        rows = Dataset.from_dict({"words": [words], "tags": [[0, 1, 2]]})
        assert [tag for tag in encode_tagged(rows, tokenizer)["labels"][0] if tag >= 0] == [0, 1, 2]


def test_words_by_the_line_are_read_and_broken_lines_named(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n")
    data, info = load_tagged(path)
    assert data["train"]["words"][:] == [["EU", "rejects"], ["Peter"]] and info.names == ("O", "B-ORG", "B-PER")
    path.write_text("EU B-ORG\nrejects\n")
    with pytest.raises(ValueError, match=r"line 2 of .* has 1 columns; 2 columns are wanted"):
        load_tagged(path)


def test_nested_questions_are_read_or_their_nesting_is_named(tmp_path: Path) -> None:
    context = "<p>Anna sees the dog.</p>"
    asked = {"id": "1", "question": "who?", "answer": {"text": "Anna", "answer_start": 3, "html_answer_start": 9}}
    path = tmp_path / "train.json"
    path.write_text(
        json.dumps({"version": "KorQuAD 2.1", "data": [{"title": "a", "context": context, "qas": [asked]}]})
    )
    assert load_questions(path)["train"]["answers"][:] == [["Anna"]]
    story = {"story": "Anna sees.", "questions": [{"input_text": "who?"}], "answers": [{"span_text": "Anna"}]}
    for data in ([story], [{"paragraphs": [{"qas": [asked]}]}], [{"paragraphs": [{"context": "a"}]}], ["text"], [{}]):
        path.write_text(json.dumps({"data": data}))
        with pytest.raises(ValueError, match=r"article 1 holds .*not the paragraphs with context and qas of SQuAD"):
            load_questions(path)
    line = {"question": "who?", "context": "Anna sees.", "answers": {"text": ["Anna"], "answer_start": [0]}}
    path.write_text(json.dumps(line))  # as the message advises
    assert load_questions(path)["train"]["answers"][:] == [["Anna"]]


def test_captions_of_coco_and_pictures_in_parquet(tmp_path: Path) -> None:
    import io

    from PIL import Image as Picture

    coco = tmp_path / "coco"
    for split in ("train", "val"):
        (coco / f"{split}2017").mkdir(parents=True)
        Picture.new("RGB", (4, 4), "red").save(coco / f"{split}2017" / "7.png")
        (coco / "annotations").mkdir(exist_ok=True)
        written = [{"image_id": 7, "id": n, "caption": text} for n, text in enumerate(["a dog", "the dog"])]
        content = {"images": [{"id": 7, "file_name": "7.png"}], "annotations": written}
        (coco / "annotations" / f"captions_{split}2017.json").write_text(json.dumps(content))
        (coco / "annotations" / f"instances_{split}2017.json").write_text("{}")
    found = load_captions(coco)
    assert list(found) == ["train", "validation"] and found["train"].captions == [["a dog", "the dog"]]
    assert found["train"].picture(0).size == (4, 4)
    file = io.BytesIO()
    Picture.new("RGB", (5, 5), "red").save(file, "PNG")
    table = tmp_path / "table"
    table.mkdir()
    Dataset.from_dict(
        {"image": [{"bytes": file.getvalue(), "path": None}], "caption": [["a dog"]]},
        features=Features({"image": Image(), "caption": ListOf(Value("string"))}),
    ).to_parquet(table / "train.parquet")
    rows = load_captions(table)["train"]
    assert rows.captions == [["a dog"]] and rows.picture(0).size == (5, 5)


@pytest.mark.parametrize(
    ("architecture", "content", "advice"),
    [
        ("rnnsearch", "deutsch,englisch\na,b\n", "--source_column and --target_column"),
        ("han", "body,stars\na,b\n", "--text_column, --text_pair_column and --label_column"),
    ],
)
def test_the_command_names_flags_and_python_names_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], architecture: str, content: str, advice: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(content)
    code = main(["train", architecture, "--dataset", str(path), "--output_dir", str(tmp_path / "out")])
    printed = capsys.readouterr().err
    assert code == 2 and advice in printed and "columns={" not in printed
    with pytest.raises(ValueError, match=r"columns=\{"):
        load_data(path) if architecture == "rnnsearch" else load_labelled(path)
