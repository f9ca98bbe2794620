"""Running text for pre-training: documents as lists of sentences, read one at a time.

Nothing is held but the document at hand, so a corpus may be larger than memory. The order is that of the files, and
reading twice gives the same documents.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.columns import column_names, described_value, has_column, value_at
from hf_attention_zoo.data.delimited_files import as_list
from hf_attention_zoo.data.likely_encoding import not_utf8
from hf_attention_zoo.data.parting import HeldOut
from hf_attention_zoo.data.record_files import format_of, read_rows
from hf_attention_zoo.data.samples import TextSample, get_sample, is_sample, list_samples
from hf_attention_zoo.data.split_names import canonical_split, files_by_split
from hf_attention_zoo.data.unpacking import PACKED, open_text
from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.whole_files import file_digest

Document = list[str]

# Columns that are looked for where the caller names none, the first that is there counts.
DOCUMENT_COLUMNS = ("paragraphs", "sentences", "text", "document", "content", "article")
BLANK_LINE, WHOLE_FILE = "blank_line", "file"
TEXT_ENDINGS = (".txt", ".text", ".raw", ".tokens")


def read_documents(source: str | os.PathLike | Iterable[Any], *, split: str = "train", **options: Any) -> Iterator:
    """Each document of a source as its list of sentences, streaming and in a fixed order.

    Args:
        source, split, options: see `DocumentSource`.

    Raises:
        ValueError: no such source, split or column, or something else than text where text is wanted.
    """
    return iter(DocumentSource(source, split=split, **options))


@dataclass(frozen=True)
class DocumentSource:
    """Documents that can be read again and again; each is a list of sentences in NFC without white space at the ends.

    Attributes:
        source: the name of an embedded sample of running text (`lm_debian`); a file or a folder of JSON lines, CSV,
            TSV or Parquet with a row per document; a file or a folder of plain text (`.txt`, packed or not); the id
            of a data set on the Hub; or any iterable of texts, lists of sentences or lists of paragraphs.
        split: train, validation or test, as the files of a folder are called; a single file or a folder of texts
            without split names is the training split.
        column: the column with the document: a text, a list of sentences, or a list of paragraphs that are lists of
            sentences. Left out, it is looked for.
        text_documents: in plain text, "blank_line" (documents stand between blank lines, and each line is a sentence
            or a paragraph) or "file" (each file is one document, blank lines part its paragraphs, and the lines of a
            paragraph belong together). A file without blank lines is one document either way, and is held whole.
        language: code that guides the splitting into sentences where the text is not split yet.
        dataset_config: configuration of a Hub data set.
        skip: leave out so many documents first.
        limit: read at most so many documents.
        part: only the documents that the rule of `data.parting` gives to train, validation or test; left out, all.
    """

    source: Any
    split: str = "train"
    column: str | None = None
    text_documents: str = BLANK_LINE
    language: str = "en"
    dataset_config: str | None = None
    skip: int = 0
    limit: int | None = None
    part: str | None = None

    def __post_init__(self) -> None:
        if self.text_documents not in (BLANK_LINE, WHOLE_FILE):
            raise ValueError(f"text_documents={self.text_documents!r}; it is {BLANK_LINE} or {WHOLE_FILE}")
        if self.skip < 0:
            raise ValueError(f"skip={self.skip}; leave out 0 documents or more")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit={self.limit}; read at least 1 document, or leave it out")

    def __iter__(self) -> Iterator[Document]:
        documents = (document for document in self._all() if document)
        if self.part is not None:
            held_out = self.held_out()
            documents = (document for document in documents if held_out.split_of(document) == self.part)
        return iter(islice(documents, self.skip, None if self.limit is None else self.skip + self.limit))

    def has_split(self) -> bool:
        """Whether the split is there (a Hub data set is asked for it)."""
        if self.is_iterable:
            return True
        name = os.fspath(self.source)
        if isinstance(self.source, str) and is_sample(name):
            return canonical_split(self.split) in get_sample(name).sizes
        path = Path(name).expanduser()
        if path.exists():
            return canonical_split(self.split) in self._files(path)
        return canonical_split(self.split) in {canonical_split(known) for known in self._hub()}

    def is_for_training_alone(self) -> bool:
        """Whether files (nothing else) have no split but that for training."""
        if self.is_iterable or (isinstance(self.source, str) and is_sample(self.source)):
            return False
        path = Path(os.fspath(self.source)).expanduser()
        return path.exists() and list(self._files(path)) == ["train"]

    def held_out(self) -> HeldOut:
        """How the documents are parted by the rule of `data.parting`; they are read once for it.

        Raises:
            ValueError: there are fewer than three different documents.
        """
        whole = replace(self, part=None, skip=0, limit=None)
        found = _held_out(whole, json.dumps(whole.identity(), default=str))
        if found is None:
            raise ValueError(
                f"{self.source} has fewer than three different documents, too few to be parted into train, validation "
                "and test; in .txt files part documents by blank lines, name held-out text with --validation_file, or "
                "give --eval_strategy no"
            )
        return found

    @property
    def is_iterable(self) -> bool:
        """Whether the documents are Python objects rather than the name of a place."""
        return not isinstance(self.source, str | os.PathLike)

    def check_column(self, *others: DocumentSource) -> None:
        """Raises ValueError if a column is named, but this and the other sources are plain text, which has none."""
        if self.column is not None and not any(source.has_columns() for source in (self, *others)):
            raise ValueError(
                f"{self.source} is plain text, which has no column {self.column!r}; leave it out (--text_column), or "
                "give JSON lines, CSV, TSV or Parquet"
            )

    def has_columns(self) -> bool:
        """Whether documents are read from rows with columns."""
        if self.is_iterable:
            return False
        path = Path(os.fspath(self.source)).expanduser()
        if (isinstance(self.source, str) and is_sample(self.source)) or not path.exists():
            return True
        files = self._files(path).get(canonical_split(self.split))  # a missing split is named by who reads it
        return files is None or not all(map(is_plain_text, files))

    def identity(self) -> dict[str, Any] | None:
        """What tells this text from another: the settings, and name, size and time of each file.

        None for Python objects, which have no name.
        """
        if self.is_iterable:
            return None
        states = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in self._own_files()]
        return {**self._settings(), "source": os.fspath(self.source), "files": states}

    def content(self) -> Iterator[bytes]:
        """What is read, by content: the settings and what is in each file; of a Hub data set its name."""
        yield json.dumps(self._settings(), sort_keys=True).encode()
        if self.is_iterable:
            yield from (json.dumps(document).encode() for document in self)
            return
        files = self._own_files()
        yield from (file_digest(file).encode() for file in files)
        if not files:
            yield os.fspath(self.source).encode()

    def _settings(self) -> dict[str, Any]:
        unsaid = ("source",) if self.part is not None else ("source", "part")  # whole texts have the names of before
        return {name: value for name, value in vars(self).items() if name not in unsaid}

    def _own_files(self) -> list[Path]:
        name = os.fspath(self.source)
        path = Path(name).expanduser()
        if isinstance(self.source, str) and is_sample(name):
            sample, split = get_sample(name), canonical_split(self.split)
            return [sample.file(split)] if split in sample.sizes else []  # a missing one is named by who reads it
        return self._files(path).get(canonical_split(self.split), []) if path.exists() else []

    def _all(self) -> Iterator[Document]:
        if self.is_iterable:
            for number, item in enumerate(self.source, 1):
                yield self._sentences(item, f"document {number}")
            return
        name, split = os.fspath(self.source), canonical_split(self.split)
        if isinstance(self.source, str) and is_sample(name):
            sample = get_sample(name)
            if not isinstance(sample, TextSample):
                running = ", ".join(each.name for each in list_samples(TextSample.task))
                raise ValueError(f"sample {name} holds {sample.task} data, not running text; such samples: {running}")
            if split not in sample.sizes:
                raise ValueError(self._no_split(f"sample {name}", sample.sizes))
            yield from self._rows(read_rows(sample.file(split)), self.column or "paragraphs")
            return
        path = Path(name).expanduser()
        if not path.exists():
            yield from self._hub_rows(split)
            return
        found = self._files(path)
        if split not in found:
            raise ValueError(self._no_split(name, found))
        for file in found[split]:
            if is_plain_text(file):
                yield from self._plain(file)
            else:
                yield from self._rows(read_rows(file), self.column)

    def _rows(self, rows: Iterable[tuple[str, Mapping[str, Any]]], column: str | None) -> Iterator[Document]:
        for place, row in rows:
            column = column or document_column(row, place)
            yield self._sentences(value_at(row, column, place), f"{place}: column '{column}'")

    def _plain(self, file: Path) -> Iterator[Document]:
        document: Document = []
        paragraph: list[str] = []
        try:
            with open_text(file) as stream:
                for line in stream:
                    line = line.strip()
                    if self.text_documents == BLANK_LINE:
                        if line:
                            document += split_sentences(line, self.language)
                        elif document:
                            yield document
                            document = []
                    elif line:
                        paragraph.append(line)
                    elif paragraph:
                        document += split_sentences(" ".join(paragraph), self.language)
                        paragraph = []
        except UnicodeDecodeError as error:
            raise not_utf8(file, error) from error
        if paragraph:
            document += split_sentences(" ".join(paragraph), self.language)
        if document:
            yield document

    def _sentences(self, value: Any, place: str) -> Document:
        """A document as it was given, as its sentences."""
        value = as_list(value)
        if isinstance(value, str):
            return [sentence for line in value.splitlines() for sentence in split_sentences(line, self.language)]
        if isinstance(value, list | tuple):
            if all(isinstance(part, str) for part in value):
                return [clean for part in value if (clean := clean_sentence(part))]
            if all(isinstance(part, list | tuple) and all(isinstance(one, str) for one in part) for part in value):
                return [clean for part in value for one in part if (clean := clean_sentence(one))]
        raise ValueError(
            f"{place} holds {described_value(value)} where a document is wanted: a text, a list of sentences, or a "
            "list of paragraphs that are lists of sentences"
        )

    def _files(self, path: Path) -> dict[str, list[Path]]:
        if path.is_file():
            if not is_plain_text(path) and format_of(path) is None:
                raise ValueError(
                    f"file {path} is of no known format; running text is read from .txt, .jsonl, .json, .csv, .tsv "
                    "(each also with .gz or .xz) and .parquet"
                )
            return {"train": [path]}
        return text_files_of_folder(path)

    def _hub(self) -> Mapping[str, Any]:
        from hf_attention_zoo.data.sources import fetch_from_hub, local_files

        name = os.fspath(self.source)
        if local_files(name, None, None, None) is not None:
            raise ValueError(f"{name!r} is no file or folder of running text; check the path")
        return fetch_from_hub(name, self.dataset_config, None, streaming=True)

    def _no_split(self, where: str, there: Iterable[str]) -> str:
        """The message for a split that the data do not have."""
        meant = did_you_mean(self.split, there)
        return f"{where} has no split {self.split!r}{meant}; it has {', '.join(there) or 'no text at all'}"

    def _hub_rows(self, split: str) -> Iterator[Document]:
        splits = {canonical_split(name): data for name, data in self._hub().items()}
        if split not in splits:
            raise ValueError(self._no_split(str(self.source), splits))
        rows = ((f"row {number} of {self.source}", row) for number, row in enumerate(splits[split], 1))
        yield from self._rows(rows, self.column)


@lru_cache(maxsize=8)
def _held_out(source: DocumentSource, identity: str) -> HeldOut | None:
    """The parts of files, read once as long as `identity` says that they are the same."""
    return HeldOut.of(source)


def clean_sentence(text: str) -> str:
    """A sentence composed (NFC), with single spaces and none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def split_sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of a paragraph, by `sentencex`.

    Raises:
        ValueError: the text holds a lone surrogate.
    """
    from sentencex import segment

    text = clean_sentence(text)
    if not text:
        return []
    try:
        return [clean for piece in segment(language, text) if (clean := piece.strip())]
    except UnicodeEncodeError as error:
        raise ValueError(f"the text holds a lone surrogate at character {error.start}") from error


def document_column(row: Mapping[str, Any], place: str) -> str:
    """The column that holds the document.

    Raises:
        ValueError: none is called as documents usually are; the message lists what is there.
    """
    for name in DOCUMENT_COLUMNS:
        if has_column(row, name):
            return name
    raise ValueError(
        f"{place} has the columns {column_names(row)}, none of {', '.join(DOCUMENT_COLUMNS)}; name the one with the "
        "document (--text_column)"
    )


def is_plain_text(path: Path) -> bool:
    """Whether a file's name says that it is plain text, packed or not."""
    name = path.name.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    return name.endswith(TEXT_ENDINGS)


def text_files_of_folder(folder: Path) -> dict[str, list[Path]]:
    """Files of each split: `train.jsonl`, `train-00000-of-00004.parquet` or `train.txt`, folders called like splits.

    The rule is that of `split_names`; without any word every readable file below the folder is for training.

    Raises:
        ValueError: nothing in the folder can be read.
    """
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and (is_plain_text(path) or format_of(path) is not None)
    ]
    if files:
        return files_by_split(files, folder)
    there = sorted(path.name for path in folder.iterdir())
    raise ValueError(
        f"folder {folder} holds no text: .txt, .jsonl, .json, .csv, .tsv (each also with .gz or .xz) or .parquet; it "
        f"holds: {', '.join(there[:10]) or 'nothing'}"
    )
