"""Trees drawn from a small grammar of English, for tests and first trials where no treebank may be had.

They are made up, and much more regular than text: a score on them says that a parser learns, not how well it parses
English. Attachment is not free: `of` and relative clauses belong to the noun before them, `with` and `near` to the
verb behind verbs of looking and to the noun otherwise, `before` and `after` always to the verb. So a parser has to
look at words, not at tags alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from hf_attention_zoo.tasks.parsing.bracket_trees import Tree

_NOUNS = ["dog", "cat", "child", "teacher", "king", "river", "garden", "letter", "house", "doctor", "ship", "tower"]
_NOUNS += ["bird", "story", "window", "neighbour"]
_PLURALS = ["dogs", "cats", "children", "teachers", "kings", "rivers", "gardens", "letters", "houses", "doctors"]
_PLURALS += ["birds", "ships", "towers", "stories"]
_NAMES = ["Anna", "Tom", "Clara", "Hugo", "Vienna", "Lisbon", "Oslo", "Maria"]
_ADJECTIVES = ["old", "small", "red", "quiet", "strange", "tall", "young", "green", "broken", "famous"]
_DETERMINERS = ["the", "a", "this", "every"]
_PRONOUNS = ["he", "she", "it", "they", "we"]
_LOOKING = ["saw", "watched", "painted", "noticed"]
_TRANSITIVE = ["found", "built", "bought", "remembered", "liked", "closed", "carried"]
_INTRANSITIVE = ["slept", "laughed", "arrived", "waited", "sang"]
_SAYING = ["said", "believed", "knew", "hoped"]
_ADVERBS = ["slowly", "often", "yesterday", "quietly", "soon"]
_VERB_PREPOSITIONS = ["before", "after"]
_EITHER_PREPOSITIONS = ["with", "near", "behind"]
_SHORTEST_LIMIT = 6


def sample_trees(count: int, *, seed: int = 0, max_words: int = 30) -> list[Tree]:
    """So many trees of different sentences, the same ones for the same arguments.

    Raises:
        ValueError: `count` is below 1, or no sentence of the grammar is as short as `max_words`.
    """
    if count < 1:
        raise ValueError(f"count={count}; at least 1 tree is drawn")
    if max_words < _SHORTEST_LIMIT:
        raise ValueError(f"max_words={max_words}: sentences of the grammar need room for {_SHORTEST_LIMIT} words")
    rng = random.Random(seed)
    seen: set[str] = set()
    trees: list[Tree] = []
    for tree in _endless(rng):
        words = tree.words()
        sentence = " ".join(words)
        if len(words) <= max_words and sentence not in seen:
            seen.add(sentence)
            trees.append(tree)
            if len(trees) == count:
                break
    return trees


def _endless(rng: random.Random) -> Iterator[Tree]:
    while True:
        if rng.random() < 0.12:
            yield Tree("SQ", (_word("VBD", "did", rng), *_clause(rng, 0, base=True), _word(".", "?", rng)))
        else:
            yield Tree("S", (*_clause(rng, 0), _word(".", ".", rng)))


def _word(tag: str, words: str | list[str], rng: random.Random) -> Tree:
    return Tree(tag, word=words if isinstance(words, str) else rng.choice(words))


def _clause(rng: random.Random, depth: int, base: bool = False) -> tuple[Tree, ...]:
    """Subject and verb phrase; with `base`, the verb stands behind `did` and keeps its form for simplicity's sake."""
    front: tuple[Tree, ...] = ()
    if not base and depth == 0 and rng.random() < 0.1:
        front = (_preposition_phrase(rng, _VERB_PREPOSITIONS, 2), _word(",", ",", rng))
    return (*front, _noun_phrase(rng, depth), _verb_phrase(rng, depth, base))


def _noun_phrase(rng: random.Random, depth: int, preposition: str | None = None) -> Tree:
    """A noun phrase; `preposition` forces one phrase of that kind behind the noun."""
    draw = rng.random()
    if preposition is None and draw < 0.18:
        return Tree("NP", (_word("PRP", _PRONOUNS, rng),))
    if preposition is None and draw < 0.34:
        return Tree("NP", (_word("NNP", _NAMES, rng),))
    if preposition is None and draw < 0.44 and depth < 2:
        parts = [_simple_noun_phrase(rng), _word("CC", ["and", "or"], rng), _simple_noun_phrase(rng)]
        return Tree("NP", tuple(parts))
    core = _simple_noun_phrase(rng)
    if preposition is not None:
        return Tree("NP", (core, _preposition_phrase(rng, [preposition], depth + 1)))
    if depth < 3 and draw < 0.58:
        return Tree("NP", (core, _preposition_phrase(rng, ["of"], depth + 1)))
    if depth < 2 and draw < 0.68:
        return Tree("NP", (core, _relative_clause(rng, depth + 1)))
    return core


def _simple_noun_phrase(rng: random.Random) -> Tree:
    parts: list[Tree] = []
    plural = rng.random() < 0.3
    if not plural:
        parts.append(_word("DT", _DETERMINERS, rng))
    parts += [_word("JJ", _ADJECTIVES, rng) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
    parts.append(_word("NNS", _PLURALS, rng) if plural else _word("NN", _NOUNS, rng))
    return Tree("NP", tuple(parts))


def _relative_clause(rng: random.Random, depth: int) -> Tree:
    which = Tree("WHNP", (_word("WP", "who", rng) if rng.random() < 0.5 else _word("WDT", "that", rng),))
    return Tree("SBAR", (which, Tree("S", (_verb_phrase(rng, depth + 1),))))


def _preposition_phrase(rng: random.Random, prepositions: list[str], depth: int) -> Tree:
    return Tree("PP", (_word("IN", prepositions, rng), _noun_phrase(rng, depth)))


def _verb_phrase(rng: random.Random, depth: int, base: bool = False) -> Tree:
    tag = "VB" if base else "VBD"
    draw = rng.random()
    parts: list[Tree]
    if draw < 0.15 and depth < 2:
        complement = Tree("SBAR", (_word("IN", "that", rng), Tree("S", _clause(rng, depth + 1))))
        return Tree("VP", (_word(tag, _SAYING, rng), complement))
    if draw < 0.35:
        parts = [_word(tag, _INTRANSITIVE, rng)]
    elif draw < 0.62:
        parts = [_word(tag, _LOOKING, rng), _noun_phrase(rng, depth + 1)]
        if rng.random() < 0.6:
            parts.append(_preposition_phrase(rng, _EITHER_PREPOSITIONS, depth + 2))
    else:
        either = rng.choice(_EITHER_PREPOSITIONS) if rng.random() < 0.4 else None
        parts = [_word(tag, _TRANSITIVE, rng), _noun_phrase(rng, depth + 1, either)]
    if rng.random() < 0.25:
        parts.append(Tree("ADVP", (_word("RB", _ADVERBS, rng),)))
    if rng.random() < 0.15:
        parts.append(_preposition_phrase(rng, _VERB_PREPOSITIONS, depth + 2))
    return Tree("VP", tuple(parts))
