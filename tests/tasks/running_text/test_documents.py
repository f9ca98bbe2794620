"""Running text as documents of sentences: every kind of source, streaming, bad input."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from hf_attention_zoo.tasks.running_text.rows import DocumentSource, read_documents, split_sentences


def test_an_embedded_sample_gives_documents_of_sentences() -> None:
    documents = list(read_documents("lm_debian", split="validation"))
    assert len(documents) == 706
    assert all(isinstance(sentence, str) and sentence for document in documents for sentence in document)
    assert list(read_documents("lm_debian", split="validation", limit=3)) == documents[:3]


def test_plain_text_has_a_document_between_blank_lines(tmp_path: Path) -> None:
    text = "One here. Two there.\nThree.\n\n\nA second text.\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert list(read_documents(tmp_path / "a.txt")) == [["One here.", "Two there.", "Three."], ["A second text."]]
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    assert list(read_documents(tmp_path)) == 2 * [["One here.", "Two there.", "Three."], ["A second text."]]


def test_a_file_can_be_one_document_with_broken_lines(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("It was a dark\nnight. It rained.\n\nNobody came.\n", encoding="utf-8")
    found = list(read_documents(tmp_path / "book.txt", text_documents="file"))
    assert found == [["It was a dark night.", "It rained.", "Nobody came."]]


def test_columns_may_hold_texts_sentences_or_paragraphs(tmp_path: Path) -> None:
    for value in ("One. Two.\nThree.", ["One.", "Two.", "Three."], [["One.", "Two."], ["Three."]]):
        (tmp_path / "train.jsonl").write_text(json.dumps({"id": "a", "story": value}) + "\n", encoding="utf-8")
        assert list(read_documents(tmp_path, column="story")) == [["One.", "Two.", "Three."]]
    with pytest.raises(ValueError, match="--text_column"):
        list(read_documents(tmp_path))


def test_splits_are_found_by_file_names_and_folders(tmp_path: Path) -> None:
    for name in ("train.txt", "valid.txt"):
        (tmp_path / name).write_text(f"This is {name}.\n", encoding="utf-8")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "x.txt").write_text("Last.\n", encoding="utf-8")
    assert list(read_documents(tmp_path, split="validation")) == [["This is valid.txt."]]
    assert list(read_documents(tmp_path, split="test")) == [["Last."]]
    assert not DocumentSource(tmp_path / "train.txt", split="test").has_split()


def test_a_source_is_read_lazily() -> None:
    def endless():
        while True:
            yield "Never ending. Story."

    assert list(islice(read_documents(endless()), 2)) == 2 * [["Never ending.", "Story."]]


def test_korean_stays_composed() -> None:
    assert split_sentences("한국어 문장이다. 또 하나.", "ko") == ["한국어 문장이다.", "또 하나."]


def test_a_column_of_a_split_that_is_not_there_is_not_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"story": "It came."}\n', encoding="utf-8")
    source = DocumentSource(tmp_path, split="dev2", column="story")
    source.check_column()
    with pytest.raises(ValueError, match="dev2"):
        next(iter(source))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "translation_ko_en"}, "holds translation data"),
        ({"source": "lm_debian", "limit": 0}, "at least 1"),
        ({"source": "lm_debian", "column": "story"}, "column 'story' is missing"),
        ({"source": "lm_debian", "text_documents": "page"}, "blank_line or file"),
        ({"source": "./nowhere"}, "does not exist"),
        ({"source": [3]}, "a list of sentences"),
    ],
)
def test_bad_sources_say_what_is_wrong(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        next(read_documents(**arguments))
