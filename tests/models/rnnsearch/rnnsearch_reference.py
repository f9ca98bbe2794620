"""RNNsearch written straight from the equations: NumPy, one sentence and one position at a time, no padding, no batch.

It shares no code with the model. Letters are the paper's. Every function works on complex numbers too, so that
derivatives can be taken by a complex step: the imaginary part of f(x + i h d) / h is the derivative along d, exact to
rounding because nothing is subtracted.
"""

from __future__ import annotations

import numpy as np

Letters = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x[np.argmax(x.real)]
    return shifted - np.log(np.sum(np.exp(shifted)))


def gated_unit(p: Letters, unit: str, x: np.ndarray, h: np.ndarray, c: np.ndarray | None = None) -> np.ndarray:
    """A.1.1 and A.2: z = 1 takes the new state, r acts on the state before the matrix."""

    def affine(gate: str) -> np.ndarray:
        value = p[f"{unit}.W{gate}"] @ x + p[f"{unit}.b{gate}"]
        return value if c is None else value + p[f"{unit}.C{gate}"] @ c

    z = sigmoid(affine("z") + p[f"{unit}.Uz"] @ h)
    r = sigmoid(affine("r") + p[f"{unit}.Ur"] @ h)
    candidate = np.tanh(affine("") + p[f"{unit}.U"] @ (r * h))
    return (1 - z) * h + z * candidate


def annotations(p: Letters, source: list[int]) -> list[np.ndarray]:
    """h_j = [forward h_j; backward h_j]."""
    n = p["forward.U"].shape[0]
    dtype = p["E_x"].dtype
    words = [p["E_x"][word] + p["b_x"] for word in source]
    forward, backward = [], []
    h = np.zeros(n, dtype)
    for x in words:
        h = gated_unit(p, "forward", x, h)
        forward.append(h)
    h = np.zeros(n, dtype)
    for x in reversed(words):
        h = gated_unit(p, "backward", x, h)
        backward.insert(0, h)
    return [np.concatenate(pair) for pair in zip(forward, backward, strict=True)]


def initial_state(p: Letters, hs: list[np.ndarray]) -> np.ndarray:
    """s_0 = tanh(W_s backward h_1)."""
    n = p["W_s"].shape[0]
    return np.tanh(p["W_s"] @ hs[0][n:] + p["b_s"])


