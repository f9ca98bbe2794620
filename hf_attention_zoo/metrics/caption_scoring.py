"""Scores of captions with several references: BLEU-1 to 4, CIDEr, METEOR without synonyms, exact matches.

BLEU is sacreBLEU's, with its signature. CIDEr is that of `pycocoevalcap` (the COCO evaluation code, CIDEr-D with
sigma 6 and the idf of these references), METEOR that of `nltk` with exact and stemmed matches: its table of synonyms
is a download of its own and is left out, so that its numbers are lower than those of the papers. Both read the tokens
of sacreBLEU's tokeniser in lower case, for the tokeniser of the COCO code needs Java. Where a package is not installed
its score is left out and the note says so.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from hf_attention_zoo.metrics.scoring import bleu_tokenizer, plain_text

ORDERS = (1, 2, 3, 4)


def checked_captions(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """One prediction and at least one reference for each picture, or ValueError."""
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} captions for {len(references)} pictures; one each is wanted")
    if not predictions:
        raise ValueError("there is nothing to score: no captions were given")
    for place, (caption, listed) in enumerate(zip(predictions, references, strict=True)):
        if not isinstance(caption, str) or isinstance(listed, str) or not listed:
            raise ValueError(f"picture {place}: give a caption (a string) and a list of one or more references")


def bleu_scores(
    predictions: Sequence[str], references: Sequence[Sequence[str]], language: str | None = None
) -> dict[str, Any]:
    """bleu1 to bleu4 in percent, lower-cased, and the signature of the last."""
    from sacrebleu.metrics import BLEU

    tokenize, note = bleu_tokenizer(language)
    most = max(map(len, references))
    # sacrebleu takes None for a reference that is missing, which its types do not say
    columns: list[Any] = [[listed[k] if k < len(listed) else None for listed in references] for k in range(most)]
    found: dict[str, Any] = {}
    for order in ORDERS:
        metric = BLEU(tokenize=tokenize, max_ngram_order=order, lowercase=True)
        found[f"bleu{order}"] = metric.corpus_score(list(predictions), columns).score
        found["signature"] = str(metric.get_signature())
    return found if note is None else {**found, "note": note}


def tokens_of(text: str, language: str | None = None) -> list[str]:
    """The tokens that CIDEr and METEOR compare: sacreBLEU's for the language, in lower case."""
    from sacrebleu.metrics import BLEU

    tokenize, _ = bleu_tokenizer(language)
    if tokenize == "char":  # words of a language with spaces are better units than its letters
        tokenize = "13a"
    return BLEU(tokenize=tokenize).tokenizer(text.lower()).split()


def cider(
    predictions: Sequence[str], references: Sequence[Sequence[str]], language: str | None = None
) -> float | None:
    """CIDEr-D, times 10 as everywhere: 10 where all captions are their only references; None without the package."""
    if importlib.util.find_spec("pycocoevalcap") is None:
        return None
    from pycocoevalcap.cider.cider_scorer import CiderScorer

    scorer = CiderScorer(n=4, sigma=6.0)
    for caption, listed in zip(predictions, references, strict=True):
        joined = [" ".join(tokens_of(text, language)) for text in (caption, *listed)]
        scorer += (joined[0], joined[1:])
    return float(scorer.compute_score()[0])


class NoSynonyms:
    """In place of WordNet."""

    def synsets(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Nothing means the same as a word."""
        return []


def meteor(
    predictions: Sequence[str], references: Sequence[Sequence[str]], language: str | None = None
) -> float | None:
    """Mean METEOR in percent, of exact and stemmed matches; None without nltk."""
    if importlib.util.find_spec("nltk") is None:
        return None
    from nltk.translate.meteor_score import meteor_score

    scores = [
        meteor_score(
            [tokens_of(text, language) for text in listed], tokens_of(caption, language), wordnet=NoSynonyms()
        )
        for caption, listed in zip(predictions, references, strict=True)
    ]
    return 100 * sum(scores) / len(scores)


def exact_matches(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Share of captions, in percent, that are one of their references but for case, form of letters and spacing."""
    hits = [
        plain_text(caption).lower() in (plain_text(text).lower() for text in listed)
        for caption, listed in zip(predictions, references, strict=True)
    ]
    return 100 * sum(hits) / len(hits)


def caption_scores(
    predictions: Sequence[str], references: Sequence[Sequence[str]], language: str | None = None
) -> dict[str, Any]:
    """All of the above: bleu1 to bleu4, cider, meteor (those whose package is there), exact, signature, note.

    Raises:
        ValueError: captions and references that do not belong together.
    """
    checked_captions(predictions, references)
    found = bleu_scores(predictions, references, language)
    notes = [found.pop("note")] if "note" in found else []
    for name, value in (
        ("cider", cider(predictions, references, language)),
        ("meteor", meteor(predictions, references, language)),
    ):
        if value is None:
            notes.append(f"{name} is left out; it needs pip install 'hf_attention_zoo[captions]'")
        else:
            found[name] = value
    found["exact"] = exact_matches(predictions, references)
    return {**found, "note": "; ".join(notes)} if notes else found
