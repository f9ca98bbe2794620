"""Scores of tags: share of right ones, F1 of each tag, and F1 of whole names where tags begin and continue them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from hf_attention_zoo.metrics.label_scoring import ClassScore, class_scores, confusion_matrix, counted_score

Tags = Sequence[Sequence[int]]

# Tags of words that belong to no name.
OUTSIDE = ("O", "-", "_")
_MARKED = (
    re.compile(r"(?P<mark>[BIESLUM])[-_](?P<kind>.+)"),
    re.compile(r"(?P<kind>.+)[-_](?P<mark>[BIESLUM])"),
    re.compile(r"(?P<mark>[BIESLUM])"),
)
# The marks of BILOU (last, unit) and BMES (middle) in those of IOBES.
_SAME_MARK = {"L": "E", "U": "S", "M": "I"}


def tag_scores(predicted: Tags, right: Tags, names: Sequence[str]) -> dict[str, float]:
    """Accuracy and the mean F1 of the tags that occur; `entity_f1` where they mark names (`marks_of_tags`).

    Args:
        predicted, right: numbers of tags, sentence by sentence; -1 for a word that was not read.
    """
    flat = np.concatenate([np.asarray(row, np.int64) for row in right])
    guess = np.concatenate([np.asarray(row, np.int64) for row in predicted])
    scores = {"accuracy": float((flat == guess).mean()) if len(flat) else 0.0}
    occurring = [score.f1 for score in scores_by_tag(predicted, right, names) if score.texts]
    scores["macro_f1"] = float(np.mean(occurring)) if occurring else 0.0
    if has_entities(names):
        scores["entity_f1"] = entity_f1(predicted, right, names)
    return scores


def scores_by_tag(predicted: Tags, right: Tags, names: Sequence[str]) -> list[ClassScore]:
    """Precision, recall and F1 of each tag over the words; arguments as for `tag_scores`."""
    flat = np.concatenate([np.asarray(row, np.int64) for row in right])
    guess = np.concatenate([np.asarray(row, np.int64) for row in predicted])
    confusion = confusion_matrix(flat, np.where(guess < 0, len(names), guess), len(names) + 1)
    return class_scores(confusion, [*names, "none"])[: len(names)]


def entity_scores(predicted: Tags, right: Tags, names: Sequence[str]) -> list[ClassScore]:
    """Precision, recall and F1 of each kind of name, right from end to end; none where tags mark no names."""
    counts: dict[str, list[int]] = {kind: [0, 0, 0] for _, kind in marks_of_tags(names) or [] if kind}
    for guessed, wanted in zip(predicted, right, strict=True):
        found, there = entities(guessed, names), entities(wanted, names)
        for place, part in enumerate((found & there, there, found)):
            for *_, kind in part:
                counts.setdefault(kind, [0, 0, 0])[place] += 1
    return [counted_score(kind or "name", *numbers) for kind, numbers in sorted(counts.items())]


def has_entities(names: Sequence[str]) -> bool:
    """Whether tags mark names by one of the usual schemes (`marks_of_tags`)."""
    return marks_of_tags(names) is not None


def entity_f1(predicted: Tags, right: Tags, names: Sequence[str]) -> float:
    """F1 of names that are right from end to end and in kind, as in CoNLL-2003."""
    found = sum(len(entities(row, names)) for row in predicted)
    wanted = sum(len(entities(row, names)) for row in right)
    both = sum(len(entities(a, names) & entities(b, names)) for a, b in zip(predicted, right, strict=True))
    return 2 * both / (found + wanted) if found + wanted else 0.0


def marks_of_tags(names: Sequence[str]) -> list[tuple[str, str]] | None:
    """Mark and kind of each tag, B-PER as ("B", "PER"), where the tags mark names; None where they do not.

    They do if every tag but those outside is of one of the schemes: IOB1 and IOB2 (B, I), IOE1 and IOE2 (I, E), IOBES
    (S for a single word), and BILOU or BMES, whose L, U and M are E, S and I. The mark comes before the kind or after
    it (PER-B, as `PER_B`), or stands alone where there is one kind.
    """
    inside = [name for name in names if name not in OUTSIDE]
    for pattern in _MARKED:
        found = {name: match for name in inside if (match := pattern.fullmatch(name))}
        if found and len(found) == len(inside) and {match["mark"] for match in found.values()} & set("BIE"):
            return [
                (_SAME_MARK.get(found[name]["mark"], found[name]["mark"]), found[name].groupdict().get("kind", ""))
                if name in found
                else ("O", "")
                for name in names
            ]
    return None


def entities(tags: Sequence[int], names: Sequence[str]) -> set[tuple[int, int, str]]:
    """First word, word behind the last, and kind of each name, as CoNLL's own program counts them.

    A name ends behind E and S, before B and S, and where the kind changes; a mark that continues where nothing has
    begun begins a name. So badly formed predictions have names, too, and all schemes are read by one rule.
    """
    marks = marks_of_tags(names) or []
    found: set[tuple[int, int, str]] = set()
    start: int | None = None
    before, kind = "O", ""
    for place, tag in enumerate([*tags, -1]):
        mark, now = marks[tag] if 0 <= tag < len(marks) else ("O", "")
        goes_on = start is not None and before not in ("E", "S") and mark in ("I", "E") and now == kind
        if start is not None and not goes_on:
            found.add((start, place, kind))
            start = None
        if mark != "O" and not goes_on:
            start = place
        before, kind = mark, now
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
