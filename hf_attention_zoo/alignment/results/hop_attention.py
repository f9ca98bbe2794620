"""The hops of structured self-attention over a classified text: each of them, and all together.

Lin et al. (2017, Section 2.3) draw the weights of every hop over the text, and their sum over the hops, scaled to 1.
Shapes: R hops, S tokens of a text. Padding is left out.
"""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.given_texts import Pair, as_pair, given_texts
from hf_attention_zoo.alignment.results.joined_words import joins, summed
from hf_attention_zoo.alignment.results.label_scores import best_label, scores_of_output
from hf_attention_zoo.alignment.results.records import exact, json_text, written
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode
from hf_attention_zoo.tokenization.word_groups import word_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class AttendedText:
    """One text and the weights of its tokens.

    Args:
        text: the text, composed (NFC).
        spans: S pairs (start, end) of characters of `text`, in order; start = end for a token that is a bare space.
        weights: (R, S), rows sum to 1; kept as float32 and read-only.

    Raises:
        ValueError: weights that do not fit the spans or are not finite.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    weights: np.ndarray

    def __post_init__(self) -> None:
        spans = tuple((int(start), int(end)) for start, end in self.spans)
        weights = np.array(self.weights, dtype=np.float32)
        if not spans and not weights.size:
            weights = weights.reshape(len(weights), 0)
        if weights.ndim != 2 or weights.shape[1] != len(spans):
            raise ValueError(f"weights of shape {weights.shape} for {len(spans)} tokens; (hops, tokens) is wanted")
        if not np.isfinite(weights).all():
            raise ValueError("weights contain NaN or infinity; finite numbers are wanted")
        ends = [0, *(end for _, end in spans)]
        if any(start < before or end < start for (start, end), before in zip(spans, ends, strict=False)) or (
            ends[-1] > len(self.text)
        ):
            raise ValueError(f"spans {spans!r:.80} do not follow one another inside a text of {len(self.text)}")
        weights.flags.writeable = False
        object.__setattr__(self, "spans", spans)
        object.__setattr__(self, "weights", weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AttendedText):
            return NotImplemented
        return (self.text, self.spans) == (other.text, other.spans) and np.array_equal(self.weights, other.weights)

    def __repr__(self) -> str:
        return f"AttendedText({self.text!r:.60}, {self.weights.shape[0]} hops, {len(self.spans)} tokens)"

    def words(self) -> "AttendedText":
        """The same with words in place of their pieces, whose weights are summed."""
        words = word_groups(self.text, self.spans, [False] * len(self.spans), self.tokens)
        if not joins(words):
            return self
        ends = list(accumulate(count for _, count in words))
        pairs = zip([0, *ends[:-1]], ends, strict=True)
        spans = tuple((self.spans[first][0], self.spans[last - 1][1]) for first, last in pairs)
        return AttendedText(self.text, spans, summed(self.weights, words))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The S tokens as they are written; a bare space as `␣`."""
        return tuple(self.text[start:end] or "␣" for start, end in self.spans)

    @property
    def summed(self) -> np.ndarray:
        """The weights of all hops together, scaled to sum to 1: (S)."""
        return self.weights.mean(0) if len(self.weights) else np.zeros(len(self.spans), np.float32)

    def top_words(self, count: int = 5) -> list[tuple[str, float]]:
        """The tokens with the largest summed weights; the first of equals first."""
        return sorted(zip(self.tokens, self.summed.tolist(), strict=True), key=lambda entry: -entry[1])[:count]


