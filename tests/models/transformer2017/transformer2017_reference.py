"""The Transformer's equations in NumPy, one sentence, one head and one position after the other.

Written from the paper's formulas; shares no code with the model. Weights come under the names of the model's state
dictionary, matrices as torch keeps them (out, in).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

Array = np.ndarray
Weights = Mapping[str, Array]


def position(p: int, size: int, layout: str) -> Array:
    """PE(p) of one position."""
    vector = np.zeros(size)
    for i in range(size // 2):
        if layout == "tensor2tensor":
            angle = p / 10000 ** (i / (size // 2 - 1))
        else:
            angle = p / 10000 ** (2 * i / size)
        places = (2 * i, 2 * i + 1) if layout == "sinusoidal" else (i, size // 2 + i)
        vector[places[0]], vector[places[1]] = math.sin(angle), math.cos(angle)
    return vector


def linear(w: Weights, name: str, x: Array) -> Array:
    made = w[f"{name}.weight"] @ x
    return made + w[f"{name}.bias"] if f"{name}.bias" in w else made


def normed(w: Weights, name: str, x: Array, epsilon: float) -> Array:
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    return w[f"{name}.weight"] * (x - mean) / math.sqrt(variance + epsilon) + w[f"{name}.bias"]


def attention(
    w: Weights, name: str, queries: list[Array], memory: list[Array], heads: int, causal: bool
) -> tuple[list[Array], Array]:
    """MultiHead(Q, K, V) of lists of vectors, and the weights (heads, queries, memory)."""
    weights = np.zeros((heads, len(queries), len(memory)))
    made = []
    for t, query in enumerate(queries):
        parts = []
        for head in range(heads):
            q = np.split(linear(w, f"{name}.q_proj", query), heads)[head]
            allowed = [j for j in range(len(memory)) if not causal or j <= t]
            keys = [np.split(linear(w, f"{name}.k_proj", memory[j]), heads)[head] for j in allowed]
            values = [np.split(linear(w, f"{name}.v_proj", memory[j]), heads)[head] for j in allowed]
            scores = [float(q @ key) / math.sqrt(len(q)) for key in keys]
            powers = [math.exp(score - max(scores)) for score in scores]
            share = [power / sum(powers) for power in powers]
            parts.append(sum(a * value for a, value in zip(share, values, strict=True)))
            weights[head, t, allowed] = share
        made.append(linear(w, f"{name}.o_proj", np.concatenate(parts)))
    return made, weights


def feed_forward(w: Weights, name: str, x: Array) -> Array:
    return linear(w, f"{name}.linear_2", np.maximum(0.0, linear(w, f"{name}.linear_1", x)))


def run(
    w: Weights, source: list[int], target: list[int], layers: int, heads: int, epsilon: float, layout: str
) -> dict[str, Array | list[Array]]:
    """Logits (T, V) and all attention weights of one sentence pair without padding."""
    size = w["model.encoder.embed_tokens.weight"].shape[1]
    found: dict[str, Array | list[Array]] = {"encoder": [], "decoder": [], "cross": []}

    def embedded(side: str, ids: list[int]) -> list[Array]:
        table = w[f"model.{side}.embed_tokens.weight"]
        if layout == "learned":
            rows = w[f"model.{side}.positions.table.weight"]
            return [math.sqrt(size) * table[word] + rows[p] for p, word in enumerate(ids)]
        return [math.sqrt(size) * table[word] + position(p, size, layout) for p, word in enumerate(ids)]

    def added(name: str, states: list[Array], changes: list[Array]) -> list[Array]:
        pairs = zip(states, changes, strict=True)
        return [normed(w, f"{name}_residual.norm", x + change, epsilon) for x, change in pairs]

    states = embedded("encoder", source)
    for layer in range(layers):
        name = f"model.encoder.layers.{layer}"
        mixed, weights = attention(w, f"{name}.self_attention", states, states, heads, causal=False)
        found["encoder"].append(weights)
        states = added(f"{name}.self_attention", states, mixed)
        changes = [feed_forward(w, f"{name}.feed_forward", x) for x in states]
        states = added(f"{name}.feed_forward", states, changes)
    memory, states = states, embedded("decoder", target)
    for layer in range(layers):
        name = f"model.decoder.layers.{layer}"
        mixed, weights = attention(w, f"{name}.self_attention", states, states, heads, causal=True)
        found["decoder"].append(weights)
        states = added(f"{name}.self_attention", states, mixed)
        mixed, weights = attention(w, f"{name}.cross_attention", states, memory, heads, causal=False)
        found["cross"].append(weights)
        states = added(f"{name}.cross_attention", states, mixed)
        changes = [feed_forward(w, f"{name}.feed_forward", x) for x in states]
        states = added(f"{name}.feed_forward", states, changes)
    found["logits"] = np.stack([linear(w, "lm_head", x) for x in states])
    return found
