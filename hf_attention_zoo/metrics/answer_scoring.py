"""Exact match and F1 of answers as SQuAD counts them (Rajpurkar et al. 2016, 2018)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_MARKS = frozenset(string.punctuation)


def normal_answer(text: str) -> str:
    """Lower case, without marks and (English) articles, with single spaces."""
    bare = "".join(letter for letter in text.lower() if letter not in _MARKS)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, right: str) -> float:
    """1 if the two are the same but for case, marks and articles."""
    return float(normal_answer(answer) == normal_answer(right))


def word_f1(answer: str, right: str) -> float:
    """F1 of the words; an empty answer is right only where nothing is."""
    one, other = normal_answer(answer).split(), normal_answer(right).split()
    if not one or not other:
        return float(one == other)
    both = sum((Counter(one) & Counter(other)).values())
    return 2 * both / (len(one) + len(other))


def answer_scores(predicted: Sequence[str], right: Sequence[Sequence[str]]) -> dict[str, float]:
    """Mean exact match and F1, from 0 to 100, of the best of each question's right answers; none: the empty one.

    With questions without answers in the data, the scores of the two kinds stand beside.
    """
    rows = [
        (
            max(exact_match(answer, one) for one in (rights or [""])),
            max(word_f1(answer, one) for one in (rights or [""])),
            bool(rights),
        )
        for answer, rights in zip(predicted, right, strict=True)
    ]
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    scores = {"exact_match": 100 * float(table[:, 0].mean()), "f1": 100 * float(table[:, 1].mean())}
    for name, kind in (("answerable", 1.0), ("unanswerable", 0.0)):
        chosen = table[table[:, 2] == kind]
        if len(chosen) and len(chosen) < len(table):
            scores[f"{name}_f1"] = 100 * float(chosen[:, 1].mean())
    return scores


def best_null_threshold(
    answers: Sequence[str], margins: Sequence[float], right: Sequence[Sequence[str]]
) -> tuple[float, Mapping[str, float]]:
    """The margin above which the empty answer is given, chosen for F1, and the scores there.

    Args:
        answers: the best answer of each question that is not empty.
        margins: score of the empty answer less that of the best other one.
    """
    full = np.array(
        [
            max((word_f1(answer, one) for one in rights), default=0.0)
            for answer, rights in zip(answers, right, strict=True)
        ]
    )
    empty = np.array([float(not rights) for rights in right])
    order = np.argsort(margins, kind="stable")
    # With the threshold behind the first k margins, those k questions get their answer, all others the empty one.
    gained = np.concatenate([[0.0], np.cumsum(full[order] - empty[order])]) + empty.sum()
    best = int(np.argmax(gained))
    sorted_margins = np.asarray(margins)[order]
    if best == 0:
        threshold = float(sorted_margins[0]) - 1.0
    elif best == len(order):
        threshold = float(sorted_margins[-1])
    else:
        threshold = float(sorted_margins[best - 1] + sorted_margins[best]) / 2
    given = ["" if margin > threshold else answer for answer, margin in zip(answers, margins, strict=True)]
    return threshold, answer_scores(given, right)
