"""One sentence pair and its alignment matrix, as a plain value that can be drawn, saved and read back.

Shapes: S source tokens, T target tokens. Row t of the weights belongs to target token t (the paper's alpha_t) and says
how much each source token contributed to the context vector from which that token was predicted, or, in models whose
state has read the word before it attends (Luong's content-based scores), to the one after.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.joined_words import averaged, joins, labels, summed
from hf_attention_zoo.alignment.results.records import exact, read_fields, written
from hf_attention_zoo.tokenization.word_groups import Words, checked_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIELDS = ("source_text", "target_text", "source_tokens", "target_tokens", "weights")
WORD_FIELDS = ("source_words", "target_words")


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The attention of one translation, token by token, without padding.

    Args:
        source_tokens: S readable source tokens, end-of-sentence mark included where the tokenizer adds one.
        target_tokens: T readable target tokens, end-of-sentence mark included where the search reached it.
        weights: (T, S) array of attention weights; kept as float32 and read-only.
        source_text: the sentence as it was given.
        target_text: the translation as plain text.
        source_words, target_words: the words that the tokens are pieces of, in order, each with how many tokens it
            takes; None where every token is a word. Pictures and pages show words (`words`).

    Raises:
        ValueError: the weights are no finite matrix of T rows and S columns, a token is no string, or words take
            more or fewer tokens than there are.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: np.ndarray
    source_text: str = ""
    target_text: str = ""
    source_words: Words | None = None
    target_words: Words | None = None

    def __post_init__(self) -> None:
        source, target = _token_tuple(self.source_tokens, "source"), _token_tuple(self.target_tokens, "target")
        try:
            weights = np.array(self.weights, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"weights must be a (target, source) matrix of numbers: {error}") from error
        if weights.size == 0 and weights.ndim < 2:
            weights = weights.reshape(len(target), len(source)) if not (target and source) else weights
        if weights.shape != (len(target), len(source)):
            raise ValueError(
                f"weights have shape {weights.shape}, but there are {len(target)} target and {len(source)} source "
                f"tokens: rows are target tokens and columns are source tokens"
            )
        if not np.isfinite(weights).all():
            raise ValueError("weights contain NaN or infinity; an alignment needs finite numbers")
        for name in ("source_text", "target_text"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a string, got {type(getattr(self, name)).__name__}")
        weights.flags.writeable = False
        fields: dict[str, Any] = {"source_tokens": source, "target_tokens": target, "weights": weights}
        fields["source_words"] = checked_words(self.source_words, source, "source")
        fields["target_words"] = checked_words(self.target_words, target, "target")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Alignment):
            return NotImplemented
        texts = ("source_tokens", "target_tokens", "source_text", "target_text", "source_words", "target_words")
        return all(getattr(self, name) == getattr(other, name) for name in texts) and np.array_equal(
            self.weights, other.weights
        )

    def __repr__(self) -> str:
        rows, columns = self.weights.shape
        return f"Alignment({self.source_text!r} -> {self.target_text!r}, weights {rows} x {columns})"

    def best_sources(self) -> list[int]:
        """For each target token the index of the source token with the largest weight (the first of equals)."""
        return [int(row.argmax()) for row in self.weights] if self.source_tokens else []

    def words(self) -> "Alignment":
        """The alignment of words: what a tokenizer cut into pieces is one column, or one row, again.

        Weights are summed over the pieces of a source word and averaged over those of a target word, so rows sum to
        what they did. An alignment whose tokens are words is returned as it is.
        """
        if not (joins(self.source_words) or joins(self.target_words)):
            return self
        source = self.source_words or tuple((token, 1) for token in self.source_tokens)
        target = self.target_words or tuple((token, 1) for token in self.target_tokens)
        weights = averaged(summed(self.weights, source), target)
        return Alignment(labels(source), labels(target), weights, self.source_text, self.target_text)

    def plot(self, path: str | PathLike[str] | None = None, *, pieces: bool = False, **options: Any) -> "Figure":
        """Draw the matrix as in figure 3 of Bahdanau et al. (2015): target words down, source words across the top.

        White is 1, black is 0. Nothing global in matplotlib is changed and no display is needed.

        Args:
            path: file to write; its suffix (.png, .svg or .pdf) chooses the format. Missing folders are made.
            pieces: draw the tokens as they are, in place of words (`words`).
            options: `title` (a line above the picture), `cell_inches` and `dpi`, see `plot_alignment`.

        Returns:
            The matplotlib figure, written or not.

        Raises:
            ValueError: another suffix, or nothing to draw.
        """
        return drawing("plot_alignment")(self if pieces else self.words(), path, **options)

    def to_html(self, path: str | PathLike[str] | None = None, *, pieces: bool = False) -> str:
        """A self-contained page with the matrix of words, or of tokens if `pieces` are wanted."""
        return written(drawing("alignment_page")(self if pieces else self.words()), path)

    def _repr_html_(self) -> str:
        return drawing("alignment_fragment")(self.words())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """A JSON object with the fields, by token; `from_json` gives back an equal alignment, to the last bit."""
        record = {name: getattr(self, name) for name in FIELDS}
        record |= {name: getattr(self, name) for name in WORD_FIELDS if getattr(self, name) is not None}
        record["weights"] = [exact(row) for row in self.weights]
        return written(json.dumps(record, ensure_ascii=False), path, end="\n")

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> "Alignment":
        """Read what `to_json` wrote.

        Args:
            source: the JSON text itself, or the path of a file that holds it.

        Raises:
            ValueError: the text is no JSON object with these fields; those of words may be missing.
        """
        return cls(**read_fields(source, FIELDS, "an alignment", "; write it with to_json()", WORD_FIELDS))


def _token_tuple(tokens: Sequence[str], side: str) -> tuple[str, ...]:
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise ValueError(f"{side}_tokens must be a list of strings, got {tokens!r:.80}")
    return tuple(tokens)
