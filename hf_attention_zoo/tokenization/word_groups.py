"""Which tokens are pieces of one word, whatever the tokenizer: by the characters that each covers in the text.

A word is a run of letters, digits and marks; every other visible character is a word by itself. So it does not matter
how a vocabulary marks its pieces (`▁`, `Ġ`, `##`, `</w>`, joiners, or nothing at all), and pieces of Hangul join, too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

# Words in their order, each with the number of tokens that it takes.
Words = tuple[tuple[str, int], ...]
Spans = Sequence[tuple[int, int]]


def word_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of the words of a text: runs of letters, digits and marks, other visible characters alone."""
    spans: list[tuple[int, int]] = []
    previous = ""
    for index, char in enumerate(text):
        kind = _kind(char, previous)
        if kind and kind == previous and kind != "symbol":
            spans[-1] = (spans[-1][0], index + 1)
        elif kind == "joined":  # accents, variation selectors and joiners stay with what they follow
            spans[-1] = (spans[-1][0], index + 1)
            kind = previous
        elif kind:
            spans.append((index, index + 1))
        previous = kind
    return spans


def _kind(char: str, previous: str) -> str:
    if previous and (unicodedata.category(char).startswith("M") or char in "\u200c\u200d"):
        return "joined"
    if char.isspace() or unicodedata.category(char) in ("Cc", "Cf"):
        return ""
    return "word" if char.isalnum() or char == "_" else "symbol"


def word_groups(text: str, spans: Spans, special: Sequence[bool], names: Sequence[str]) -> Words:
    """Consecutive tokens as words.

    A token that covers only white space, or a part of a character, goes with the token behind it; a token that covers
    several words makes one word of them; a special token is a word by itself, under its name.

    Args:
        text: what was read or written.
        spans: characters of `text` that each token covers, (start, end); empty for special tokens.
        special: whether a token stands for no text.
        names: what each token is called, for tokens without text.
    """
    whole = word_spans(text)
    groups: list[list[int]] = []  # tokens
    reach: list[int | None] = []  # the last word that a group covers, None for one that covers none
    open_ended = False  # whether the last group waits for a token with text
    for token, (start, end) in enumerate(spans):
        touched = [number for number, (first, last) in enumerate(whole) if first < end and start < last]
        if special[token] or not touched:
            waiting = not special[token]
            if not (waiting and open_ended):
                groups.append([])
                reach.append(None)
            groups[-1].append(token)
            open_ended = waiting
            continue
        if open_ended or (groups and reach[-1] == touched[0]):
            groups[-1].append(token)
        else:
            groups.append([token])
            reach.append(None)
        reach[-1], open_ended = touched[-1], False
    return tuple((_label(text, spans, names, group), len(group)) for group in groups)


def _label(text: str, spans: Spans, names: Sequence[str], group: list[int]) -> str:
    covered = text[spans[group[0]][0] : spans[group[-1]][1]]
    return unicodedata.normalize("NFC", covered.strip()) or names[group[0]]


def decoded_spans(tokenizer: Any, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]], list[bool]]:
    """The text that ids are decoded to, the characters that each adds to it, and which ids are special.

    An id that completes a character takes it; the ids before it, which hold the other bytes, cover nothing.
    """
    special, before = set(tokenizer.all_special_ids), ""
    spans: list[tuple[int, int]] = []
    for count in range(1, len(ids) + 1):
        now = str(tokenizer.decode(list(ids[:count]), skip_special_tokens=True, clean_up_tokenization_spaces=False))
        kept = next((place for place, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(before), len(now)) if kept is None else kept
        spans = [(min(start, kept), min(end, kept)) for start, end in spans]
        spans.append((kept, len(now)))
        before = now
    return before, spans, [number in special for number in ids]


def checked_words(words: Any, tokens: Sequence[str], side: str) -> Words | None:
    """Words that fit the tokens, as a tuple; None stays None.

    Raises:
        ValueError: they take more or fewer tokens than there are.
    """
    if words is None:
        return None
    made = tuple((str(word), int(count)) for word, count in words)
    if sum(count for _, count in made) != len(tokens) or any(count < 1 for _, count in made):
        raise ValueError(f"the {side} words take {[count for _, count in made]} tokens; there are {len(tokens)}")
    return made
