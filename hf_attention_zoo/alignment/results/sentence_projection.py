"""Sentence vectors in two dimensions, as figure 2 of Sutskever et al. (2014) and figure 5 of Cho et al. (2014).

For models whose encoder ends in one vector of fixed size. The plane is that of the first two principal components: the
two directions along which the vectors of these sentences differ most. Shapes: N sentences, D size of their vectors.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import torch

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.records import written
from hf_attention_zoo.registry import get_architecture, list_architectures
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode
from hf_attention_zoo.seq2seq.source_text import checked_texts, encode_sources, pad_sources


@dataclass(frozen=True)
class SentenceProjection:
    """Sentences as points of a plane.

    Attributes:
        texts: N sentences.
        points: (N, 2), the mean of the vectors at the origin.
        explained: shares of the vectors' variance along the two directions.
    """

    texts: tuple[str, ...]
    points: np.ndarray
    explained: tuple[float, float]

    def plot(self, path: str | PathLike[str] | None = None, *, title: str | None = None, dpi: int = 160) -> Any:
        """The picture, see `plot_sentences`."""
        return drawing("plot_sentences")(self, path, title=title, dpi=dpi)

    def _repr_png_(self) -> bytes:
        return drawing("figure_png")(self.plot())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Texts, coordinates and explained shares; also written to `path` if given."""
        rows = [{"text": text, "x": x, "y": y} for text, (x, y) in zip(self.texts, self.points.tolist(), strict=True)]
        made = json.dumps({"explained": list(self.explained), "sentences": rows}, ensure_ascii=False, indent=2)
        return written(made, path, end="\n")


@torch.no_grad()
def sentence_vectors(
    model: Any, tokenizer: Any, texts: str | Sequence[str], *, batch_size: int = 64, **choices: Any
) -> torch.Tensor:
    """The vectors that the encoder makes of sentences: (N, D), in float32, on the CPU.

    Args:
        model: one with a method `sentence_vectors`.
        tokenizer: its tokenizer.
        texts: one sentence or several.
        batch_size: sentences at a time.
        choices: for the model's method, such as `part="top"` of the LSTM.

    Raises:
        ValueError: for a model whose encoder does not end in one vector, or texts that are no strings.
    """
    if not hasattr(model, "sentence_vectors"):
        raise ValueError(
            f"{type(model).__name__} makes no vector of a sentence: its decoder looks at all positions of the source. "
            f"Models with one: {', '.join(models_with_vectors())}"
        )
    texts = checked_texts(texts)
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}")
    sentences = encode_sources(model, tokenizer, texts)
    made = []
    with evaluation_mode(model):
        for first in range(0, len(sentences), batch_size):
            inputs = pad_sources(tokenizer, sentences[first : first + batch_size], model.device)
            made.append(model.sentence_vectors(**inputs, **choices).float().cpu())
    return torch.cat(made) if made else torch.empty(0, 0)


def models_with_vectors() -> list[str]:
    """The architectures whose encoder ends in one vector."""
    names = [row.model_type for row in list_architectures()]
    return [
        name
        for name in names
        if any(hasattr(made, "sentence_vectors") for made in get_architecture(name).model_classes.values())
    ]


def project_sentences(
    model: Any, tokenizer: Any, texts: Sequence[str], *, batch_size: int = 64, **choices: Any
) -> SentenceProjection:
    """Sentences in the plane of the first two principal components of their vectors.

    Args:
        model, tokenizer, batch_size, choices: as for `sentence_vectors`.
        texts: at least two that differ.

    Raises:
        ValueError: for fewer, vectors that are all the same, or what `sentence_vectors` refuses.
    """
    texts = checked_texts(texts)
    if len(set(texts)) < 2:
        raise ValueError(
            f"{len(set(texts))} different sentences span no plane; give at least two, better five or more"
        )
    vectors = sentence_vectors(model, tokenizer, texts, batch_size=batch_size, **choices)
    points, explained = principal_plane(vectors.double().numpy())
    return SentenceProjection(tuple(texts), points, explained)


def principal_plane(vectors: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Coordinates along the first two principal components: (N, D) -> (N, 2), and their shares of the variance.

    Of the two signs that a component may have, the one that makes its largest weight positive.

    Raises:
        ValueError: if all vectors are the same, or not all numbers are finite.
    """
    if not np.isfinite(vectors).all():
        raise ValueError("the sentence vectors are not all finite numbers; is the model trained?")
    centred = vectors - vectors.mean(0)
    _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
    total = float((lengths**2).sum())
    if total <= 1e-12 * float((vectors**2).sum()):
        raise ValueError("all sentences have the same vector; there is nothing to draw")
    plane = np.zeros((2, vectors.shape[1]))
    plane[: len(directions[:2])] = directions[:2]
    plane *= np.where(plane[np.arange(2), np.abs(plane).argmax(1)] < 0, -1.0, 1.0)[:, None]
    shares = [float(length**2) / total for length in lengths[:2]] + [0.0]
    return centred @ plane.T, (shares[0], shares[1])
