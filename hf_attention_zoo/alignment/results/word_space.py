"""Words by their vectors: the nearest ones, analogies, and the plane in which some of them differ most.

An analogy a : b = c : ? is answered by the word whose vector has the largest cosine with b - a + c, the three words
themselves left out (Mikolov et al. 2013, arXiv 1301.3781, Section 4). All vectors have length 1 there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from hf_attention_zoo.alignment.results.sentence_projection import SentenceProjection, principal_plane
from hf_attention_zoo.data.word_vectors import read_word_vectors


class Near(NamedTuple):
    """A word and its cosine; as a text `python 0.81`."""

    word: str
    cosine: float

    def __str__(self) -> str:
        return f"{self.word} {self.cosine:.2f}"


class SectionScore(NamedTuple):
    """Analogies of a section: right, answered, and left out since one of the four words has no vector."""

    right: int
    asked: int
    left_out: int


class WordSpace:
    """Words and their vectors.

    ```python
    space = WordSpace.of("model_cards/word2vec-debian")
    space.nearest("python")
    space.analogy("gtk", "gnome", "qt")
    ```

    Args:
        vectors: by word, all of one width.

    Raises:
        ValueError: there are none.
    """

    def __init__(self, vectors: Mapping[str, np.ndarray]) -> None:
        if not vectors:
            raise ValueError("there are no vectors; give some words that have one")
        self.words = list(vectors)
        self.places = {word: place for place, word in enumerate(self.words)}
        self.vectors = np.stack(list(vectors.values())).astype(np.float32)  # (V, D)
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        self.directions = self.vectors / np.maximum(lengths, 1e-12)

    @classmethod
    def of(cls, source: Any) -> WordSpace:
        """The words of a saved model's folder, or of whatever else `read_word_vectors` reads."""
        return cls(read_word_vectors(source))

    def place(self, word: str) -> int:
        """Row of a word, or else of its lower case.

        Raises:
            ValueError: neither has a vector.
        """
        found = self.places.get(word, self.places.get(word.lower()))
        if found is None:
            raise ValueError(f"{word!r} is none of the {len(self.words):,} words that have a vector; give another one")
        return found

    def nearest(self, word: str, count: int = 10) -> list[Near]:
        """The words with the largest cosines with a word."""
        place = self.place(word)
        return self._nearest(self.directions[place], {place}, count)

    def analogy(self, a: str, b: str, c: str, count: int = 1) -> list[Near]:
        """What is to c as b is to a: argmax cos(b - a + c), the three left out."""
        given = [self.place(word) for word in (a, b, c)]
        first, second, third = self.directions[given]
        return self._nearest(second - first + third, set(given), count)

    def _nearest(self, direction: np.ndarray, without: set[int], count: int) -> list[Near]:
        cosines = self.directions @ (direction / max(float(np.linalg.norm(direction)), 1e-12))
        order = np.argsort(-cosines, kind="stable")[: count + len(without)].tolist()
        return [Near(self.words[one], float(cosines[one])) for one in order if one not in without][:count]

    def answer(self, sections: Mapping[str, Iterable[Sequence[str]]]) -> dict[str, SectionScore]:
        """How many analogies of each section are right: rows of four words, of which the last is the answer."""
        found = {}
        for name, rows in sections.items():
            right = asked = left_out = 0
            for a, b, c, wanted in rows:
                try:
                    answer, place = self.analogy(a, b, c), self.place(wanted)
                except ValueError:  # a word without a vector
                    left_out += 1
                    continue
                asked += 1
                right += bool(answer) and self.places[answer[0].word] == place
            found[name] = SectionScore(right, asked, left_out)
        return found

    def plane(self, words: Sequence[str]) -> SentenceProjection:
        """Words as points in the plane in which their vectors differ most; `plot` draws them.

        Raises:
            ValueError: fewer than two words, or one without a vector.
        """
        if len(words) < 2:
            raise ValueError(f"{len(words)} words; a plane needs two words at least")
        rows = self.vectors[[self.place(word) for word in words]].astype(np.float64)
        points, explained = principal_plane(rows)
        return SentenceProjection(tuple(words), points, explained)


def read_questions(path: str | PathLike[str]) -> dict[str, list[tuple[str, str, str, str]]]:
    """Analogies of a file as word2vec's `questions-words.txt`: `: section` begins one, four words a line.

    Raises:
        ValueError: no such file, a line of another number of words, or no question at all.
    """
    from pathlib import Path

    if not Path(path).is_file():
        raise ValueError(f"no such file of questions: {path}")
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    name = "all"
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        words = line.split()
        if line.startswith(":"):
            name = line[1:].strip()
        elif len(words) == 4:
            sections.setdefault(name, []).append((words[0], words[1], words[2], words[3]))
        elif words:
            raise ValueError(
                f"line {number} of {path} has {len(words)} words; an analogy has four, a section begins ':'"
            )
    if not sections:
        raise ValueError(f"{path} holds no analogy; give four words a line")
    return sections
