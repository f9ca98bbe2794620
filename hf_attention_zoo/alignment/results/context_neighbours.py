"""The nearest words of one word in its context, as in Table 4 of Peters et al. 2018: which sense does it have here?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from hf_attention_zoo.data.contextual_vectors import ContextualVectors, Text


@dataclass(frozen=True)
class Neighbour:
    """A word in a text of the collection, and its cosine with the word that was asked for."""

    word: str
    text: str
    cosine: float


@dataclass(frozen=True)
class Neighbours:
    """What stands nearest to one word of one text."""

    word: str
    text: str
    found: tuple[Neighbour, ...]


class NeighbourIndex:
    """All words of a collection of texts, by one layer.

    Args:
        vectors: of a frozen model.
        texts: the collection.
        layer: 0 for the words without context, 1 and up for the LSTMs', -1 for the last; "mix" for the mixed vectors.

    Raises:
        ValueError: no such layer, or a collection without words.
    """

    def __init__(self, vectors: ContextualVectors, texts: Sequence[Text], layer: int | str = -1) -> None:
        self.vectors, self.layer = vectors, layer
        self.words: list[tuple[str, int]] = []
        rows = []
        self.texts = [vectors.words_of(text) for text in texts]
        for number, (words, row) in enumerate(zip(self.texts, self._rows(self.texts), strict=True)):
            self.words += [(word, number) for word in words]
            rows.append(row)
        if not self.words:
            raise ValueError("the collection has no words; give texts to look for neighbours in")
        self.matrix = functional.normalize(torch.cat(rows), dim=-1)  # (words, H)

    def _rows(self, texts: Sequence[Text]) -> list[torch.Tensor]:
        if self.layer == "mix":
            return self.vectors.mixed(texts)
        found = self.vectors.layers(texts)
        count = self.vectors.model.config.num_hidden_layers + 1
        if not isinstance(self.layer, int) or not -count <= self.layer < count:
            raise ValueError(f"layer={self.layer!r}; give a number from 0 to {count - 1}, -1 for the last, or 'mix'")
        return [layers[self.layer].float() for layers in found]

    def nearest(self, text: Text, word: str, count: int = 3, other_words: bool = False) -> Neighbours:
        """The nearest words of `word` in `text`, each from a text of its own.

        Args:
            word: as it stands in the text; its first occurrence counts.
            other_words: leave out the same word elsewhere, whatever its case.

        Raises:
            ValueError: the text does not have the word; the message lists what it has.
        """
        words = self.vectors.words_of(text)
        if word not in words:
            raise ValueError(f"{word!r} is no word of {' '.join(words)!r}")
        asked = functional.normalize(self._rows([text])[0][words.index(word)], dim=-1)
        cosines = self.matrix @ asked
        seen = {tuple(words)}
        found: list[Neighbour] = []
        for place in cosines.argsort(descending=True).tolist():
            other, number = self.words[place]
            there = tuple(self.texts[number])
            if there in seen or (other_words and other.lower() == word.lower()):
                continue
            seen.add(there)
            found.append(Neighbour(other, " ".join(self.texts[number]), cosines[place].item()))
            if len(found) == count:
                break
        return Neighbours(word, " ".join(words), tuple(found))


def neighbour_table(rows: Sequence[Neighbours]) -> str:
    """The rows as text: the word in its text, and below it the nearest ones in theirs."""
    lines = []
    for row in rows:
        lines.append(f"{_marked(row.text, row.word)}")
        lines += [f"  {one.cosine:.3f}  {_marked(one.text, one.word)}" for one in row.found]
    return "\n".join(lines)


def _marked(text: str, word: str) -> str:
    """The text with its first such word in brackets."""
    words = text.split(" ")
    place = words.index(word) if word in words else None
    return " ".join(f"[{one}]" if number == place else one for number, one in enumerate(words))


def static_neighbours(vectors: ContextualVectors, texts: Sequence[Text], word: str, count: int = 5) -> list[Any]:
    """The nearest different words by what a word is without context (layer 0), and their cosines."""
    words = list(dict.fromkeys(one for text in texts for one in vectors.words_of(text)))
    if not words:
        raise ValueError("the collection has no words; give texts to look for neighbours in")
    rows = torch.cat([layers[0].float() for layers in vectors.layers([[one] for one in [*words, word]])])
    rows = functional.normalize(rows, dim=-1)
    cosines = rows[:-1] @ rows[-1]
    nearest = [place for place in cosines.argsort(descending=True).tolist() if words[place].lower() != word.lower()]
    return [(words[place], cosines[place].item()) for place in nearest[:count]]
