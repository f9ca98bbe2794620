"""Questions with windows on their contexts (Devlin et al. 2018, Section 4.2, and the authors' script).

A context that is too long is read in windows that overlap. A token of a context counts only in the window in which it
has the most context on its poorer side. Characters are those of the context as it was given; marks that a tokenizer
strips (accents, vowel signs) belong to the token before them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from transformers import BatchEncoding
from transformers.data.data_collator import pad_without_fast_tokenizer_warning

from hf_attention_zoo.tokenization.surfaces import composed, composed_spans, span_through

MAX_QUESTION_TOKENS = 64


@dataclass
class Window:
    """One input of the model.

    Attributes:
        example: number of the question.
        columns: what the tokenizer gives: `input_ids` and the like.
        spans: for each position the first character of the context and the one behind the last; None where the
            position is no token of the context.
        best_context: whether a position has more context here than in the question's other windows.
        reach: the first character behind the token before the window, and the one at which the token behind it
            begins: what is between tokens belongs to the windows on both sides.
    """

    example: int
    columns: dict[str, list[int]]
    spans: list[tuple[int, int] | None]
    best_context: list[bool]
    reach: tuple[int, int] = (0, 0)


def question_windows(
    tokenizer: Any,
    questions: Sequence[str],
    contexts: Sequence[str],
    *,
    max_length: int,
    stride: int,
    max_question_tokens: int | None = None,
) -> list[Window]:
    """The windows of each question, in order.

    Args:
        max_length: tokens of an input.
        stride: tokens of the context by which windows move on; made smaller where the question leaves less room.
        max_question_tokens: the rest of a longer question is left out; if not given, half of an input, 64 at most.

    Raises:
        ValueError: an empty question or context, or no room for a context.
    """
    if max_question_tokens is None:
        max_question_tokens = min(MAX_QUESTION_TOKENS, max(1, max_length // 2))
    windows: list[Window] = []
    for number, (question, context) in enumerate(zip(questions, contexts, strict=True)):
        for name, text in (("question", question), ("context", context)):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{name} {number} is {text!r:.60}; a text with something in it is wanted")
        shortened = shortened_question(tokenizer, question, max_question_tokens)
        used = len(tokenizer(shortened, add_special_tokens=False)["input_ids"])
        room = max_length - used - tokenizer.num_special_tokens_to_add(pair=True)
        if room < 1:
            raise ValueError(
                f"inputs of {max_length} tokens have no room for a context beside a question of {used} tokens; allow "
                "more (max_length, or a model with more positions)"
            )
        overlap = max(0, room - max(1, min(stride, room)))
        encoded = tokenizer(
            shortened,
            composed(context),  # so that offsets of any tokenizer count the same characters
            truncation="only_second",
            max_length=max_length,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        given = composed_spans(context)
        rows = len(encoded["input_ids"])
        mine = []
        for row in range(rows):
            spans: list[tuple[int, int] | None] = [
                span_through(given, start, end) if sequence == 1 and end > start else None
                for sequence, (start, end) in zip(
                    encoded.sequence_ids(row), encoded["offset_mapping"][row], strict=True
                )
            ]
            columns = {name: encoded[name][row] for name in tokenizer.model_input_names if name in encoded}
            mine.append(Window(number, columns, spans, [True] * len(spans)))
        _cover_gaps(mine, context)
        _mark_best_context(mine)
        windows += mine
    return windows


def padded_windows(tokenizer: Any, columns: list[dict[str, Any]]) -> BatchEncoding:
    """Columns of windows, and numbers beside them, as tensors (B, T) and (B,).

    Padded on the right whatever the tokenizer's side is: a window's positions count from its first token.
    """
    return pad_without_fast_tokenizer_warning(tokenizer, columns, padding_side="right", return_tensors="pt")


def shortened_question(tokenizer: Any, question: str, most: int) -> str:
    """The question up to its last token that counts."""
    question = composed(question.strip())
    offsets = tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return question if len(offsets) <= most else question[: offsets[most - 1][1]]


def _cover_gaps(windows: list[Window], context: str) -> None:
    """Give tokens the marks behind them that no token has, and windows their reach."""
    tokens = sorted({span for window in windows for span in window.spans if span is not None})
    wider, reaches, begin = {}, {}, 0
    for (start, end), (following, _) in pairwise([*tokens, (len(context), 0)]):
        stop = end
        while stop < following and unicodedata.category(context[stop]).startswith("M"):
            stop += 1
        wider[start, end], reaches[start, stop] = (start, stop), (min(begin, start), max(stop, following))
        begin = stop
    for window in windows:
        window.spans = [None if span is None else wider[span] for span in window.spans]
        inside = [span for span in window.spans if span is not None]
        if inside:
            window.reach = reaches[inside[0]][0], reaches[inside[-1]][1]


def _mark_best_context(windows: list[Window]) -> None:
    """Of each token of the context only the window counts where min(left, right) + 0.01 length is largest."""
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for number, window in enumerate(windows):
        inside = [span for span in window.spans if span is not None]
        for rank, span in enumerate(inside):
            score = min(rank, len(inside) - 1 - rank) + 0.01 * len(inside)
            if span not in best or score > best[span][0]:
                best[span] = (score, number)
    for number, window in enumerate(windows):
        window.best_context = [span is not None and best[span][1] == number for span in window.spans]


def answer_positions(window: Window, start: int, end: int) -> tuple[int, int]:
    """First and last position of the characters `start` to `end - 1`; (0, 0) where not all are in the window."""
    inside = [(place, span) for place, span in enumerate(window.spans) if span is not None]
    if window.reach[0] > start or window.reach[1] < end:
        return 0, 0
    first = next((place for place, span in inside if span[1] > start), None)
    last = next((place for place, span in reversed(inside) if span[0] < end), None)
    return (0, 0) if first is None or last is None or last < first else (first, last)
