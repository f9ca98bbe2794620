"""Sentences in, trees out: a translation model that was trained on linear trees, with its output mended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_attention_zoo.data.text_lines import split_words
from hf_attention_zoo.seq2seq.translating import translate
from hf_attention_zoo.tasks.parsing.bracket_trees import escaped
from hf_attention_zoo.tasks.parsing.linearising import BRACKETS, SLASHES, RestoredTree, restore
from hf_attention_zoo.tasks.parsing.treebank_folder import source_text


def tree_symbols(tokenizer: Any) -> tuple[str, frozenset[str]]:
    """The spelling that a parser's target vocabulary has, and the labels of phrases in it.

    Raises:
        ValueError: the target vocabulary has no symbols that close phrases.
    """
    if not hasattr(tokenizer, "get_target_vocab"):
        raise ValueError(f"{type(tokenizer).__name__} has no target vocabulary; a parser of this package is wanted")
    vocabulary = tokenizer.get_target_vocab()
    for style, mark in ((BRACKETS, ")"), (SLASHES, "/")):
        labels = frozenset(symbol[1:] for symbol in vocabulary if symbol.startswith(mark) and len(symbol) > 1)
        if labels and (style == SLASHES or any(f"({label}" in vocabulary for label in labels)):
            return style, labels
    raise ValueError(
        "this model does not write trees: its target vocabulary has no symbols such as ')NP' or '/NP'. Train one on "
        "the folder that `attention-zoo treebank` writes, with --tokenizer.target_kind symbols"
    )


def parse(
    model: Any, tokenizer: Any, sentences: Sequence[str | Sequence[str]], *, batch_size: int = 32, **generate: Any
) -> list[RestoredTree]:
    """Trees of sentences.

    Args:
        model, tokenizer: a parser.
        sentences: each a list of words, or a string of words with white space between: punctuation marks apart, U+00A0
            a part of a word.
        batch_size, generate: as for `translate`.

    Returns:
        One result per sentence: a tree over exactly its words (None for a sentence without words), and what had to be
        mended in the model's output.

    Raises:
        ValueError: the model does not write trees.
    """
    style, labels = tree_symbols(tokenizer)
    word_lists = [split_words(sentence) if isinstance(sentence, str) else list(sentence) for sentence in sentences]
    filled = [i for i, words in enumerate(word_lists) if words]
    results = [RestoredTree(None)] * len(word_lists)
    if not filled:
        return results
    texts = [source_text(word_lists[i]) for i in filled]
    for i, written in zip(filled, translate(model, tokenizer, texts, batch_size=batch_size, **generate), strict=True):
        words = [escaped(word) for word in word_lists[i]]
        results[i] = restore(written.split(), words, style=style, phrase_labels=labels)
    return results
