"""Show, Attend and Tell written straight from the equations: NumPy, one picture and one region at a time, no padding.

It shares no code with the model. Letters are the paper's. Every function works on complex numbers too, so that
derivatives can be taken by a complex step (the imaginary part of f(x + i h d) / h is the derivative along d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Letters = dict[str, np.ndarray]


@dataclass
class Form:
    """What the config says, in the reference's own words."""

    attention_layers: int
    initial_layers: int
    output_layers: int
    gate: bool
    word: bool
    context: bool
    tanh: bool
    start: int


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(x.real > 0, x, 0)


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x[np.argmax(x.real)]
    return shifted - np.log(np.sum(np.exp(shifted)))


def letters_of(state: Letters) -> Letters:
    """The model's tensors under the paper's letters."""
    names = {
        "E": "model.decoder.embed_tokens.weight",
        "W1": "model.decoder.initial_state.shared.weight",
        "b1": "model.decoder.initial_state.shared.bias",
        "Wsh": "model.decoder.initial_state.hidden.weight",
        "bsh": "model.decoder.initial_state.hidden.bias",
        "Wsc": "model.decoder.initial_state.cell.weight",
        "bsc": "model.decoder.initial_state.cell.bias",
        "Watt": "model.decoder.attention.key_projection.weight",
        "batt": "model.decoder.attention.key_projection.bias",
        "Wd": "model.decoder.attention.query_projection.weight",
        "u": "model.decoder.attention.score_vector",
        "c": "model.decoder.attention.score_bias",
        "wbeta": "model.decoder.context_gate.weight",
        "bbeta": "model.decoder.context_gate.bias",
        "W": "model.decoder.unit.input_weight",
        "U": "model.decoder.unit.recurrent_weight",
        "Z": "model.decoder.unit.context_weight",
        "b": "model.decoder.unit.bias",
        "Lh": "model.decoder.deep_output.state_projection.weight",
        "bh": "model.decoder.deep_output.state_projection.bias",
        "Lz": "model.decoder.deep_output.context_projection.weight",
        "bz": "model.decoder.deep_output.context_projection.bias",
        "Lo": "lm_head.weight",
        "bo": "lm_head.bias",
    }
    letters = {letter: state[name] for letter, name in names.items() if name in state}
    for k in range(9):
        for letter, place in (("Watt", "attention.key_layers"), ("Lx", "deep_output.layers")):
            name = f"model.decoder.{place}.{k}"
            if f"{name}.weight" in state:
                letters[f"{letter}{k + 1}"], letters[f"{letter}b{k + 1}"] = (
                    state[f"{name}.weight"],
                    state[f"{name}.bias"],
                )
    return letters


def begin(p: Letters, regions: list[np.ndarray], form: Form) -> tuple[np.ndarray, np.ndarray]:
    mean = sum(regions) / len(regions)
    u = relu(p["W1"] @ mean + p["b1"]) if form.initial_layers == 2 else mean
    return np.tanh(p["Wsh"] @ u + p["bsh"]), np.tanh(p["Wsc"] @ u + p["bsc"])


def attend(p: Letters, regions: list[np.ndarray], h: np.ndarray, form: Form) -> np.ndarray:
    scores = []
    for a in regions:
        projected = p["Watt"] @ a + p["batt"]
        for k in range(1, form.attention_layers):
            projected = np.tanh(p[f"Watt{k}"] @ projected + p[f"Wattb{k}"])
        scores.append(p["u"] @ np.tanh(projected + p["Wd"] @ h) + p["c"][0])
    return np.exp(log_softmax(np.array(scores)))


def unit(p: Letters, x: np.ndarray, h: np.ndarray, z: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One cell after the other; rows i, f, g, o."""
    size, new_h, new_c = len(h), [], []
    for k in range(size):
        i, f, g, o = (
            p["W"][row * size + k] @ x
            + p["U"][row * size + k] @ h
            + p["Z"][row * size + k] @ z
            + p["b"][row * size + k]
            for row in range(4)
        )
        new_c.append(sigmoid(f) * c[k] + sigmoid(i) * np.tanh(g))
        new_h.append(sigmoid(o) * np.tanh(new_c[-1]))
    return np.array(new_h), np.array(new_c)


def tell(
    p: Letters, regions: list[np.ndarray], previous: list[int], form: Form, looked: list[int] | None = None
) -> tuple[list[np.ndarray], list[np.ndarray], list[complex]]:
    """Log-probabilities, attention and gates of every step; `looked` are locations, in place of the expectation."""
    h, c = begin(p, regions, form)
    made, rows, gates = [], [], []
    for t, word in enumerate(previous):
        x = np.zeros_like(p["E"][0]) if word == form.start else p["E"][word]
        alpha = attend(p, regions, h, form)
        z = regions[looked[t]] if looked is not None else sum(w * a for w, a in zip(alpha, regions, strict=True))
        beta = sigmoid(p["wbeta"][0] @ h + p["bbeta"][0]) if form.gate else 1.0
        z = beta * z
        h, c = unit(p, x, h, z, c)
        o = p["Lh"] @ h + p["bh"]
        if form.word:
            o = o + x
        if form.context:
            o = o + p["Lz"] @ z + p["bz"]
        if form.tanh:
            o = np.tanh(o)
        for k in range(1, form.output_layers):
            o = relu(p[f"Lx{k}"] @ o + p[f"Lxb{k}"])
        made.append(log_softmax(p["Lo"] @ o + p["bo"]))
        rows.append(alpha)
        gates.append(beta)
    return made, rows, gates


def coverage(rows: list[np.ndarray]) -> complex:
    """Eq. 14 of one caption."""
    return sum((1 - sum(row[i] for row in rows)) ** 2 for i in range(len(rows[0])))


def entropy(rows: list[np.ndarray]) -> complex:
    return -sum(w * np.log(w) for row in rows for w in row)
