"""Phrases as entries of a vocabulary: words that stand together more often than by chance.

Mikolov et al. 2013 (arXiv 1310.4546), Section 4, Equation 6. A pass over a text joins neighbours a b whose score

    score(a, b) = (count(a b) - delta) / (count(a) count(b))

is above a threshold; further passes join what was joined before, so that "new york" becomes "new york times". The
score is taken times the number of words of the text, as in the authors' code, so that a threshold does not depend on
how long the text is.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from tokenizers import AddedToken, Regex, Tokenizer, normalizers

from hf_attention_zoo.tokenization.training_texts import DISCOUNT
from hf_attention_zoo.tokenization.word_level import give_words

Pair = tuple[str, str]


def phrase_scores(sentences: Iterable[Sequence[str]], discount: int = DISCOUNT) -> dict[Pair, float]:
    """Scores of all neighbours that are seen more than `discount` times.

    Args:
        sentences: words and punctuation marks; a mark is in no phrase.
    """
    words: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    for sentence in sentences:
        words.update(sentence)
        pairs.update(pairwise(sentence))
    total = words.total()
    return {
        (a, b): (count - discount) / (words[a] * words[b]) * total
        for (a, b), count in pairs.items()
        if count > discount and not (is_mark(a) or is_mark(b))
    }


def is_mark(word: str) -> bool:
    """Whether a word is a punctuation mark or a symbol."""
    return len(word) == 1 and unicodedata.category(word)[0] in "PS"


def join_pairs(sentence: Sequence[str], pairs: set[Pair]) -> list[str]:
    """A sentence in which pairs are single entries, joined from left to right."""
    joined: list[str] = []
    place = 0
    while place < len(sentence):
        pair = tuple(sentence[place : place + 2])
        joined.append(" ".join(pair) if pair in pairs else sentence[place])
        place += 2 if pair in pairs else 1
    return joined


def joined_sentences(
    sentences: Callable[[], Iterable[Sequence[str]]], thresholds: Sequence[float], discount: int = DISCOUNT
) -> Iterator[list[str]]:
    """The sentences with their phrases, one pass for each threshold.

    Args:
        sentences: gives them anew at each call.
        thresholds: of the passes, each lower than the one before as the paper has it, or equal.
    """
    found: list[set[Pair]] = []

    def read() -> Iterator[list[str]]:
        for sentence in sentences():
            words = list(sentence)
            for pairs in found:
                words = join_pairs(words, pairs)
            yield words

    for threshold in thresholds:
        scores = phrase_scores(read(), discount)
        found.append({pair for pair, score in scores.items() if score > threshold})
    return read()


def check_thresholds(thresholds: Sequence[float], discount: int) -> None:
    """Raises ValueError for thresholds that are no falling row of positive numbers, or a discount below 0."""
    values = list(thresholds) if isinstance(thresholds, list | tuple) else None
    fits = values is not None and all(
        isinstance(value, int | float) and not isinstance(value, bool) and value > 0 for value in values
    )
    if values is None or not fits or values != sorted(values, reverse=True):
        raise ValueError(
            f"phrase_thresholds={thresholds!r}; give a list with a positive number for each pass, the highest first, "
            "such as [200, 100]"
        )
    if isinstance(discount, bool) or not isinstance(discount, int) or discount < 0:
        raise ValueError(f"phrase_discount={discount!r}; give an integer of 0 or more")


def learn_phrases(
    backend: Tokenizer,
    texts: Iterable[str],
    *,
    thresholds: Sequence[float],
    discount: int,
    vocab_size: int,
    min_frequency: int,
    special_tokens: Iterable[str],
) -> Tokenizer:
    """Give a word-level backend the most frequent words and phrases of texts, as it splits them.

    A phrase is a token of its own wherever its words stand with spaces between them.

    Args:
        texts: read once for each threshold, and once more. Phrases do not reach over a punctuation mark.
        vocab_size: rows, the special tokens among them.
    """
    backend.normalizer = normalizers.Sequence([backend.normalizer, normalizers.Replace(Regex(r"\s+"), " ")])

    def split(text: str) -> list[str]:
        parts = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        return [word for word, _ in parts]

    counts: Counter[str] = Counter()
    for sentence in joined_sentences(lambda: map(split, texts), thresholds, discount):
        counts.update(sentence)
    special = list(special_tokens)
    often = [word for word, count in counts.items() if count >= min_frequency and word not in special]
    listed = sorted(often, key=lambda word: (-counts[word], word))[: vocab_size - len(special)]
    give_words(backend, [word for word in listed if " " not in word], special)
    backend.add_tokens([AddedToken(word, single_word=True, normalized=True) for word in listed if " " in word])
    return backend
