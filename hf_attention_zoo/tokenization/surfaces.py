"""Texts as tokenizers want them, and tokens as people read them."""

import unicodedata
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
