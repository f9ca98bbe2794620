"""Texts as tokenizers want them, and tokens as people read them."""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from hf_attention_zoo.tokenization.subword import SPACE_MARK
from hf_attention_zoo.tokenization.word_level import JOINER

# Shown where a piece is nothing but a space.
VISIBLE_SPACE = "␣"


def readable_token(token: str) -> str:
    """`token` without the marks for spaces (`▁Haus` and `￭(￭` become `Haus` and `(`); a bare space as `␣`."""
    return token.replace(SPACE_MARK, "").replace(JOINER, "") or VISIBLE_SPACE


def composed(text: Any) -> Any:
    """Strings in NFC, inside lists too; the backends normalise as well but then report wrong offsets."""
    if isinstance(text, str):
        return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
    if isinstance(text, list | tuple):
        return type(text)(composed(item) for item in text) if type(text) in (list, tuple) else text
    return text


def composed_spans(text: str) -> list[tuple[int, int]]:
    """For each character of NFC(text) the characters of `text` that it stands for: the first, and behind the last."""
    if unicodedata.is_normalized("NFC", text):
        return [(place, place + 1) for place in range(len(text))]
    spans: list[tuple[int, int]] = []
    begin, cluster = 0, ""
    for place, character in enumerate(text):
        if cluster and not unicodedata.combining(character):
            alone = composed(cluster)
            if composed(cluster + character) == alone + composed(character):
                spans += _cluster_spans(cluster, alone, begin)
                begin, cluster = place, ""
        cluster += character
    return [*spans, *_cluster_spans(cluster, composed(cluster), begin)]


def _cluster_spans(given: str, made: str, begin: int) -> list[tuple[int, int]]:
    """Spans of the characters of `made`, the composed form of `given`, which begins at `begin`."""
    widths = [1] * len(made)
    if len(made) != len(given):
        widths = [len(unicodedata.normalize("NFD", character)) for character in made]
    if sum(widths) != len(given):  # partly composed before: each stands for the whole
        return [(begin, begin + len(given))] * len(made)
    ends = list(accumulate(widths, initial=begin))
    return list(pairwise(ends))


def span_through(spans: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """What `start` to `end` of a text stands for in another one, given the span there of each of its characters."""
    if start < end:
        return spans[start][0], spans[end - 1][1]
    place = spans[start][0] if start < len(spans) else spans[-1][1] if spans else 0
    return place, place


def first_unreadable(text: Any, where: str = "the text") -> str | None:
    """Describe the first element of `text` that is no string of valid Unicode."""
    if text is None and where == "the text":
        return None
    if isinstance(text, list | tuple):
        return next(filter(None, (first_unreadable(item, f"text {i}") for i, item in enumerate(text))), None)
    if not isinstance(text, str):
        return f"{where} is {type(text).__name__} ({text!r:.60})"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"{where} holds a lone surrogate at character {error.start}"
    return None


def spans_without_marks(tokens: list[str], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters that each token itself covers, without the space or the neighbour that its mark was made from.

    The backends count an inserted mark as a part of the character beside it: of the one before a left joiner (also
    where the mark it is joined to is unknown), and of the first one for the `▁` at the start of a text.
    """
    trimmed, previous_end = [], 0
    for token, (start, end) in zip(tokens, spans, strict=True):
        if token == SPACE_MARK:
            start, end = (start, start)
        elif token.startswith(SPACE_MARK) and end - start == len(token):
            start += 1
        elif token.startswith(JOINER) and end - start > 1:
            start = end - 1
        elif start < previous_end < end:
            start = previous_end
        previous_end = end
        trimmed.append((start, end))
    return trimmed
