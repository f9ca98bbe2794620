"""The attention of a classified document: how much each sentence counted, and each word within its sentence.

Yang et al. (2016) draw a document with the weight of each sentence in red and that of each word in blue, the latter
multiplied by the square root of the former: important words of important sentences stand out, and those of other
sentences stay visible. A weight is not importance by itself: `word_weights` has a command that drops a word and looks.

Shapes: S sentences, T_i words of sentence i. Padding and empty sentences are left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.joined_words import joins, labels, summed
from hf_attention_zoo.alignment.results.label_scores import best_label, scores_of_output
from hf_attention_zoo.alignment.results.records import exact, read_fields, written
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode
from hf_attention_zoo.tokenization.word_groups import Words, checked_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Document = str | Sequence[str]
FIELDS = ("sentences", "word_weights", "sentence_weights", "scores", "label")


@dataclass(frozen=True, eq=False, repr=False)
class DocumentAttention:
    """One document, the weights of its sentences and words, and what the model made of it.

    Args:
        sentences: S sentences of T_i words each, as they are written.
        word_weights: S arrays (T_i), each of which sums to 1.
        sentence_weights: (S), sums to 1; kept as float32 and read-only, as are those of the words.
        scores: label -> probability (a value, for a regression).
        label: the predicted label.
        whole_words: for each sentence the words that its tokens are pieces of, in order, each with how many it takes;
            None where every token is a word.

    Raises:
        ValueError: weights that do not fit the words or are not finite.
    """

    sentences: tuple[tuple[str, ...], ...]
    word_weights: tuple[np.ndarray, ...]
    sentence_weights: np.ndarray
    scores: Mapping[str, float]
    label: str
    whole_words: tuple[Words, ...] | None = None

    def __post_init__(self) -> None:
        sentences = tuple(tuple(sentence) for sentence in self.sentences)
        words = tuple(np.array(weights, dtype=np.float32) for weights in self.word_weights)
        of_sentences = np.array(self.sentence_weights, dtype=np.float32).reshape(-1)
        shapes = [weights.shape for weights in words]
        if shapes != [(len(sentence),) for sentence in sentences] or of_sentences.shape != (len(sentences),):
            raise ValueError(
                f"{len(sentences)} sentences of {[len(sentence) for sentence in sentences]} words have "
                f"{of_sentences.shape[0]} sentence weights and word weights of shapes {shapes}; one for each is wanted"
            )
        for weights in (*words, of_sentences):
            if not np.isfinite(weights).all():
                raise ValueError("weights contain NaN or infinity; finite numbers are wanted")
            weights.flags.writeable = False
        for name, value in (("sentences", sentences), ("word_weights", words), ("sentence_weights", of_sentences)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "scores", dict(self.scores))
        if self.whole_words is not None:
            pairs = zip(self.whole_words, sentences, strict=True)
            checked = tuple(checked_words(joined, tokens, "whole") for joined, tokens in pairs)
            object.__setattr__(self, "whole_words", checked)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DocumentAttention):
            return NotImplemented
        return (
            (self.sentences, self.scores, self.label, self.whole_words)
            == (other.sentences, other.scores, other.label, other.whole_words)
            and np.array_equal(self.sentence_weights, other.sentence_weights)
            and all(map(np.array_equal, self.word_weights, other.word_weights))
        )

    def __repr__(self) -> str:
        words = sum(map(len, self.sentences))
        return f"DocumentAttention({self.label!r}, {len(self.sentences)} sentences, {words} words)"

    def words(self) -> "DocumentAttention":
        """The document in words: the weights of the pieces of a word are summed."""
        if self.whole_words is None or not any(map(joins, self.whole_words)):
            return self
        weights = tuple(map(summed, self.word_weights, self.whole_words))
        return DocumentAttention(
            tuple(map(labels, self.whole_words)), weights, self.sentence_weights, self.scores, self.label
        )

    def word_strengths(self) -> list[np.ndarray]:
        """sqrt(p_s) p_w of each word, sentence by sentence: what the blue of the picture shows."""
        return [
            np.sqrt(share) * weights for share, weights in zip(self.sentence_weights, self.word_weights, strict=True)
        ]

    def top_words(self, count: int = 5) -> list[tuple[str, float]]:
        """The words of the largest p_s p_w, which sums to 1 over the document; the first of equals first."""
        shares = [
            (word, float(share * weight))
            for sentence, share, weights in zip(self.sentences, self.sentence_weights, self.word_weights, strict=True)
            for word, weight in zip(sentence, weights, strict=True)
        ]
        return sorted(shares, key=lambda entry: -entry[1])[:count]

    def plot(self, path: str | PathLike[str] | None = None, *, pieces: bool = False, **options: Any) -> "Figure":
        """Draw the document as in figures 5 and 6 of Yang et al.; the darkest red and blue are the largest weights.

        Args:
            path: file to write, .png, .svg or .pdf. Missing folders are made.
            pieces: draw the tokens as they are, in place of words (`words`).
            options: `title`, `width_inches`, `font_size` and `dpi`, see `plot_document`.

        Raises:
            ValueError: another suffix, or a document without words.
        """
        return drawing("plot_document")(self if pieces else self.words(), path, **options)

    def to_html(self, path: str | PathLike[str] | None = None, *, pieces: bool = False) -> str:
        """A self-contained page of words, or of tokens if `pieces` are wanted, with the weight of each."""
        return written(drawing("document_page")(self if pieces else self.words()), path)

    def _repr_html_(self) -> str:
        return drawing("document_fragment")(self.words())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """A JSON object with the five fields; `from_json` gives back an equal one, to the last bit."""
        record = {
            "label": self.label,
            "scores": dict(self.scores),
            "sentences": [list(sentence) for sentence in self.sentences],
            "sentence_weights": exact(self.sentence_weights),
            "word_weights": [exact(weights) for weights in self.word_weights],
        }
        if self.whole_words is not None:
            record["whole_words"] = self.whole_words
        return written(json.dumps(record, ensure_ascii=False), path, end="\n")

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> "DocumentAttention":
        """Read what `to_json` wrote: the JSON text itself, or the path of a file that holds it.

        Raises:
            ValueError: the text is no JSON object with the five fields.
        """
        record = read_fields(source, FIELDS, "a document's attention", optional=("whole_words",))
        return cls(**record)


@torch.no_grad()
def align_documents(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Document | Sequence[Document],
    *,
    batch_size: int = 16,
    max_sentences: int | None = None,
    max_words: int | None = None,
) -> list[DocumentAttention]:
    """Classify documents and return each with the weights of its sentences and words.

    Args:
        texts: one text or several; a document whose sentences are known is a list of them, in a list of documents.
        batch_size: documents at a time.
        max_sentences, max_words: limits for this call, in place of the tokenizer's.

    Returns:
        One `DocumentAttention` per document, in order.

    Raises:
        ValueError: something that is no document, or a model that gives no weights to words.
    """
    documents = [texts] if isinstance(texts, str) else list(texts)
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}; give 1 or more")
    limits = {"max_sentences": max_sentences, "max_words": max_words}
    found: list[DocumentAttention] = []
    with evaluation_mode(model):
        for start in range(0, len(documents), batch_size):
            batch = documents[start : start + batch_size]
            # weights are read off from the left, wherever the tokenizer puts its pads
            encoded = tokenizer(batch, return_tensors="pt", padding_side="right", **limits).to(model.device)
            read = model(**encoded, output_attentions=True)
            words, sentences = (weights.float().cpu().numpy() for weights in read.attentions)
            scores = scores_of_output(model, read, len(batch))
            for row, document in enumerate(batch):
                read_as = tokenizer.surface_with_words(document, **limits)
                written = [tokens for tokens, _ in read_as]
                found.append(
                    DocumentAttention(
                        sentences=tuple(map(tuple, written)),
                        word_weights=tuple(words[row, i, : len(line)] for i, line in enumerate(written)),
                        sentence_weights=sentences[row, : len(written)],
                        scores=scores[row],
                        label=best_label(scores[row]),
                        whole_words=tuple(joined for _, joined in read_as),
                    )
                )
    return found
