"""Learning pieces of words by byte-pair merges so that the same texts always give the same pieces and ids.

The library's trainer numbers the letters that carry a mark (`##e`, `e</w>`) in an order that changes from run to run,
and breaks ties between merges by these numbers. Here the letters are numbered first, in the order of their code
points; for that the words are read once and kept in a temporary file.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

_BREAK = "\u2028"  # white space that no word holds


def learn_pieces(
    words: Iterable[list[str]],
    *,
    vocab_size: int,
    special_tokens: Iterable[str],
    min_frequency: int,
    alphabet_size: int | None = None,
    prefix: str = "",
    suffix: str = "",
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Pieces with their ids, and the merges in their order.

    Args:
        words: of one text after the other, read once.
        vocab_size: pieces at most, special ones included.
        special_tokens: the first ids.
        min_frequency: how often a pair must occur to be merged.
        alphabet_size: keep only so many characters, the most frequent ones.
        prefix: what letters inside a word carry; or
        suffix: what the last letter of a word carries.

    Raises:
        ValueError: special tokens and letters alone do not fit into `vocab_size`.
    """
    special = list(special_tokens)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as spool:
        characters, marked = _spooled(words, spool, bool(prefix))
        kept = sorted(characters, key=lambda character: (-characters[character], character))[:alphabet_size]
        allowed = set(kept)
        forms = sorted(letter for letter in marked if letter in allowed)
        fixed = special + [f"{prefix}{letter}{suffix}" for letter in forms]
        if len(fixed) + len(kept) > vocab_size:
            raise ValueError(
                f"vocab_size={vocab_size} cannot hold the {len(special)} special tokens and the characters of the "
                f"training text, which have {len(fixed) - len(special) + len(kept)} forms; give at least "
                f"{len(fixed) + len(kept)}, or keep only the most frequent characters with alphabet_size"
            )
        marks: dict[str, Any] = {"continuing_subword_prefix": prefix} if prefix else {"end_of_word_suffix": suffix}
        backend = Tokenizer(models.BPE(**marks))
        backend.pre_tokenizer = pre_tokenizers.Split(_BREAK, behavior="removed")
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=fixed,
            show_progress=False,
            **marks,
        )
        backend.train_from_iterator(_lines(spool, allowed if alphabet_size is not None else None), trainer)
    learnt = json.loads(backend.to_str())["model"]
    merges = [tuple(pair) if isinstance(pair, list) else tuple(pair.split(" ")) for pair in learnt["merges"]]
    return learnt["vocab"], merges


def _spooled(words: Iterable[list[str]], spool: IO[str], inside: bool) -> tuple[Counter[str], set[str]]:
    """Write the words; returns how often each character occurs, and those that stand inside (or last in) a word."""
    characters: Counter[str] = Counter()
    marked: set[str] = set()
    for text in words:
        spool.write(json.dumps(text, ensure_ascii=False) + "\n")
        for word in text:
            characters.update(word)
            marked.update(word[1:] if inside else word[-1:])
    return characters, marked


def _lines(spool: IO[str], allowed: set[str] | None) -> Iterator[str]:
    spool.seek(0)
    for line in spool:
        words = json.loads(line)
        if allowed is not None:
            words = ["".join(letter for letter in word if letter in allowed) for word in words]
        yield _BREAK.join(words)


def words_of(backend: Tokenizer, texts: Iterable[str]) -> Iterator[list[str]]:
    """The words into which a backend cuts each text."""
    for text in texts:
        normal = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
        yield [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]
