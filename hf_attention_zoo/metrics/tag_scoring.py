"""Scores of tags: share of right ones, F1 of each tag, and F1 of whole names where tags begin and continue them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hf_attention_zoo.metrics.label_scoring import class_scores, confusion_matrix

Tags = Sequence[Sequence[int]]


def tag_scores(predicted: Tags, right: Tags, names: Sequence[str]) -> dict[str, float]:
    """Accuracy and the mean F1 of the tags that occur; `entity_f1` where tags are of the kind B-X, I-X.

    Args:
        predicted, right: numbers of tags, sentence by sentence; -1 for a word that was not read.
    """
    flat = np.concatenate([np.asarray(row, np.int64) for row in right])
    guess = np.concatenate([np.asarray(row, np.int64) for row in predicted])
    scores = {"accuracy": float((flat == guess).mean()) if len(flat) else 0.0}
    confusion = confusion_matrix(flat, np.where(guess < 0, len(names), guess), len(names) + 1)
    by_tag = class_scores(confusion, [*names, "none"])[: len(names)]
    occurring = [score.f1 for score in by_tag if score.texts]
    scores["macro_f1"] = float(np.mean(occurring)) if occurring else 0.0
    if has_entities(names):
        scores["entity_f1"] = entity_f1(predicted, right, names)
    return scores


def has_entities(names: Sequence[str]) -> bool:
    """Whether tags are of the kind B-X, I-X."""
    return any(name.startswith(("B-", "I-")) for name in names)


def entity_f1(predicted: Tags, right: Tags, names: Sequence[str]) -> float:
    """F1 of names that are right from end to end and in kind, as in CoNLL-2003."""
    found = sum(len(entities(row, names)) for row in predicted)
    wanted = sum(len(entities(row, names)) for row in right)
    both = sum(len(entities(a, names) & entities(b, names)) for a, b in zip(predicted, right, strict=True))
    return 2 * both / (found + wanted) if found + wanted else 0.0


def entities(tags: Sequence[int], names: Sequence[str]) -> set[tuple[int, int, str]]:
    """First word, word behind the last, and kind of each name; an I-X without a beginning begins one."""
    found: set[tuple[int, int, str]] = set()
    start, kind = 0, ""
    for place, tag in enumerate([*tags, -1]):
        name = names[tag] if 0 <= tag < len(names) else "O"
        mark, _, now = name.partition("-")
        goes_on = mark == "I" and now == kind
        if kind and not goes_on:
            found.add((start, place, kind))
            kind = ""
        if mark in ("B", "I") and not goes_on:
            start, kind = place, now
    return found


def most_frequent_tags(words: Sequence[Sequence[str]], tags: Tags) -> dict[str, int]:
    """Each training word's most frequent tag, and under "" the most frequent of all: what is to be beaten."""
    by_word: dict[str, Counter[int]] = {}
    overall: Counter[int] = Counter()
    for row_words, row_tags in zip(words, tags, strict=True):
        for word, tag in zip(row_words, row_tags, strict=True):
            by_word.setdefault(word, Counter())[tag] += 1
            overall[tag] += 1
    return {"": overall.most_common(1)[0][0], **{word: seen.most_common(1)[0][0] for word, seen in by_word.items()}}