def align(p: Letters, state: np.ndarray, hs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """alpha_i and c_i."""
    energies = [p["v_a"] @ np.tanh(p["W_a"] @ state + p["U_a"] @ h + p["b_a"]) for h in hs]
    alpha = np.exp(log_softmax(np.array(energies)))
    return alpha, sum(a * h for a, h in zip(alpha, hs, strict=True))


def speak(p: Letters, state: np.ndarray, word: np.ndarray, context: np.ndarray) -> np.ndarray:
    """Logits of y_i: deep output with one maxout layer."""
    pieces = p["U_o"] @ state + p["V_o"] @ word + p["C_o"] @ context + p["b_o"]
    units = []
    for k in range(len(pieces) // 2):
        first, second = pieces[2 * k], pieces[2 * k + 1]
        units.append(first if first.real >= second.real else second)
    return p["W_o"] @ np.array(units) + p["b_y"]


def decode(
    p: Letters, source: list[int], previous: list[int], timing: str
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Logits and alignments of each target position; `previous` holds y_0 (the start symbol), y_1, ..."""
    hs = annotations(p, source)
    state = initial_state(p, hs)
    logits, alphas = [], []
    if timing == "groundhog":
        context = None
        for i, y in enumerate(previous):
            if i == 0:
                word = np.zeros_like(p["E_y"][0])  # nothing precedes the first word
            else:
                word = p["E_y"][y] + p["b_w"]
                state = gated_unit(p, "decoder", word, state, context)
            alpha, context = align(p, state, hs)
            logits.append(speak(p, state, word, context))
            alphas.append(alpha)
        return logits, alphas
    for y in previous:
        word = p["E_y"][y] + p["b_w"]
        alpha, context = align(p, state, hs)
        following = gated_unit(p, "decoder", word, state, context)
        logits.append(speak(p, {"paper": following, "appendix": state}[timing], word, context))
        alphas.append(alpha)
        state = following
    return logits, alphas


def mean_loss(p: Letters, pairs: list[tuple[list[int], list[int]]], start: int, timing: str) -> complex:
    """Mean of -log p over all target words of all pairs."""
    total, words = 0.0, 0
    for source, target in pairs:
        logits, _ = decode(p, source, [start, *target[:-1]], timing)
        for row, word in zip(logits, target, strict=True):
            total = total - log_softmax(row)[word]
            words += 1
    return total / words


def summary_vector_decode(p: Letters, source: list[int], previous: list[int]) -> list[np.ndarray]:
    """RNNenc (A.2.2): c_i is the last forward state for all i, and s_0 comes from it too.

    Of each context matrix only the columns that meet the forward half exist here.
    """
    n = p["forward.U"].shape[0]
    h = np.zeros(n, p["E_x"].dtype)
    for word in source:
        h = gated_unit(p, "forward", p["E_x"][word] + p["b_x"], h)
    narrow = dict(p)
    for name in ("decoder.C", "decoder.Cz", "decoder.Cr", "C_o"):
        narrow[name] = p[name][:, :n]
    state = np.tanh(p["W_s"] @ h + p["b_s"])
    logits = []
    for y in previous:
        word = p["E_y"][y] + p["b_w"]
        state = gated_unit(narrow, "decoder", word, state, h)
        logits.append(speak(narrow, state, word, h))
    return logits


def paper_letters(state: dict[str, np.ndarray]) -> Letters:
    """The tensors of `RNNsearchForConditionalGeneration.state_dict()` under the paper's letters."""
    letters: Letters = {}
    dtype = state["lm_head.weight"].dtype

    def unit(name: str, prefix: str) -> None:
        n = state[f"{prefix}.candidate_weight"].shape[0]
        stacked = {"W": state[f"{prefix}.input_weight"]}
        if f"{prefix}.context_weight" in state:
            stacked["C"] = state[f"{prefix}.context_weight"]
        bias = state.get(f"{prefix}.bias", np.zeros(0, dtype))
        stacked["b"] = np.concatenate([np.zeros(3 * n - len(bias), dtype), bias])
        for letter, matrix in stacked.items():
            for k, gate in enumerate(("z", "r", "")):
                letters[f"{name}.{letter}{gate}"] = matrix[k * n : (k + 1) * n]
        letters[f"{name}.Uz"], letters[f"{name}.Ur"] = np.split(state[f"{prefix}.gate_weight"], 2)
        letters[f"{name}.U"] = state[f"{prefix}.candidate_weight"]

    unit("forward", "model.encoder.reader.forward_unit")
    unit("backward", "model.encoder.reader.backward_unit")
    unit("decoder", "model.decoder.unit")
    decoder = "model.decoder"
    letters |= {
        "E_x": state["model.encoder.embed_tokens.weight"],
        "b_x": state.get("model.encoder.embedding_bias", np.zeros(1, dtype)),
        "E_y": state[f"{decoder}.embed_tokens.weight"],
        "b_w": state.get(f"{decoder}.embedding_bias", np.zeros(1, dtype)),
        "W_s": state[f"{decoder}.initial_state.weight"],
        "b_s": state.get(f"{decoder}.initial_state.bias", np.zeros(1, dtype)),
        "W_a": state[f"{decoder}.attention.query_projection.weight"],
        "U_a": state[f"{decoder}.attention.key_projection.weight"],
        "b_a": state.get(f"{decoder}.attention.key_projection.bias", np.zeros(1, dtype)),
        "v_a": state[f"{decoder}.attention.score_vector"],
        "U_o": state[f"{decoder}.readout.projections.0.weight"],
        "V_o": state[f"{decoder}.readout.projections.1.weight"],
        "C_o": state[f"{decoder}.readout.projections.2.weight"],
        "b_o": state.get(f"{decoder}.readout.projections.0.bias", np.zeros(1, dtype)),
        "W_o": state["lm_head.weight"],
        "b_y": state.get("lm_head.bias", np.zeros(1, dtype)),
    }
    if f"{decoder}.output_factor.weight" in state:  # the factorised output layer is one matrix of lower rank
        letters["W_o"] = state["lm_head.weight"] @ state[f"{decoder}.output_factor.weight"]
    return letters
