"""The attention of several heads of one layer over one sentence or sentence pair, as a plain value.

Drawn in two columns of tokens joined by lines, as figures 3 to 5 of Vaswani et al. (2017) show which words a word
looks at across a long distance. Shapes: h heads, T attending tokens, S attended tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_attention_zoo.alignment.results.aligned import WORD_FIELDS, Alignment
from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.joined_words import averaged, joins, labels, summed
from hf_attention_zoo.alignment.results.records import exact, json_text, written
from hf_attention_zoo.tokenization.word_groups import Words, checked_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class HeadAlignment:
    """Weights of the heads of one layer, token by token, without padding.

    Args:
        source_tokens: S readable tokens that are attended to.
        target_tokens: T readable tokens that attend.
        weights: (h, T, S); kept as float32 and read-only.
        heads: the number of each head in its layer; 0, 1, ... if not given.
        kind: "cross", "encoder" or "decoder".
        layer: the number of the layer, counted from 0 as heads are, or "mean".
        source_text, target_text: the sentence as it was given, and the translation.
        source_words, target_words: the words that the tokens are pieces of, as an `Alignment` has them.

    Raises:
        ValueError: sizes that do not fit, or weights that are not finite.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: np.ndarray
    heads: tuple[int, ...] = ()
    kind: str = "cross"
    layer: int | str = 0
    source_text: str = ""
    target_text: str = ""
    source_words: Words | None = None
    target_words: Words | None = None

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float32)
        source, target = tuple(self.source_tokens), tuple(self.target_tokens)
        if weights.ndim != 3 or weights.shape[1:] != (len(target), len(source)) or not len(weights):
            raise ValueError(
                f"weights have shape {weights.shape}, but there are {len(target)} attending and {len(source)} "
                "attended tokens: give (heads, attending tokens, attended tokens)"
            )
        if not np.isfinite(weights).all():
            raise ValueError("weights contain NaN or infinity; attention needs finite numbers")
        heads = tuple(self.heads or range(len(weights)))
        if len(heads) != len(weights):
            raise ValueError(f"{len(heads)} head numbers for the weights of {len(weights)} heads")
        weights.flags.writeable = False
        fields: dict[str, Any] = {"source_tokens": source, "target_tokens": target, "weights": weights, "heads": heads}
        fields["source_words"] = checked_words(self.source_words, source, "source")
        fields["target_words"] = checked_words(self.target_words, target, "target")
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"HeadAlignment({self.kind}, layer {self.layer}, heads {list(self.heads)}, "
            f"{len(self.target_tokens)} x {len(self.source_tokens)})"
        )

    def head(self, number: int) -> Alignment:
        """The matrix of one head, by its number in the layer.

        Raises:
            ValueError: its weights are not here.
        """
        if number not in self.heads:
            raise ValueError(f"there is no head {number} here; there are {', '.join(map(str, self.heads))}")
        return self._matrix(self.weights[self.heads.index(number)])

    def mean(self) -> Alignment:
        """The matrix averaged over the heads."""
        return self._matrix(self.weights.mean(0))

    def _matrix(self, weights: np.ndarray) -> Alignment:
        words = (self.source_words, self.target_words)
        return Alignment(self.source_tokens, self.target_tokens, weights, self.source_text, self.target_text, *words)

    def words(self) -> HeadAlignment:
        """The heads between words: weights summed over the pieces of a source word, averaged over a target word's."""
        if not (joins(self.source_words) or joins(self.target_words)):
            return self
        source = self.source_words or tuple((token, 1) for token in self.source_tokens)
        target = self.target_words or tuple((token, 1) for token in self.target_tokens)
        weights = averaged(summed(self.weights, source), target, axis=1)
        texts = (self.source_text, self.target_text)
        return HeadAlignment(labels(source), labels(target), weights, self.heads, self.kind, self.layer, *texts)

    def rows_of(self, token: int | str | Iterable[int | str] | None) -> list[int]:
        """Places of the attending tokens that are asked for: by place, by the word itself, several, or all.

        Raises:
            ValueError: there is no such token.
        """
        if token is None:
            return list(range(len(self.target_tokens)))
        wanted = [token] if isinstance(token, (int, str)) else list(token)
        rows: list[int] = []
        for one in wanted:
            if isinstance(one, str):
                found = [row for row, text in enumerate(self.target_tokens) if text.strip("▁␣ ") == one.strip("▁␣ ")]
            else:
                found = [one % len(self.target_tokens)] if abs(one) <= len(self.target_tokens) else []
            if not found:
                raise ValueError(f"no attending token is {one!r}; there are: {' '.join(self.target_tokens)}")
            rows += found
        return list(dict.fromkeys(rows))

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        token: int | str | Iterable[int | str] | None = None,
        pieces: bool = False,
        **options: Any,
    ) -> Figure:
        """Draw two columns of tokens joined by lines, one colour a head, the darker the larger the weight.

        Args:
            path: file to write, .png, .svg or .pdf; None only returns the figure.
            token: attending words to draw lines from, by place or by text; all if not given.
            pieces: draw the tokens as they are, in place of words (`words`); `token` names one of them then.
            options: `title`, `least_weight` (lines below it are left out), `dpi`; see `plot_columns`.

        Raises:
            ValueError: another suffix, no such token, or nothing to draw.
        """
        shown = self if pieces else self.words()
        return drawing("plot_columns")(shown, path, rows=shown.rows_of(token), **options)

    def to_html(self, path: str | PathLike[str] | None = None, *, pieces: bool = False) -> str:
        """A self-contained page with the heads over words, or over tokens if `pieces` are wanted."""
        return written(drawing("columns_page")(self if pieces else self.words()), path)

    def _repr_html_(self) -> str:
        return drawing("columns_fragment")(self.words())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """A JSON object with all fields; `from_json` gives back equal weights, to the last bit."""
        record: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("kind", "layer", "source_text", "target_text", "source_tokens", "target_tokens", "heads")
        }
        record |= {name: getattr(self, name) for name in WORD_FIELDS if getattr(self, name) is not None}
        record["weights"] = [[exact(row) for row in matrix] for matrix in self.weights]
        return written(json.dumps(record, ensure_ascii=False), path, end="\n")

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> HeadAlignment:
        """Read what `to_json` wrote: the text itself, or the path of a file that holds it.

        Raises:
            ValueError: the text is no JSON object with these fields.
        """
        text = json_text(source)
        try:
            return cls(**json.loads(text))
        except (json.JSONDecodeError, TypeError) as error:
            raise ValueError(f"not the JSON of attention heads: {error}; write it with to_json()") from error


def check_heads(heads: Sequence[int] | str | int) -> None:
    """A list of heads holds one number at least, or ValueError."""
    if not isinstance(heads, (str, int)) and not list(heads):
        raise ValueError("head is an empty list; name heads, or give 'all'")


def head_numbers(heads: Sequence[int] | str | int) -> tuple[int, ...]:
    """The heads of a list that `check_heads` passed; none for a word that means all of them."""
    return () if isinstance(heads, (str, int)) else tuple(heads)
