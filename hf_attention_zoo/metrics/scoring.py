"""Corpus scores of translations: sacreBLEU with a tokeniser that fits the language, chrF, and the copy baseline.

All texts are plain, detokenised strings; sacreBLEU does its own tokenisation and says which in the signature. A score
without its signature cannot be compared with anything, so the two always travel together.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

DEFAULT_TOKENIZER = "13a"
FALLBACK_TOKENIZER = "char"

# language -> (tokeniser of sacreBLEU, extra to install for it)
LANGUAGE_TOKENIZERS: dict[str, tuple[str, str | None]] = {
    "ja": ("ja-mecab", "sacrebleu[ja]"),
    "ko": ("ko-mecab", "sacrebleu[ko]"),
    "zh": ("zh", None),
}

# Upper ends of the buckets in source words, the last one open: fine where recurrent models differ most.
LENGTH_BUCKETS = (5, 10, 15, 20, 30, 40, 50)


@dataclass(frozen=True)
class CorpusScore:
    """A score over a whole corpus with the signature that says how it was computed."""

    value: float
    signature: str
    brevity_penalty: float | None = None
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entries that are there, for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@cache
def _works(tokenizer: str) -> bool:
    from sacrebleu.metrics import BLEU

    try:
        BLEU(tokenize=tokenizer)
    except (RuntimeError, ImportError, AssertionError):
        return False
    return True


def bleu_tokenizer(language: str | None) -> tuple[str, str | None]:
    """The sacreBLEU tokeniser for a target language, and a message if it is not the one that ought to be used.

    `language` is a code such as "ko", "zh-CN" or "zh_Hans"; None counts as a language with spaces. Korean and
    Japanese need MeCab; where it is not installed the fallback is "char" (each character is a token), which any
    machine reproduces but which gives other, usually higher numbers.
    """
    code = re.split(r"[-_]", language.lower())[0] if language else ""
    if code not in LANGUAGE_TOKENIZERS:
        return DEFAULT_TOKENIZER, None
    tokenizer, extra = LANGUAGE_TOKENIZERS[code]
    if _works(tokenizer):
        return tokenizer, None
    return FALLBACK_TOKENIZER, (
        f"BLEU for {code} is tokenised with {FALLBACK_TOKENIZER!r} because {tokenizer!r} is not installed "
        f"(pip install '{extra}'); the two are not comparable"
    )


def _checked(predictions: Sequence[str], references: Sequence[str]) -> tuple[list[str], list[str]]:
    for name, texts in (("predictions", predictions), ("references", references)):
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{name} must be a list of strings, one per sentence")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions and {len(references)} references; one of each per sentence")
    if not predictions:
        raise ValueError("there is nothing to score: no predictions were given")
    return list(predictions), list(references)


def corpus_bleu(
    predictions: Sequence[str], references: Sequence[str], *, language: str | None = None, tokenize: str | None = None
) -> CorpusScore:
    """BLEU in percent. `tokenize` names a sacreBLEU tokeniser; without it `language` chooses (`bleu_tokenizer`).

    Raises ValueError for unequal numbers, no sentences, or a tokeniser that does not exist or is not installed.
    """
    from sacrebleu.metrics import BLEU

    predictions, references = _checked(predictions, references)
    note = None
    if tokenize is None:
        tokenize, note = bleu_tokenizer(language)
    elif tokenize not in BLEU.TOKENIZERS:
        raise ValueError(f"sacreBLEU has no tokeniser {tokenize!r}; it has {', '.join(sorted(BLEU.TOKENIZERS))}")
    elif not _works(tokenize):
        raise ValueError(f"the tokeniser {tokenize!r} needs more packages: pip install 'hf_attention_zoo[metrics]'")
    metric = BLEU(tokenize=tokenize)
    score = metric.corpus_score(predictions, [references])
    return CorpusScore(score.score, str(metric.get_signature()), score.bp, note)


def corpus_chrf(predictions: Sequence[str], references: Sequence[str], *, word_order: int = 0) -> CorpusScore:
    """chrF in percent (`word_order=2` gives chrF++). Raises ValueError as `corpus_bleu`."""
    from sacrebleu.metrics import CHRF

    predictions, references = _checked(predictions, references)
    metric = CHRF(word_order=word_order)
    return CorpusScore(metric.corpus_score(predictions, [references]).score, str(metric.get_signature()))


def exact_matches(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Share of the translations, in percent, that are their reference but for form of letters and spacing.

    Raises ValueError as `corpus_bleu`.
    """
    predictions, references = _checked(predictions, references)
    return 100 * sum(map(is_exact, predictions, references)) / len(references)


def is_exact(prediction: str, reference: str) -> bool:
    """Whether a translation is its reference, whatever the form of letters (NFC) and the spacing."""
    return plain_text(prediction) == plain_text(reference)


def plain_text(text: str) -> str:
    """A text in one form of letters (NFC), with one space between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def copy_baseline(
    sources: Sequence[str], references: Sequence[str], *, language: str | None = None
) -> dict[str, float]:
    """BLEU and chrF of not translating at all: what names, numbers and punctuation alone are worth."""
    return {
        "bleu": corpus_bleu(sources, references, language=language).value,
        "chrf": corpus_chrf(sources, references).value,
    }


def length_bucket(words: int) -> str:
    """The label of the bucket that a source of so many words falls into, e.g. "6-10" or "51+"."""
    start = 1
    for end in LENGTH_BUCKETS:
        if words <= end:
            return f"{start}-{end}"
        start = end + 1
    return f"{start}+"


def bleu_by_source_length(
    sources: Sequence[str],
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    language: str | None = None,
    score: Callable[..., CorpusScore] = corpus_bleu,
) -> list[dict[str, Any]]:
    """Corpus BLEU of the sentences of each length, in order of length; buckets without sentences are left out."""
    members: dict[str, list[int]] = {}
    for index in sorted(range(len(sources)), key=lambda i: len(sources[i].split())):
        members.setdefault(length_bucket(len(sources[index].split())), []).append(index)
    return [
        {
            "words": label,
            "sentences": len(rows),
            "bleu": score([predictions[i] for i in rows], [references[i] for i in rows], language=language).value,
        }
        for label, rows in members.items()
    ]
