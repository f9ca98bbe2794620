"""The chapters of Jane Austen's six novels, from Debian's package r-cran-janeaustenr, for `make_data.py`.

The package keeps a novel as a vector of strings in R's own format, a string for each printed line. What is read of
that format is what the package has: objects one after the other, each packed with zlib, in R's serialisation 2 or 3.
Nothing in it can run.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from data_rules import Made, by_id, empty_splits, one_spaced, split_of
from source_packages import files_of_deb

PACKAGE = "r-cran-janeaustenr_1.0.0-1_all.deb"
DATA_BASE = re.compile(r".*/data/Rdata\.rdb")
STRINGS, STRING = 16, 9  # R's numbers for the two kinds

HEADING = re.compile(r"chapter\s+[ivxlc\d]+\.?", re.IGNORECASE)
APART = re.compile(r"(?:volume [ivx]+|the end|finis)\.?", re.IGNORECASE)
WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")

GAP = re.compile(r"""(?<=[.!?])(?P<marks>["”’)]*) (?=["“‘'(A-Z0-9])""")
# No sentence ends behind a single letter, nor behind a word that ends so. The published folders were trained on what
# this rule cuts, with its slips: "heart." ends in "art", too.
LETTER = re.compile(r"[A-Za-z]")
GOES_ON = ("Dr", "Mr", "Mrs", "No", "St", "art", "ca", "etc")

HELD_OUT = 600


def make_austen(package: Path) -> Made:
    """Rows of chapters: `id`, `title`, `chapter` (counted through a novel) and `paragraphs`, lists of sentences.

    Whole chapters are held out.

    Raises:
        ValueError: the file is no such package, or has no novel.
    """
    bases = files_of_deb(package, DATA_BASE)
    if not bases:
        raise ValueError(f"{package} has no data/Rdata.rdb inside; give {PACKAGE}")
    splits = empty_splits()
    for path, base in bases.items():
        for lines in _vectors(base, f"{path} of {package}"):
            title = one_spaced(next(iter(lines), "")).title()
            for number, paragraphs in enumerate(chapters_of(lines), 1):
                split = split_of(f"{title}/{number}", "austen", HELD_OUT)
                name = f"austen/{title.lower().replace(' ', '-')}/{number:03d}"
                row = {"id": name, "title": title, "chapter": number, "paragraphs": paragraphs}
                splits[split].append(row)
    if not any(splits.values()):
        raise ValueError(f"{package} has no text with lines such as CHAPTER 1; give {PACKAGE}")
    return Made(by_id(splits))


def chapters_of(lines: list[str]) -> list[list[list[str]]]:
    """Printed lines as chapters of paragraphs of sentences; what stands before the first chapter is left out."""
    chapters: list[list[list[str]]] = []
    paragraph: list[str] = []
    for line in (line.strip() for line in [*lines, ""]):
        heading = HEADING.fullmatch(line)
        if line and not heading and not APART.fullmatch(line):
            paragraph.append(line)
            continue
        text = one_spaced(" ".join(paragraph)).replace("--", "—").replace("_", "")
        if chapters and len(WORD_OR_MARK.findall(text)) > 1:
            chapters[-1].append(sentences_of(text))
        paragraph = []
        if heading:
            chapters.append([])
    return chapters


def sentences_of(paragraph: str) -> list[str]:
    """A paragraph cut behind full stops, question marks and exclamation marks before a capital, a number or a mark."""
    sentences, begin = [], 0
    for gap in GAP.finditer(paragraph):
        last = paragraph[begin : gap.start()].rpartition(" ")[2].rstrip(".")
        if not last.endswith(GOES_ON) and not LETTER.fullmatch(last):
            sentences.append(paragraph[begin : gap.end("marks")])
            begin = gap.end()
    return [*sentences, paragraph[begin:]]


def _vectors(base: bytes, name: str) -> Iterator[list[str]]:
    """The vectors of strings in a data base of R.

    Each object is four bytes that say how long it is, and its content, packed.
    """
    while base:
        length = int.from_bytes(base[:4], "big")
        unpacking = zlib.decompressobj()
        try:
            content = unpacking.decompress(base[4:], length + 1)
        except zlib.error as error:
            raise _unlike(name, f"an object cannot be unpacked, {error}") from error
        if len(content) != length or not unpacking.eof:
            raise _unlike(name, f"an object has not the {length:,} bytes that it says")
        base = unpacking.unused_data
        yield _strings(io.BytesIO(content), name)


def _strings(stream: io.BytesIO, name: str) -> list[str]:
    """A serialised vector of strings; empty for an object of another kind."""

    def number() -> int:
        return int.from_bytes(stream.read(4), "big", signed=True)

    if stream.read(2) != b"X\n" or (version := number()) not in (2, 3):
        raise _unlike(name, "an object is not in R's binary serialisation 2 or 3")
    stream.read(8)  # the versions of R that wrote it and that can read it
    if version == 3:
        stream.read(max(number(), 0))  # the name of an encoding
    if number() & 0xFF != STRINGS:
        return []
    strings = []
    for _ in range(number()):
        kind, length = number() & 0xFF, max(number(), 0)
        content = stream.read(length)
        if kind != STRING or len(content) != length:
            raise _unlike(name, "a vector of strings was cut off")
        try:
            strings.append(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _unlike(name, f"a string is not UTF-8, {error}") from error
    return strings


def _unlike(name: str, why: str) -> ValueError:
    return ValueError(f"{name} cannot be read: {why}; give {PACKAGE}")
