"""Scores of predicted labels, from counts: accuracy, F1, confusion; squared error and correlation for numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_attention_zoo.data.labels import MULTI_LABEL, REGRESSION, SINGLE_LABEL

# The numbers by which models are told apart, the usual one first; `loss` is that of the labels alone.
MEASURES = {
    SINGLE_LABEL: ("accuracy", "macro_f1", "loss"),
    MULTI_LABEL: ("micro_f1", "macro_f1", "accuracy", "loss"),
    REGRESSION: ("mse", "mae", "pearson", "loss"),
}


@dataclass(frozen=True)
class ClassScore:
    """How well one class is found."""

    name: str
    precision: float
    recall: float
    f1: float
    texts: int
    predicted: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, rounded."""
        scores = {name: round(float(getattr(self, name)), 4) for name in ("precision", "recall", "f1")}
        return {"name": self.name, **scores, "texts": self.texts, "predicted": self.predicted}


def confusion_matrix(
    labels: Sequence[int] | np.ndarray, predictions: Sequence[int] | np.ndarray, num_labels: int
) -> np.ndarray:
    """How many texts of class i (row) were taken for class j (column): (C, C) integers."""
    right, taken = np.asarray(labels, dtype=np.int64), np.asarray(predictions, dtype=np.int64)
    if right.shape != taken.shape or right.ndim != 1:
        raise ValueError(f"{taken.shape} predictions for {right.shape} labels: one class each is wanted")
    for name, values in (("label", right), ("prediction", taken)):
        if len(values) and (values.min() < 0 or values.max() >= num_labels):
            raise ValueError(f"a {name} is {values.min()} or {values.max()}; classes go from 0 to {num_labels - 1}")
    counts = np.bincount(right * num_labels + taken, minlength=num_labels * num_labels)
    return counts.reshape(num_labels, num_labels)


def class_scores(confusion: np.ndarray, names: Sequence[str]) -> list[ClassScore]:
    """Precision, recall and F1 of each class; 0 where nothing was found or nothing was there."""
    right, texts, predicted = np.diag(confusion), confusion.sum(1), confusion.sum(0)
    return [counted_score(name, *numbers) for name, *numbers in zip(names, right, texts, predicted, strict=True)]


def macro_f1(scores: Sequence[ClassScore]) -> float:
    """Mean F1 of the classes that occur or were predicted; a class that does neither counts nothing."""
    counted = [score.f1 for score in scores if score.texts or score.predicted]
    return float(np.mean(counted)) if counted else 0.0


def score_classes(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy and macro F1 of the highest of (N, C) logits against (N) classes."""
    confusion = confusion_matrix(labels, logits.argmax(1), logits.shape[1])
    scores = class_scores(confusion, [str(index) for index in range(logits.shape[1])])
    return {"accuracy": float(np.trace(confusion) / max(1, confusion.sum())), "macro_f1": macro_f1(scores)}


def score_class_sets(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Micro and macro F1 of the classes with a probability above one half, (N, C) logits and labels of 0 and 1.

    `accuracy` is the share of texts of which every class is right.
    """
    scores = set_scores(logits, labels, [str(index) for index in range(logits.shape[1])])
    predicted, wanted = logits > 0, np.asarray(labels) > 0.5
    right, found, there = (predicted & wanted).sum(), predicted.sum(), wanted.sum()
    return {
        "micro_f1": float(2 * right / (found + there)) if found + there else 0.0,
        "macro_f1": macro_f1(scores),
        "accuracy": float((predicted == wanted).all(1).mean()),
    }


def set_scores(logits: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> list[ClassScore]:
    """The scores of each class where a text may have several."""
    predicted, wanted = logits > 0, np.asarray(labels) > 0.5
    return [
        counted_score(name, right, texts, found)
        for name, right, texts, found in zip(
            names, (predicted & wanted).sum(0), wanted.sum(0), predicted.sum(0), strict=True
        )
    ]


def score_numbers(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Mean squared and absolute error and Pearson's correlation of (N) or (N, D) numbers; the last one's mean over D.

    The correlation of a constant is 0.
    """
    predicted = np.asarray(logits, dtype=np.float64).reshape(len(labels), -1)
    wanted = np.asarray(labels, dtype=np.float64).reshape(len(labels), -1)
    correlations = [_pearson(one, other) for one, other in zip(predicted.T, wanted.T, strict=True)]
    return {
        "mse": float(((predicted - wanted) ** 2).mean()),
        "mae": float(np.abs(predicted - wanted).mean()),
        "pearson": float(np.mean(correlations)),
    }


SCORERS: dict[str, Callable[[np.ndarray, np.ndarray], dict[str, float]]] = {
    SINGLE_LABEL: score_classes,
    MULTI_LABEL: score_class_sets,
    REGRESSION: score_numbers,
}


def mean_loss(logits: np.ndarray, labels: np.ndarray, problem_type: str) -> float:
    """The loss that the model is trained with, without smoothing and penalties: the mean over all labels, in nats."""
    scores = np.asarray(logits, dtype=np.float64)
    wanted = np.asarray(labels)
    if problem_type == SINGLE_LABEL:
        highest = scores.max(1, keepdims=True)
        log_sum = highest[:, 0] + np.log(np.exp(scores - highest).sum(1))
        return float((log_sum - scores[np.arange(len(wanted)), wanted.astype(np.int64)]).mean())
    if problem_type == MULTI_LABEL:
        return float((np.maximum(scores, 0) - scores * wanted + np.log1p(np.exp(-np.abs(scores)))).mean())
    return score_numbers(scores, wanted)["mse"]


def counted_score(name: str, right: int, texts: int, predicted: int) -> ClassScore:
    """The scores of a class that `texts` have and `predicted` were given, `right` of them rightly."""
    precision = right / predicted if predicted else 0.0
    recall = right / texts if texts else 0.0
    f1 = 2 * right / (texts + predicted) if texts + predicted else 0.0
    return ClassScore(name, precision, recall, f1, int(texts), int(predicted))


def _pearson(one: np.ndarray, other: np.ndarray) -> float:
    one, other = one - one.mean(), other - other.mean()
    norm = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / norm) if norm > 0 else 0.0
