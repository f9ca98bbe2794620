"""ELMo in loops over single words, characters and steps, from the equations alone; nothing is shared with it.

Everything is NumPy in float64. Weights come as a dictionary of the model's names.
"""

from __future__ import annotations

import numpy as np

Weights = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def characters_of(word: str) -> list[int]:
    """50 ids: begin, bytes, end, padding; all 1 more than in the authors' files."""
    if word == "<S>":
        return [259, 257, 260] + [261] * 47
    if word == "</S>":
        return [259, 258, 260] + [261] * 47
    numbers = [byte + 1 for byte in word.encode("utf-8")]
    numbers = [259, *numbers[:48], 260]
    while len(numbers) < 50:
        numbers.append(261)
    return numbers


def word_vector(weights: Weights, ids: list[int], filters: list[list[int]], highways: int) -> np.ndarray:
    """x of one word."""
    table = weights["characters.embedding.weight"]
    embedded = [table[number - 1] for number in ids]
    found = []
    for index, (width, count) in enumerate(filters):
        kernel = weights[f"characters.convolutions.{index}.weight"]  # (count, size, width)
        bias = weights[f"characters.convolutions.{index}.bias"]
        for unit in range(count):
            best = -np.inf
            for start in range(len(embedded) - width + 1):
                total = bias[unit]
                for offset in range(width):
                    total = total + kernel[unit, :, offset] @ embedded[start + offset]
                best = max(best, total)
            found.append(max(best, 0.0))
    g = np.array(found)
    for index in range(highways):
        name = f"characters.highways.{index}"
        gate = sigmoid(weights[f"{name}.carry.weight"] @ g + weights[f"{name}.carry.bias"])
        made = np.maximum(weights[f"{name}.transform.weight"] @ g + weights[f"{name}.transform.bias"], 0.0)
        g = gate * made + (1.0 - gate) * g
    return weights["characters.projection.weight"] @ g + weights["characters.projection.bias"]


def lstm(weights: Weights, name: str, inputs: list[np.ndarray], clips: tuple[float, float]) -> list[np.ndarray]:
    """One layer of one direction, in the order in which the inputs come."""
    projection = weights[f"{name}.projection_weight"]
    size = projection.shape[1]
    hidden, cell = np.zeros(len(projection)), np.zeros(size)
    states = []
    for x in inputs:
        gates = weights[f"{name}.input_weight"] @ x + weights[f"{name}.recurrent_weight"] @ hidden
        gates = gates + weights[f"{name}.bias"]
        i, f, j, o = (gates[k * size : (k + 1) * size] for k in range(4))
        cell = np.clip(sigmoid(f + 1.0) * cell + sigmoid(i) * np.tanh(j), -clips[0], clips[0])
        hidden = np.clip(projection @ (sigmoid(o) * np.tanh(cell)), -clips[1], clips[1])
        states.append(hidden)
    return states


def layers_of(
    weights: Weights,
    words: list[str],
    filters: list[list[int]],
    highways: int,
    depth: int,
    clips: tuple[float, float],
    residual: bool = True,
) -> list[list[np.ndarray]]:
    """h_{k,j} of `<S>`, the words and `</S>`: a list of layers, each a list of vectors."""
    tokens = ["<S>", *words, "</S>"]
    vectors = [word_vector(weights, characters_of(word), filters, highways) for word in tokens]
    layers = [[np.concatenate([x, x]) for x in vectors]]
    forwards, backwards = vectors, vectors
    for layer in range(depth):
        up = lstm(weights, f"layers.{layer}.forward_lstm", forwards, clips)
        down = lstm(weights, f"layers.{layer}.backward_lstm", backwards[::-1], clips)[::-1]
        if layer and residual:
            up = [new + old for new, old in zip(up, forwards, strict=True)]
            down = [new + old for new, old in zip(down, backwards, strict=True)]
        forwards, backwards = up, down
        layers.append([np.concatenate(pair) for pair in zip(up, down, strict=True)])
    return layers


def mixed(layers: list[list[np.ndarray]], scalars: np.ndarray, gamma: float) -> list[np.ndarray]:
    """Eq. 1 at every token."""
    shares = np.exp(scalars) / np.exp(scalars).sum()
    return [
        gamma * sum(share * layer[k] for share, layer in zip(shares, layers, strict=True))
        for k in range(len(layers[0]))
    ]


def negative_log_likelihoods(
    top: list[np.ndarray], softmax: np.ndarray, bias: np.ndarray, targets: list[int]
) -> tuple[list[float], list[float]]:
    """-log p of each target of the forward and of the backward model; `targets` are those of all tokens."""

    def loss(state: np.ndarray, target: int) -> float:
        scores = softmax @ state + bias
        return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[target])

    half = len(top[0]) // 2
    forwards = [loss(top[k][:half], targets[k + 1]) for k in range(len(top) - 1)]
    backwards = [loss(top[k][half:], targets[k - 1]) for k in range(1, len(top))]
    return forwards, backwards
