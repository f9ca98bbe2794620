"""Scores of sentences that a translator has learnt, apart from those of sentences that it has not.

What is unseen is parted by words: a sentence that combines words of the training sources says something else about a
model than one with a word that no training source has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_attention_zoo.metrics.scoring import corpus_bleu, corpus_chrf, exact_matches


def groups_by_words(known: Sequence[str], sources: Sequence[str]) -> dict[str, list[int]]:
    """Places of the sources that are not among the known ones: of known words alone, and with a new word."""
    sentences = set(known)
    words = {word for sentence in sentences for word in sentence.split()}
    unseen = [place for place, source in enumerate(sources) if source not in sentences]
    familiar = {place: words.issuperset(sources[place].split()) for place in unseen}
    return {
        "unseen": unseen,
        "unseen, of words that training has": [place for place in unseen if familiar[place]],
        "unseen, with a word that training does not have": [place for place in unseen if not familiar[place]],
    }


def scored_group(
    group: str, predictions: Sequence[str], references: Sequence[str], language: str | None
) -> dict[str, Any]:
    """An entry of the metrics' `groups`."""
    return {
        "group": group,
        "rows": len(references),
        "exact_match": round(exact_matches(predictions, references), 2),
        "bleu": round(corpus_bleu(predictions, references, language=language).value, 2),
        "chrf": round(corpus_chrf(predictions, references).value, 2),
    }


def seen_and_unseen(
    known: tuple[Sequence[str], Sequence[str], Sequence[str]],
    scored: tuple[Sequence[str], Sequence[str], Sequence[str]],
    language: str | None,
) -> list[dict[str, Any]]:
    """The training split as a whole, then the scored rows that are not in it.

    Args:
        known, scored: sources, predictions and references of the training split, and of the split that is scored.
        language: of the references.
    """
    groups = [scored_group("seen (the training split)", known[1], known[2], language)]
    _, predictions, references = scored
    for group, places in groups_by_words(known[0], scored[0]).items():
        if places:
            groups.append(
                scored_group(group, [predictions[k] for k in places], [references[k] for k in places], language)
            )
    return groups
