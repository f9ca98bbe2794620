"""Luong's models written straight from the equations: NumPy, one sentence and one position at a time, no padding.

It shares no code with the model. Letters are the paper's. Every function works on complex numbers too, so that
derivatives can be taken by a complex step (the imaginary part of f(x + i h d) / h is the derivative along d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Letters = dict[str, np.ndarray]


@dataclass
class Choices:
    """What the config says, in the reference's own words."""

    score: str
    window: str
    feed: bool
    layers: int
    half_width: int
    end: int
    reads_end: bool = True
    reverse: bool = True


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x[np.argmax(x.real)]
    return shifted - np.log(np.sum(np.exp(shifted)))


def cell(w: np.ndarray, u: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One LSTM unit after the other; w is 4H x (inputs + H), rows i, f, g, o, on [u; h]."""
    size = len(h)
    both = np.concatenate([u, h])
    new_h, new_c = [], []
    for k in range(size):
        i, f, o = (sigmoid(w[row * size + k] @ both) for row in (0, 1, 3))
        g = np.tanh(w[2 * size + k] @ both)
        new_c.append(f * c[k] + i * g)
        new_h.append(o * np.tanh(new_c[-1]))
    return np.array(new_h), np.array(new_c)


def stack(p: Letters, side: str, u: np.ndarray, hs: list, cs: list) -> np.ndarray:
    """All layers, one step; hs and cs are changed. Gives the top state."""
    for layer in range(len(hs)):
        hs[layer], cs[layer] = cell(p[f"{side}{layer}"], u, hs[layer], cs[layer])
        u = hs[layer]
    return u


def encode(p: Letters, source: list[int], choices: Choices) -> tuple[list[np.ndarray], list, list]:
    """States at the places of the words that were read (None elsewhere), and the last h and c of every layer."""
    size = p["encoder0"].shape[0] // 4
    zero = np.zeros(size, p["E_s"].dtype)
    hs, cs = [zero] * choices.layers, [zero] * choices.layers
    states: list = [None] * len(source)
    ended = source[-1] == choices.end
    words = list(range(len(source) - 1 if ended else len(source)))
    order = words[::-1] if choices.reverse else words
    if ended and (choices.reads_end or not words):
        order = [*order, len(source) - 1]
    for place in order:
        states[place] = stack(p, "encoder", p["E_s"][source[place]], hs, cs)
    return states, hs, cs


def scores(p: Letters, h: np.ndarray, states: list[np.ndarray], choices: Choices) -> np.ndarray:
    made = []
    for place, s in enumerate(states):
        if choices.score == "dot":
            made.append(h @ s)
        elif choices.score == "general":
            made.append(h @ p["W_a"] @ s)
        elif choices.score == "concat":
            made.append(p["v_a"] @ np.tanh(p["W_a"] @ np.concatenate([h, s])))
        elif place < len(p["W_a"]):
            made.append(p["W_a"][place] @ h)
        else:
            made.append(-np.inf + 0 * h[0])
    return np.array(made)


def align(p: Letters, h: np.ndarray, t: int, states: list[np.ndarray], choices: Choices) -> np.ndarray:
    length, d = len(states), choices.half_width
    energy = scores(p, h, states, choices)
    if choices.window == "global":
        finite = np.isfinite(energy.real)
        a = np.zeros(length, energy.dtype)
        a[finite] = np.exp(log_softmax(energy[finite]))
        return a
    if choices.window == "local-m":
        centre = min(t, length - 1) + 0 * h[0]
    else:
        centre = length * sigmoid(p["v_p"] @ np.tanh(p["W_p"] @ h))
    inside = [s for s in range(length) if np.floor(centre.real) - d <= s <= np.floor(centre.real) + d]
    a = np.zeros(length, energy.dtype)
    for s, weight in zip(inside, np.exp(log_softmax(energy[inside])), strict=True):
        if choices.window == "local-p":
            weight = weight * np.exp(-((s - centre) ** 2) / (2 * (d / 2) ** 2))
        a[s] = weight
    return a


def decode(p: Letters, source: list[int], previous: list[int], choices: Choices) -> tuple[list, list]:
    """Logits of each target position, and alignments over all source places (0 where nothing was read)."""
    all_states, hs, cs = encode(p, source, choices)
    places = [place for place, s in enumerate(all_states) if s is not None]
    states = [all_states[place] for place in places]
    attentional = np.zeros(len(hs[0]), hs[0].dtype)
    logits, alignments = [], []
    for t, y in enumerate(previous):
        u = p["E_t"][y]
        if choices.feed:
            u = np.concatenate([u, attentional])
        h = stack(p, "decoder", u, hs, cs)
        a = align(p, h, t, states, choices)
        context = sum(weight * s for weight, s in zip(a, states, strict=True))
        attentional = np.tanh(p["W_c"] @ np.concatenate([context, h]))
        logits.append(p["W_s"] @ attentional)
        row = np.zeros(len(source), a.dtype)
        row[places] = a
        alignments.append(row)
    return logits, alignments


def mean_loss(p: Letters, pairs: list[tuple[list[int], list[int]]], start: int, choices: Choices) -> complex:
    """Mean of -log p over all target words of all pairs."""
    total, words = 0.0, 0
    for source, target in pairs:
        logits, _ = decode(p, source, [start, *target[:-1]], choices)
        for row, word in zip(logits, target, strict=True):
            total = total - log_softmax(row)[word]
            words += 1
    return total / words


def paper_letters(state: dict[str, np.ndarray], choices: Choices) -> Letters:
    """The tensors of `LuongForConditionalGeneration.state_dict()` under the paper's letters."""
    encoder, decoder = "model.encoder", "model.decoder"
    letters: Letters = {
        "E_s": state[f"{encoder}.embed_tokens.weight"],
        "E_t": state[f"{decoder}.embed_tokens.weight"],
        "W_c": state[f"{decoder}.attentional.weight"],
        "W_s": state["lm_head.weight"],
    }
    for layer in range(choices.layers):
        for side, prefix in (("encoder", encoder), ("decoder", decoder)):
            parts = [state[f"{prefix}.lstm.library.weight_ih_l{layer}"]]
            if side == "decoder" and layer == 0 and choices.feed:
                parts.append(state[f"{decoder}.lstm.feed_weight"])
            parts.append(state[f"{prefix}.lstm.library.weight_hh_l{layer}"])
            letters[f"{side}{layer}"] = np.concatenate(parts, axis=1)
    attention = f"{decoder}.attention" if choices.window == "global" else f"{decoder}.attention.mechanism"
    size = letters["W_c"].shape[0]
    if choices.score == "general":
        letters["W_a"] = state[f"{attention}.key_projection.weight"]
    elif choices.score == "concat":
        identity = np.eye(size, dtype=letters["W_c"].dtype)
        halves = (
            state[f"{attention}.query_projection.weight"],
            state.get(f"{attention}.key_projection.weight", identity),
        )
        letters["W_a"] = np.concatenate(halves, axis=1)
        letters["v_a"] = state[f"{attention}.score_vector"]
    elif choices.score == "location":
        letters["W_a"] = state[f"{attention}.location_projection.weight"]
    if choices.window == "local-p":
        letters["W_p"] = state[f"{decoder}.attention.position_projection.weight"]
        letters["v_p"] = state[f"{decoder}.attention.position_vector.weight"][0]
    return letters
