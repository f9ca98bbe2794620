"""Hashed features of fastText (Joulin et al. 2016; subwords: Bojanowski et al. 2017), as in the authors' code.

A bag is the words, then n-grams of words and characters as numbers of buckets. Two n-grams of one bucket share a row.
"""

from __future__ import annotations

from collections.abc import Sequence

FNV_OFFSET, FNV_PRIME = 2166136261, 16777619
NGRAM_FACTOR = 116049371
_MASK_32, _MASK_64 = (1 << 32) - 1, (1 << 64) - 1
BEGIN, END = "<", ">"


def fnv1a(text: str) -> int:
    """32-bit FNV-1a of a text's UTF-8 bytes, each widened as a signed char: from 128 on they set the high bits."""
    value = FNV_OFFSET
    for byte in text.encode("utf-8"):
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * FNV_PRIME) & _MASK_32
    return value


def word_ngram_buckets(hashes: Sequence[int], longest: int, buckets: int) -> list[tuple[int, int, int]]:
    """Buckets of the n-grams of 2 to `longest` words: (bucket, first word, last word), by their first words.

    h = h 116049371 + next, in 64 bits, from hashes that are widened as signed numbers.
    """
    signed = [value - (1 << 32) if value >= 1 << 31 else value for value in hashes]
    found = []
    for first in range(len(signed)):
        value = signed[first]
        for last in range(first + 1, min(first + longest, len(signed))):
            value = (value * NGRAM_FACTOR + signed[last]) & _MASK_64
            found.append((value % buckets, first, last))
    return found


def character_ngrams(word: str, shortest: int, longest: int) -> list[str]:
    """N-grams of the characters of `<word>`; single characters are none of them where they are a mark."""
    marked = BEGIN + word + END
    return [
        marked[start:end]
        for start in range(len(marked))
        for end in range(start + max(1, shortest), min(start + longest, len(marked)) + 1)
        if not (end - start == 1 and (start == 0 or end == len(marked)))
    ]


def character_buckets(word: str, shortest: int, longest: int, buckets: int) -> list[int]:
    """Buckets of a word's character n-grams, in the order of `character_ngrams`."""
    return [fnv1a(ngram) % buckets for ngram in character_ngrams(word, shortest, longest)]
