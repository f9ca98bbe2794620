"""English words as spaCy cuts them, from rules that are kept here: its algorithm in plain Python.

GPT's authors cut texts with spaCy. Its rules (MIT, see NOTICE) change from release to release, and a model's ids with
them; a copy, `english_rules.py`, keeps the ids of saved models as they are, and needs no spaCy. A test compares the
two where spaCy is installed.

A chunk between white space loses prefixes and suffixes, one of each at a time, until it is a known exception (`don't`
is `do` and `n't`); what is left is cut at infixes. Then exceptions that were cut apart on the way, such as `:-)`, are
put together again.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple


class Rules(NamedTuple):
    """Patterns, and what exceptions are cut into."""

    prefix: re.Pattern[str]
    suffix: re.Pattern[str]
    infix: re.Pattern[str]
    url: re.Pattern[str]
    exceptions: dict[str, list[str]]


@cache
def rules() -> Rules:
    """The rules as they are kept."""
    from hf_attention_zoo.tokenization.english_rules import CLASSES, EXCEPTIONS, INFIX, PREFIX, SUFFIX, URL

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, letters in CLASSES.items():
            pattern = pattern.replace(f"<{name}>", letters)
        return re.compile(pattern)

    exceptions = {exception.replace(" ", ""): exception.split(" ") for exception in EXCEPTIONS.split("  ")}
    return Rules(compiled(PREFIX), compiled(SUFFIX), compiled(INFIX), compiled(URL), exceptions)


def english_words(text: str) -> list[str]:
    """The words of a text whose white space is single spaces, or a line end between spaces, which is a word."""
    words: list[str] = []
    last: list[bool] = []  # whether a space follows the word
    for chunk in filter(None, text.split(" ")):
        parts = [chunk] if chunk == "\n" else _cut_chunk(chunk)
        words += parts
        last += [False] * (len(parts) - 1) + [True]
    return _with_exceptions(words, last)


@lru_cache(maxsize=10_000)
def _cut_chunk(chunk: str) -> list[str]:
    return _cut(chunk, True)


def _cut(chunk: str, with_exceptions: bool) -> list[str]:
    """A chunk without white space as words, before exceptions are put together again."""
    exceptions = rules().exceptions if with_exceptions else {}
    if chunk in exceptions:
        return list(exceptions[chunk])
    inner, prefixes, suffixes = _without_affixes(chunk, exceptions)
    middle: list[str] = []
    if inner in exceptions:
        middle = exceptions[inner]
    elif inner:
        middle = [inner] if rules().url.match(inner) else _cut_at_infixes(inner)
    return [*prefixes, *middle, *reversed(suffixes)]


def _without_affixes(chunk: str, exceptions: dict[str, list[str]]) -> tuple[str, list[str], list[str]]:
    prefixes: list[str] = []
    suffixes: list[str] = []
    size = 0
    while chunk and len(chunk) != size and chunk not in exceptions:
        size = len(chunk)
        before = _length(rules().prefix, chunk)
        if before and chunk[before:] in exceptions:
            return chunk[before:], [*prefixes, chunk[:before]], suffixes
        after = _length(rules().suffix, chunk[before:])
        if after and chunk[:-after] in exceptions:
            return chunk[:-after], prefixes, [*suffixes, chunk[-after:]]
        if before and after and before + after > size:
            after = 0
        if before:
            prefixes.append(chunk[:before])
        if after:
            suffixes.append(chunk[-after:])
        chunk = chunk[before : size - after]
    return chunk, prefixes, suffixes


def _length(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return 0 if found is None else found.end() - found.start()


def _cut_at_infixes(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for found in rules().infix.finditer(text):
        if found.start() == 0:  # nothing stands before it
            continue
        parts += [part for part in (text[start : found.start()], found[0]) if part]
        start = found.end()
    return [*parts, text[start:]] if text[start:] else parts


@cache
def _cut_exceptions() -> tuple[set[tuple[str, ...]], int]:
    """How exceptions look that affixes or infixes cut apart, and the longest of them in words."""
    found = set()
    for text in rules().exceptions:
        affixes = _length(rules().prefix, text) or _length(rules().suffix, text) or rules().infix.search(text)
        if text.strip() and (affixes or " " in text):
            found.add(tuple(part for chunk in text.split() for part in _cut(chunk, False)))
    return found, max(map(len, found))


def _with_exceptions(words: list[str], last: list[bool]) -> list[str]:
    """Words with the exceptions among them that were cut apart; the longest first, then the one further right."""
    known, longest = _cut_exceptions()
    spans = [
        (start, start + size)
        for start in range(len(words))
        for size in range(1, min(longest, len(words) - start) + 1)
        if tuple(words[start : start + size]) in known
    ]
    if not spans:
        return words
    taken: set[int] = set()
    chosen: dict[int, int] = {}
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if start not in taken and end - 1 not in taken:
            chosen[start] = end
        taken.update(range(start, end))
    result: list[str] = []
    place = 0
    while place < len(words):
        end = chosen.get(place, place + 1)
        between = "".join(word + " " * space for word, space in zip(words[place:end], last[place:end], strict=True))
        exception = rules().exceptions.get(between.rstrip(" ")) if place in chosen else None
        result += words[place:end] if exception is None else exception
        place = end
    return result