@dataclass(frozen=True, repr=False)
class HopAttention:
    """What a self-attentive model read of one text, or of both texts of a pair, and what it made of it.

    Args:
        texts: one `AttendedText`, or two.
        scores: label -> probability (a value, for a regression); empty for a model without labels.
        label: the predicted label; "" for a model without labels.
    """

    texts: tuple[AttendedText, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    label: str = ""

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        return f"HopAttention({self.label!r}, {', '.join(map(repr, self.texts))})"

    def words(self) -> "HopAttention":
        """The same with words in place of their pieces, whose weights are summed."""
        return replace(self, texts=tuple(one.words() for one in self.texts))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the first text."""
        return self.texts[0].tokens

    @property
    def weights(self) -> np.ndarray:
        """A of the first text, (R, S)."""
        return self.texts[0].weights

    @property
    def summed(self) -> np.ndarray:
        """Summed weights of the first text, (S)."""
        return self.texts[0].summed

    def plot(self, path: str | PathLike[str] | None = None, *, pieces: bool = False, **options: Any) -> "Figure":
        """Draw the summed weights as coloured text and below it the weights of every hop as a heat map.

        Args:
            path: file to write, .png, .svg or .pdf. Missing folders are made.
            pieces: draw the tokens as they are, in place of words (`words`).
            options: `hops` (False for the text alone), `title`, `width_inches`, `font_size`, `dpi`, see `plot_hops`.

        Raises:
            ValueError: another suffix, or no text with a token.
        """
        return drawing("plot_hops")(self if pieces else self.words(), path, **options)

    def to_html(self, path: str | PathLike[str] | None = None, *, pieces: bool = False) -> str:
        """A self-contained page: words (or tokens, if `pieces` are wanted) coloured by all hops, and by each."""
        return written(drawing("hops_page")(self if pieces else self.words()), path)

    def _repr_html_(self) -> str:
        return drawing("hops_fragment")(self.words())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """A JSON object; `from_json` gives back an equal one, to the last bit."""
        record = {
            "label": self.label,
            "scores": dict(self.scores),
            "texts": [
                {
                    "text": one.text,
                    "tokens": list(one.tokens),
                    "spans": [list(span) for span in one.spans],
                    "weights": [exact(row) for row in one.weights],
                }
                for one in self.texts
            ],
        }
        return written(json.dumps(record, ensure_ascii=False), path, end="\n")

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> "HopAttention":
        """Read what `to_json` wrote: the JSON text itself, or the path of a file that holds it.

        Raises:
            ValueError: the text is no such JSON.
        """
        text = json_text(source)
        try:
            record = json.loads(text)
            texts = tuple(AttendedText(one["text"], one["spans"], one["weights"]) for one in record["texts"])
            return cls(texts, record["scores"], record["label"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"not the JSON of a text's hops ({error}); write it with to_json()") from error


@torch.no_grad()
def align_hops(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Pair | Sequence[str | Pair],
    *,
    batch_size: int = 16,
    truncation: bool = False,
    max_length: int | None = None,
) -> list[HopAttention]:
    """Classify texts, or pairs of texts, and return each with the weights of every hop.

    Args:
        texts: one text or several; a pair is a tuple of two texts, or `{"text": ..., "text_pair": ...}` as pipelines
            take it.
        batch_size: texts at a time.
        truncation, max_length: as the tokenizer takes them.

    Returns:
        One `HopAttention` per text or pair, in order.

    Raises:
        ValueError: something that is neither a text nor a pair, or a pair for a model of single texts.
    """
    alone = isinstance(texts, str | Mapping | tuple)
    given = [as_pair(one) for one in ([texts] if alone else texts)]
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}; give 1 or more")
    limits = {"truncation": truncation, "max_length": max_length}
    found: list[HopAttention] = []
    with evaluation_mode(model):
        for begin in range(0, len(given), batch_size):
            batch = given[begin : begin + batch_size]
            rows = [tokenizer(*given_texts(pair), **limits) for pair in batch]
            encoded = tokenizer.pad(rows, return_tensors="pt").to(model.device)
            read = model(**encoded, output_attentions=True)
            scores = scores_of_output(model, read, len(batch))
            weights = [part[:, :, 0].float().cpu().numpy() for part in read.attentions]  # (B, R, S) of each text
            mask, second = (encoded[name].bool().cpu().numpy() for name in ("attention_mask", "token_type_ids"))
            for place, pair in enumerate(batch):
                attended = []
                written = tokenizer.surface(*given_texts(pair), **limits)
                for number, tokens in enumerate(written):
                    columns = mask[place] & (second[place] == bool(number))
                    attended.append(
                        AttendedText(
                            unicodedata.normalize("NFC", given_texts(pair)[number]),
                            tuple((token.start, token.end) for token in tokens),
                            weights[number][place][:, columns],
                        )
                    )
                found.append(HopAttention(tuple(attended), scores[place], best_label(scores[place])))
    return found
