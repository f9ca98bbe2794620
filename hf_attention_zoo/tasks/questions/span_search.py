"""The best answer in the windows of a question, as in the authors' script: the best start and end that go together.

A span starts at a token with its best context, ends at most `max_answer_tokens` later, and lies in the context. The
empty answer stands at [CLS]; its score is the lowest of all windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hf_attention_zoo.tasks.questions.examples import Window

CANDIDATES = 20
MAX_ANSWER_TOKENS = 30


@dataclass(frozen=True)
class Span:
    """An answer: characters `start` to `end - 1` of the context, the sum of its two logits, its probability.

    The empty answer has start and end 0.
    """

    start: int
    end: int
    logit: float
    probability: float = 0.0


def best_spans(
    windows: Sequence[Window],
    starts: Sequence[np.ndarray],
    ends: Sequence[np.ndarray],
    *,
    candidates: int = CANDIDATES,
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
    null_threshold: float = 0.0,
) -> tuple[list[Span], float]:
    """The best spans of a question's windows, best first, and the score of the empty answer.

    Probabilities are a softmax over the spans that are given back and the empty answer.

    Args:
        windows: of one question.
        starts, ends: logits (T,) of each window, padded on the right if at all.
        candidates: places for a start and an end that are looked at in each window, and spans given back.
        max_answer_tokens: of a span.
        null_threshold: taken off the score of the empty answer in the probabilities, not in what is given back.
    """
    found: dict[tuple[int, int], float] = {}
    null = np.inf
    for window, start_logits, end_logits in zip(windows, starts, ends, strict=True):
        count = len(window.spans)
        start_logits, end_logits = start_logits[:count], end_logits[:count]
        null = min(null, float(start_logits[0] + end_logits[0]))
        inside = np.array([span is not None for span in window.spans])
        may_start = inside & np.array(window.best_context)
        first = _largest(start_logits, may_start, candidates)
        last = _largest(end_logits, inside, candidates)
        for start in first:
            for end in last:
                begins, ends_at = window.spans[start], window.spans[end]
                if start <= end < start + max_answer_tokens and begins is not None and ends_at is not None:
                    key = (begins[0], ends_at[1])
                    score = float(start_logits[start] + end_logits[end])
                    found[key] = max(score, found.get(key, -np.inf))
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:candidates]
    scores = np.array([score for _, score in ordered] + [null - null_threshold])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return [
        Span(start, end, score, float(weight)) for ((start, end), score), weight in zip(ordered, weights, strict=False)
    ], float(null)


def null_probability(spans: Sequence[Span], null: float) -> float:
    """The probability of the empty answer beside the spans."""
    scores = np.array([null, *(span.logit for span in spans)])
    weights = np.exp(scores - scores.max())
    return float(weights[0] / weights.sum())


def _largest(logits: np.ndarray, allowed: np.ndarray, count: int) -> list[int]:
    places = np.flatnonzero(allowed)
    order = np.argsort(-logits[places], kind="stable")[:count]
    return places[order].tolist()
