"""Texts of files with symbols of tokenizers written into them, whole, cut, glued or in capitals: all of it is text."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

from fuzz_cases import CARDS, WORDS, Case, Maker

from hf_attention_zoo.data.text_encoding import encode_texts, symbols_as_text
from hf_attention_zoo.tasks.running_text.token_store import encode_sentences
from hf_attention_zoo.tokenization.translation_tokenizer import TranslationTokenizer
from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer

OTHERS = ["<pad>", "<unk>", "<s>", "</s>", "[CLS]", "[SEP]", "[MASK]", "<S>", "</S>", "_start_", "_classify_", "<|x|>"]
GLUES = ["", " ", "  ", "\t", "\u00a0", ",", "-", "\u0301"]


@cache
def tokenizers() -> tuple[Any, ...]:
    """Those of the published folders, and the two that split at white space alone."""
    from transformers import AutoTokenizer

    import hf_attention_zoo  # noqa: F401 (registers the classes)

    folders = sorted(path.parent for path in CARDS.glob("*/tokenizer.json"))
    seen = {folder.name.partition("-")[0]: folder for folder in folders}  # one of each architecture
    texts = [" ".join(WORDS), " ".join(OTHERS)] * 2
    return (
        *(AutoTokenizer.from_pretrained(folder) for folder in seen.values()),
        TranslationTokenizer.train(texts, texts, kind="symbols", lowercase=True, vocab_size=60),
        WordCharacterTokenizer.train(texts, splitting="spaces"),
    )


def flat(ids: Any) -> list[int]:
    """Ids of texts or documents in one list."""
    return [one for part in ids for one in flat(part)] if isinstance(ids, list) else [ids]


def symbols_in(tokenizer: Any, ids: Any) -> int:
    """How many of the ids are symbols other than the unknown word."""
    added = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    symbols = {number for number, token in added.items() if token.special} - {tokenizer.unk_token_id}
    return sum(one in symbols for one in flat(ids))


def piece(rng: random.Random, tokenizer: Any) -> str:
    """A word, a symbol, or a part of one."""
    symbol = rng.choice([*OTHERS, *tokenizer.all_special_tokens])
    return rng.choice(
        [rng.choice(WORDS), symbol, symbol.upper(), symbol.lower(), symbol[: rng.randint(1, len(symbol))], symbol * 2]
    )


def text_case(rng: random.Random, folder: Path) -> Case:
    """A text as labels, translations and running text read it."""
    tokenizer = rng.choice(tokenizers())
    text = rng.choice(WORDS) + "".join(rng.choice(GLUES) + piece(rng, tokenizer) for _ in range(rng.randint(1, 8)))

    def call() -> None:
        reader = symbols_as_text(tokenizer)
        reads = [lambda one: encode_texts(reader, [one])["input_ids"]]
        if not hasattr(tokenizer, "sentences_of"):
            reads.append(lambda one: encode_sentences(tokenizer, [one]))
        if hasattr(tokenizer, "target_vocab_size"):
            reads.append(lambda one: reader(text_target=[one])["input_ids"])
        for read in reads:
            # Two words, since a bag of one unknown word holds nothing but a pad.
            found, plain = symbols_in(tokenizer, read(text)), symbols_in(tokenizer, read("ba da"))
            assert found == plain, f"{found} symbols in {text!r}, {plain} are the encoding's own"

    return Case(call, f"{type(tokenizer).__name__}: {text!r}")


def word_case(rng: random.Random, folder: Path) -> Case:
    """Words as taggers read them: each keeps its place."""
    tokenizer = rng.choice([one for one in tokenizers() if not hasattr(one, "sentences_of")])
    words = [piece(rng, tokenizer) for _ in range(rng.randint(1, 6))]

    def call() -> None:
        encoded = symbols_as_text(tokenizer)(words, is_split_into_words=True)
        plain = symbols_in(tokenizer, symbols_as_text(tokenizer)(["ba"], is_split_into_words=True)["input_ids"])
        assert symbols_in(tokenizer, encoded["input_ids"]) == plain, words
        places = [place for place in encoded.word_ids() if place is not None]
        assert places == sorted(places) and set(places) <= set(range(len(words))), places

    return Case(call, f"{type(tokenizer).__name__}: {words!r}")


SYMBOLS: dict[str, tuple[int, Maker]] = {"symbols in texts": (150, text_case), "symbols in words": (80, word_case)}
"""Kind of text -> how many cases a whole run has, and what makes one."""
