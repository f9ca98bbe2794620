"""Alignment error rate: how far word alignments are from those that people made.

Annotators mark links as sure (S) or possible (P, which holds all of S). For links A of a system

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)

summed over a corpus (Och and Ney 2003; Luong et al. 2015, Section 5.4, who take the most attended source word of every
target word). A link is (source, target), both counted from 0. Two formats of files are read:

    pharaoh   one sentence a line, links as source-target; in a reference "3-4" is sure and "3?4" or "3p4" possible
    naacl     one link a line: sentence source target [S|P] [confidence], all counted from 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_attention_zoo.data.text_lines import file_lines
from hf_attention_zoo.flags import FlagParser

Link = tuple[int, int]
FORMATS = ("pharaoh", "naacl")

_PHARAOH = re.compile(r"(\d+)([-?p])(\d+)(?::\S+)?")


@dataclass(frozen=True)
class AlignmentScores:
    """Scores of a corpus, each from 0 to 1.

    Attributes:
        error_rate: AER; 0 is perfect.
        precision: share of the system's links that are at least possible.
        recall: share of the sure links that the system has.
        links, sure, possible: numbers of links, the possible with the sure among them.
        sentences: number of sentences.
    """

    error_rate: float
    precision: float
    recall: float
    links: int
    sure: int
    possible: int
    sentences: int


def alignment_error_rate(
    predicted: Sequence[Iterable[Link]],
    sure: Sequence[Iterable[Link]],
    possible: Sequence[Iterable[Link]] | None = None,
) -> AlignmentScores:
    """Score predicted links against a reference, one collection of links per sentence.

    Args:
        predicted: links of the system.
        sure: sure links of the reference.
        possible: possible links of the reference; sure links count among them whether listed or not. If not given,
            the sure links are all there are.

    Raises:
        ValueError: if the numbers of sentences differ, or neither side has any link.
    """
    possible = [()] * len(sure) if possible is None else possible
    if not len(predicted) == len(sure) == len(possible):
        raise ValueError(
            f"{len(predicted)} predicted sentences, {len(sure)} with sure and {len(possible)} with possible links; "
            "give every sentence once, in the same order, empty ones too"
        )
    links = hits = allowed = sures = possibles = 0
    for made, certain, maybe in zip(predicted, sure, possible, strict=True):
        a, s = set(made), set(certain)
        p = s | set(maybe)
        links, sures, possibles = links + len(a), sures + len(s), possibles + len(p)
        hits, allowed = hits + len(a & s), allowed + len(a & p)
    if links + sures == 0:
        raise ValueError("neither the prediction nor the reference has any link, so that there is nothing to score")
    return AlignmentScores(
        error_rate=1 - (hits + allowed) / (links + sures),
        precision=allowed / links if links else 0.0,
        recall=hits / sures if sures else 0.0,
        links=links,
        sure=sures,
        possible=possibles,
        sentences=len(predicted),
    )


def strongest_links(
    weights: Any, source_words: Sequence[int | None] | None = None, target_words: Sequence[int | None] | None = None
) -> set[Link]:
    """The most attended source word of every target word.

    Args:
        weights: (T, S) attention weights of a forced decoding, one row per target token.
        source_words: the word that each source token is part of, None for tokens that are no word (the end symbol).
            If not given, every token but the last, the end symbol, is a word.
        target_words: the same for target tokens; the weights of a word's tokens are averaged.

    Returns:
        One link per target word whose row has any weight.

    Raises:
        ValueError: if the weights are no matrix or the words do not fit it.
    """
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"weights have shape {matrix.shape}; give one (target, source) matrix")
    words = []
    for axis, (given, name) in enumerate(((target_words, "target"), (source_words, "source"))):
        size = matrix.shape[axis]
        chosen = [*range(size - 1), None][-size:] if given is None else list(given)
        if len(chosen) != size:
            raise ValueError(f"{len(chosen)} {name} tokens have a word, the weights have {size} {name} tokens")
        words.append(chosen)
    rows, columns = words
    links = set()
    for target in {word for word in rows if word is not None}:
        row = matrix[[k for k, word in enumerate(rows) if word == target]].mean(0)
        strength: dict[int, float] = {}
        for weight, source in zip(row, columns, strict=True):
            if source is not None:
                strength[source] = strength.get(source, 0.0) + float(weight)
        if strength and max(strength.values()) > 0:
            links.add((max(strength, key=lambda word: (strength[word], -word)), target))
    return links


def read_links(path: str | Path, file_format: str = "pharaoh") -> tuple[list[set[Link]], list[set[Link]]]:
    """Sure and possible links of each sentence of a file; the possible ones hold the sure.

    Raises:
        ValueError: if the file is missing or a line is not in the format, with its number.
    """
    if file_format not in FORMATS:
        raise ValueError(f"format {file_format!r} is not known; there are {', '.join(FORMATS)}")
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"no such file of links: {str(file)!r}")
    lines = list(file_lines(file))
    read = _read_pharaoh if file_format == "pharaoh" else _read_naacl
    return read(file.name, lines)


def _read_pharaoh(name: str, lines: Sequence[str]) -> tuple[list[set[Link]], list[set[Link]]]:
    sure, possible = [], []
    for number, line in enumerate(lines, start=1):
        certain, maybe = set(), set()
        for entry in line.split():
            match = _PHARAOH.fullmatch(entry)
            if match is None:
                raise ValueError(
                    f"{name}, line {number}: {entry!r} is no link; write source-target, e.g. 0-0 (sure) or 0?0 "
                    "(possible)"
                )
            link = (int(match[1]), int(match[3]))
            maybe.add(link)
            if match[2] == "-":
                certain.add(link)
        sure.append(certain)
        possible.append(maybe)
    return sure, possible


def _read_naacl(name: str, lines: Sequence[str]) -> tuple[list[set[Link]], list[set[Link]]]:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    for number, line in enumerate(lines, start=1):
        columns = line.split()
        if not columns:
            continue
        kind = columns[3].upper() if len(columns) > 3 and columns[3].upper() in ("S", "P") else "S"
        if len(columns) < 3 or not all(column.isdecimal() and int(column) > 0 for column in columns[:3]):
            raise ValueError(
                f"{name}, line {number}: {line!r:.60} is no link; write sentence, source and target word counted from "
                "1, then S or P if wanted"
            )
        sentence, source, target = (int(column) for column in columns[:3])
        possible.setdefault(sentence, set()).add((source - 1, target - 1))
        if kind == "S":
            sure.setdefault(sentence, set()).add((source - 1, target - 1))
    sentences = range(1, max(possible, default=0) + 1)
    return [sure.get(k, set()) for k in sentences], [possible.get(k, set()) for k in sentences]


def build_parser() -> FlagParser:
    """The flags of the command."""
    parser = FlagParser(
        prog="attention-zoo aer", description="Alignment error rate of a file of links against a reference."
    )
    parser.add_argument("predicted", help="links of a system")
    parser.add_argument("reference", help="sure and possible links")
    parser.add_argument("--format", choices=FORMATS, default="pharaoh", help="of both files (default: %(default)s)")
    parser.add_argument(
        "--reverse", action="store_true", help="the predicted links are target-source: turn them round first"
    )
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    options = build_parser().parse_args(argv)
    _, predicted = read_links(options.predicted, options.format)
    sure, possible = read_links(options.reference, options.format)
    if options.format == "naacl":  # files that say nothing of a sentence without links may end early
        longest = max(len(predicted), len(sure))
        for sentences in (predicted, sure, possible):
            sentences.extend(set() for _ in range(longest - len(sentences)))
    if options.reverse:
        predicted = [{(source, target) for target, source in links} for links in predicted]
    scores = alignment_error_rate(predicted, sure, possible)
    print(f"AER {scores.error_rate:.4f}  precision {scores.precision:.4f}  recall {scores.recall:.4f}")
    print(
        f"{scores.sentences} sentences, {scores.links} links, reference: {scores.sure} sure, "
        f"{scores.possible} sure or possible"
    )
    return 0
