"""The deep LSTM written straight from the equations: NumPy, one sentence and one unit at a time, no padding.

It shares no code with the model. Every function works on complex numbers too, so that derivatives can be taken by a
complex step (the imaginary part of f(x + i h d) / h is the derivative along d).
"""

from __future__ import annotations

import numpy as np

Weights = dict[str, np.ndarray]
END = 3


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x[np.argmax(x.real)]
    return shifted - np.log(np.sum(np.exp(shifted)))


def cell(p: Weights, name: str, u: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One unit after the other; rows of W, R and b in the order i, f, g, o, peepholes in the order i, f, o."""
    w, r, b, peep = p[f"{name}.W"], p[f"{name}.R"], p[f"{name}.b"], p[f"{name}.p"]
    size = len(h)
    new_h, new_c = [], []
    for k in range(size):
        rows = [k, size + k, 2 * size + k, 3 * size + k]
        i, f, g, o = (w[row] @ u + r[row] @ h + b[row] for row in rows)
        i, f, g = sigmoid(i + peep[0, k] * c[k]), sigmoid(f + peep[1, k] * c[k]), np.tanh(g)
        new_c.append(f * c[k] + i * g)
        o = sigmoid(o + peep[2, k] * new_c[-1])
        new_h.append(o * np.tanh(new_c[-1]))
    return np.array(new_h), np.array(new_c)


def read(
    p: Weights, source: list[int], layers: int, reverse: bool = True, reads_end: bool = True
) -> tuple[list, list]:
    """h and c of every layer after x_T, ..., x_1, end symbol."""
    words, end = (source[:-1], [source[-1]]) if source[-1] == END else (source, [])
    words = words[::-1] if reverse else words
    order = [*words, *end] if reads_end or not words else words
    zero = np.zeros(len(p["encoder0.b"]) // 4, p["E_x"].dtype)
    hs, cs = [zero] * layers, [zero] * layers
    for word in order:
        u = p["E_x"][word]
        for k in range(layers):
            hs[k], cs[k] = cell(p, f"encoder{k}", u, hs[k], cs[k])
            u = hs[k]
    return hs, cs


def write(p: Weights, hs: list, cs: list, previous: list[int]) -> list[np.ndarray]:
    """Logits of each target position."""
    hs, cs, logits = list(hs), list(cs), []
    for y in previous:
        u = p["E_y"][y]
        for k in range(len(hs)):
            hs[k], cs[k] = cell(p, f"decoder{k}", u, hs[k], cs[k])
            u = hs[k]
        logits.append(p["W_s"] @ u + p["b_s"])
    return logits


def mean_loss(p: Weights, pairs: list[tuple[list[int], list[int]]], layers: int, **reading: bool) -> complex:
    """Mean of -log p over all target words of all pairs; decoding starts from symbol 2."""
    total, words = 0.0, 0
    for source, target in pairs:
        logits = write(p, *read(p, source, layers, **reading), [2, *target[:-1]])
        for row, word in zip(logits, target, strict=True):
            total = total - log_softmax(row)[word]
            words += 1
    return total / words


def named_weights(state: dict[str, np.ndarray], layers: int) -> Weights:
    """The tensors of `Seq2SeqLSTMForConditionalGeneration.state_dict()` under short names."""
    weights: Weights = {
        "E_x": state["model.encoder.embed_tokens.weight"],
        "E_y": state["model.decoder.embed_tokens.weight"],
        "W_s": state["lm_head.weight"],
    }
    dtype = weights["W_s"].dtype
    weights["b_s"] = state.get("lm_head.bias", np.zeros(len(weights["W_s"]), dtype))
    for side in ("encoder", "decoder"):
        for k in range(layers):
            prefix = f"model.{side}.lstm"
            w, r = state[f"{prefix}.library.weight_ih_l{k}"], state[f"{prefix}.library.weight_hh_l{k}"]
            bias = np.zeros(len(w), dtype)
            for name in (f"gate_biases.{k}", f"library.bias_ih_l{k}", f"library.bias_hh_l{k}"):
                bias = bias + state.get(f"{prefix}.{name}", 0)
            peephole = state.get(f"{prefix}.peepholes.{k}", np.zeros((3, len(w) // 4), dtype))
            weights |= {f"{side}{k}.W": w, f"{side}{k}.R": r, f"{side}{k}.b": bias, f"{side}{k}.p": peephole}
    return weights
