"""The hierarchical attention network written straight from the equations: NumPy, loops, one word at a time.

It shares no code with the model. Documents are lists of sentences, sentences lists of ids, without any padding. Every
function works on complex numbers too, so that derivatives can be taken by a complex step: the imaginary part of
f(x + i h d) / h is the derivative along d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Letters = dict[str, np.ndarray]


@dataclass
class Result:
    """What one document gives."""

    logits: np.ndarray
    word_weights: list[np.ndarray]
    sentence_weights: np.ndarray
    document: np.ndarray


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gru_step(p: Letters, side: str, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Equations 1 to 4: z = 1 takes the new state, the reset gate stands before U h."""
    z = sigmoid(p[f"{side}.Wz"] @ x + p[f"{side}.Uz"] @ h + p[f"{side}.bz"])
    r = sigmoid(p[f"{side}.Wr"] @ x + p[f"{side}.Ur"] @ h + p[f"{side}.br"])
    candidate = np.tanh(p[f"{side}.Wh"] @ x + r * (p[f"{side}.Uh"] @ h) + p[f"{side}.bh"])
    return (1 - z) * h + z * candidate


def annotations(p: Letters, level: str, vectors: list[np.ndarray]) -> list[np.ndarray]:
    """[forward; backward] of each vector."""
    zero = np.zeros(p[f"{level}.f.Uh"].shape[0], p["We"].dtype)
    forwards, h = [], zero
    for x in vectors:
        h = gru_step(p, f"{level}.f", x, h)
        forwards.append(h)
    backwards, h = [], zero
    for x in reversed(vectors):
        h = gru_step(p, f"{level}.b", x, h)
        backwards.insert(0, h)
    return [np.concatenate(pair) for pair in zip(forwards, backwards, strict=True)]


def pooled(p: Letters, level: str, states: list[np.ndarray], pooling: str) -> tuple[np.ndarray, np.ndarray]:
    """Equations 5 to 7 and 8 to 10, or the mean, or the maximum."""
    if pooling == "max":
        columns = [max((state[k] for state in states), key=lambda value: value.real) for k in range(len(states[0]))]
        return np.array(columns), np.zeros(len(states))
    if pooling == "average":
        weights = np.full(len(states), 1 / len(states))
    else:
        scores = [np.tanh(p[f"{level}.W"] @ h + p[f"{level}.b"]) @ p[f"{level}.u"] for h in states]
        largest = max(score.real for score in scores)
        powers = [np.exp(score - largest) for score in scores]
        weights = np.array([power / sum(powers) for power in powers])
    total = np.zeros_like(states[0])
    for weight, state in zip(weights, states, strict=True):
        total = total + weight * state
    return total, weights


def read(p: Letters, document: list[list[int]], pooling: str) -> Result:
    """Everything for one document; sentences without words are no sentences."""
    vectors, word_weights = [], []
    for sentence in document:
        if not sentence:
            continue
        vector, weights = pooled(p, "word", annotations(p, "word", [p["We"][word] for word in sentence]), pooling)
        vectors.append(vector)
        word_weights.append(weights)
    if not vectors:
        nothing = np.zeros(2 * p["word.f.Uh"].shape[0])
        return Result(p["bc"], [], np.zeros(0), nothing)
    document_vector, weights = pooled(p, "sentence", annotations(p, "sentence", vectors), pooling)
    return Result(p["Wc"] @ document_vector + p["bc"], word_weights, weights, document_vector)


def loss(p: Letters, documents: list[list[list[int]]], labels: list[int], pooling: str) -> np.ndarray:
    """The mean of Eq. 12."""
    total = 0
    for document, label in zip(documents, labels, strict=True):
        logits = read(p, document, pooling).logits
        shifted = logits - np.max(logits.real)
        total = total - (shifted[label] - np.log(np.sum(np.exp(shifted))))
    return total / len(documents)
