"""Small sequences that are generated, from the papers that recurrent networks began with.

    exclusive_or       Elman 1990: every third bit is the exclusive or of the two before it
    letters            Elman 1990: a consonant says which vowels follow, and how many
    simple_sentences   Elman 1990: two or three words of 29, from templates of word classes
    adding_problem     Hochreiter and Schmidhuber 1997, Experiment 4: the sum of two marked numbers, far apart

Everything is a function of a `numpy.random.Generator`.
"""

from __future__ import annotations

import numpy as np

# What follows each consonant, and the letters as bits: consonant, vowel, interrupted, high, back, voiced (Table 1).
SYLLABLES = {"b": "ba", "d": "dii", "g": "guuu"}
LETTER_BITS = {
    "b": (1, 0, 1, 0, 0, 1),
    "d": (1, 0, 1, 1, 0, 1),
    "g": (1, 0, 1, 0, 1, 1),
    "a": (0, 1, 0, 0, 1, 1),
    "i": (0, 1, 0, 1, 0, 1),
    "u": (0, 1, 0, 1, 1, 1),
}

# Word classes (Table 3) and templates of sentences (Table 4).
WORD_CLASSES: dict[str, tuple[str, ...]] = {
    "human": ("man", "woman", "boy", "girl"),
    "animal": ("cat", "mouse", "dog"),
    "inanimate": ("book", "rock", "car"),
    "aggressive": ("dragon", "monster", "lion"),
    "fragile": ("glass", "plate"),
    "food": ("cookie", "bread", "sandwich"),
    "intransitive": ("think", "sleep", "exist"),
    "transitive": ("see", "chase", "like"),
    "agent-patient": ("move", "break"),
    "perception": ("smell", "see"),
    "destruction": ("break", "smash"),
    "eating": ("eat",),
}
TEMPLATES: tuple[tuple[str, ...], ...] = (
    ("human", "eating", "food"),
    ("human", "perception", "inanimate"),
    ("human", "destruction", "fragile"),
    ("human", "intransitive"),
    ("human", "transitive", "human"),
    ("human", "agent-patient", "inanimate"),
    ("human", "agent-patient"),
    ("animal", "eating", "food"),
    ("animal", "transitive", "animal"),
    ("animal", "agent-patient", "inanimate"),
    ("animal", "agent-patient"),
    ("inanimate", "agent-patient"),
    ("aggressive", "destruction", "fragile"),
    ("aggressive", "eating", "human"),
    ("aggressive", "eating", "animal"),
    ("aggressive", "eating", "food"),
)
NOUNS = frozenset(
    word for name in ("human", "animal", "inanimate", "aggressive", "fragile", "food") for word in WORD_CLASSES[name]
)


def exclusive_or(count: int, random: np.random.Generator) -> np.ndarray:
    """A stream of so many triples of bits, two drawn and their exclusive or: (3 count,) of 0 and 1."""
    drawn = random.integers(0, 2, (count, 2))
    return np.column_stack([drawn, drawn[:, 0] ^ drawn[:, 1]]).ravel()


def letters(count: int, random: np.random.Generator) -> str:
    """So many syllables of `ba`, `dii` and `guuu`, drawn alike and written without a space."""
    return "".join(SYLLABLES["bdg"[drawn]] for drawn in random.integers(0, 3, count))


def letter_bits(text: str) -> np.ndarray:
    """The bits of each letter, (letters, 6). Raises ValueError for a letter that has none."""
    strange = sorted(set(text) - set(LETTER_BITS))
    if strange:
        raise ValueError(f"{', '.join(map(repr, strange))} has no bits; letters are {', '.join(LETTER_BITS)}")
    return np.array([LETTER_BITS[letter] for letter in text], dtype=np.float32).reshape(-1, 6)


def simple_sentences(count: int, random: np.random.Generator) -> list[list[str]]:
    """So many sentences, a template drawn first and then a word of each of its classes."""
    chosen = random.integers(0, len(TEMPLATES), count)
    return [[str(random.choice(WORD_CLASSES[name])) for name in TEMPLATES[index]] for index in chosen]


def next_word_likelihoods(sentences: list[list[str]], words: list[str]) -> dict[tuple[str, ...], np.ndarray]:
    """How often each word comes next after each beginning of a sentence: beginning -> (len(words),), summing to 1.

    At the end of a sentence comes the first word of another one.
    """
    place = {word: number for number, word in enumerate(words)}
    counts: dict[tuple[str, ...], np.ndarray] = {}
    for sentence, following in zip(sentences, [*sentences[1:], sentences[0]], strict=True):
        for length, word in enumerate([*sentence[1:], following[0]], start=1):
            counts.setdefault(tuple(sentence[:length]), np.zeros(len(words)))[place[word]] += 1
    return {beginning: found / found.sum() for beginning, found in counts.items()}


def adding_problem(rows: int, lag: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of pairs, a number in [-1, 1] and a mark, and what is to be known at their end.

    The paper's: lengths from `lag` to lag + lag / 10; one of the first ten pairs and one other of the first half are
    marked 1, the first and the last pair -1, all others 0. The target is 0.5 + (X1 + X2) / 4, X1 and X2 the numbers
    that are drawn to be marked; the first pair of all keeps its -1, and then counts 0. Sequences stand at the end of
    their rows, behind pairs of zeros.

    Returns:
        (rows, longest, 2) and (rows,), both float32.
    """
    if lag < 4:
        raise ValueError(f"lag={lag}; give 4 or more, so that the first half has two numbers to mark")
    longest = lag + lag // 10
    inputs, targets = np.zeros((rows, longest, 2), np.float32), np.zeros(rows, np.float32)
    for row in range(rows):
        length = int(random.integers(lag, longest + 1))
        values, marks = random.uniform(-1, 1, length), np.zeros(length)
        first = int(random.integers(0, min(10, length // 2)))
        second = int(random.choice([place for place in range(length // 2) if place != first]))
        marks[[first, second]] = 1
        marks[[0, -1]] = -1  # also where the first pair was drawn: then it is not added
        added = [values[place] for place in (first, second) if place > 0]
        inputs[row, longest - length :, 0], inputs[row, longest - length :, 1] = values, marks
        targets[row] = 0.5 + sum(added) / 4
    return inputs, targets
