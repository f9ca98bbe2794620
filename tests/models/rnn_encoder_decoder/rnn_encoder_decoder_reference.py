"""The RNN encoder-decoder written straight from the equations: NumPy, one phrase and one position at a time.

It shares no code with the model. Letters are the paper's; a letter with "d" in front is the decoder's, which has a
prime there. Every function works on complex numbers too, so that derivatives can be taken by a complex step: the
imaginary part of f(x + i h d) / h is the derivative along d, exact to rounding because nothing is subtracted.
"""

from __future__ import annotations

import numpy as np

Letters = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted = x - x[np.argmax(x.real)]
    return shifted - np.log(np.sum(np.exp(shifted)))


def encoder_state(p: Letters, x: np.ndarray, h: np.ndarray, form: str) -> np.ndarray:
    """h_t: both forms reset before U; they differ in what z = 1 means."""
    r = sigmoid(p["Wr"] @ x + p["br"] + p["Ur"] @ h)
    z = sigmoid(p["Wz"] @ x + p["bz"] + p["Uz"] @ h)
    candidate = np.tanh(p["W"] @ x + p["b"] + p["U"] @ (r * h))
    return z * h + (1 - z) * candidate if form == "paper" else (1 - z) * h + z * candidate


def decoder_state(p: Letters, y: np.ndarray, h: np.ndarray, c: np.ndarray, form: str) -> np.ndarray:
    """h'_t."""
    r = sigmoid(p["dWr"] @ y + p["dbr"] + p["dUr"] @ h + p["Cr"] @ c)
    z = sigmoid(p["dWz"] @ y + p["dbz"] + p["dUz"] @ h + p["Cz"] @ c)
    if form == "paper":
        candidate = np.tanh(p["dW"] @ y + p["db"] + r * (p["dU"] @ h + p["C"] @ c))
        return z * h + (1 - z) * candidate
    candidate = np.tanh(p["dW"] @ y + p["db"] + p["dU"] @ (r * h) + p["C"] @ c)
    return (1 - z) * h + z * candidate


def summary(p: Letters, source: list[int], form: str) -> np.ndarray:
    """c."""
    h = np.zeros(p["U"].shape[0], p["E_x"].dtype)
    for word in source:
        h = encoder_state(p, p["E_x"][word] + p["b_x"], h, form)
    return np.tanh(p["V"] @ h + p["bV"]) if form == "paper" else h


def speak(p: Letters, h: np.ndarray, y: np.ndarray, c: np.ndarray) -> np.ndarray:
    """G s_t."""
    pieces = p["O_h"] @ h + p["O_y"] @ y + p["O_c"] @ c + p["bO"]
    units = []
    for k in range(len(pieces) // 2):
        first, second = pieces[2 * k], pieces[2 * k + 1]
        units.append(first if first.real >= second.real else second)
    return p["G"] @ np.array(units) + p["bG"]


def decode(p: Letters, source: list[int], previous: list[int], form: str) -> list[np.ndarray]:
    """Logits of each target position; of `previous`, y_0 says nothing."""
    c = summary(p, source, form)
    h = np.tanh(p["dV"] @ c + p["bdV"])
    logits = []
    for t, word in enumerate(previous):
        y = p["E_y"][word] + p["b_y"] if t > 0 else np.zeros_like(p["E_y"][0])
        if t > 0 or form == "paper":
            h = decoder_state(p, y, h, c, form)
        logits.append(speak(p, h, y, c))
    return logits


def log_probability(p: Letters, source: list[int], target: list[int], form: str) -> complex:
    """log p(target | source)."""
    logits = decode(p, source, [-1, *target[:-1]], form)
    return sum(log_softmax(row)[word] for row, word in zip(logits, target, strict=True))


def mean_loss(p: Letters, pairs: list[tuple[list[int], list[int]]], form: str) -> complex:
    """Mean of -log p over all target words of all pairs."""
    total = sum(log_probability(p, source, target, form) for source, target in pairs)
    return -total / sum(len(target) for _, target in pairs)


def paper_letters(state: dict[str, np.ndarray]) -> Letters:
    """The tensors of `RNNEncoderDecoderForConditionalGeneration.state_dict()` under the paper's letters."""
    zero = np.zeros(1, state["lm_head.weight"].dtype)
    encoder, decoder = "model.encoder", "model.decoder"
    letters: Letters = {}
    for prime, unit in (("", f"{encoder}.unit"), ("d", f"{decoder}.unit")):
        n = state[f"{unit}.candidate_weight"].shape[0]
        bias = state.get(f"{unit}.bias", zero[:0])
        bias = np.concatenate([np.zeros(3 * n - len(bias), bias.dtype), bias])
        for k, gate in enumerate(("z", "r", "")):
            rows = slice(k * n, (k + 1) * n)
            letters[f"{prime}W{gate}"], letters[f"{prime}b{gate}"] = state[f"{unit}.input_weight"][rows], bias[rows]
            if prime:
                letters[f"C{gate}"] = state[f"{unit}.context_weight"][rows]
        letters[f"{prime}Uz"], letters[f"{prime}Ur"] = np.split(state[f"{unit}.gate_weight"], 2)
        letters[f"{prime}U"] = state[f"{unit}.candidate_weight"]
    for letter, bias, name in (("V", "bV", f"{encoder}.summarise"), ("dV", "bdV", f"{decoder}.initial_state")):
        if f"{name}.weight" in state:
            letters[letter], letters[bias] = state[f"{name}.weight"], state.get(f"{name}.bias", zero)
    g = state["lm_head.weight"]
    factor = state.get(f"{decoder}.output_factor.weight")
    return letters | {
        "E_x": state[f"{encoder}.embed_tokens.weight"],
        "b_x": state.get(f"{encoder}.embedding_bias", zero),
        "E_y": state[f"{decoder}.embed_tokens.weight"],
        "b_y": state.get(f"{decoder}.embedding_bias", zero),
        "O_h": state[f"{decoder}.readout.projections.0.weight"],
        "O_y": state[f"{decoder}.readout.projections.1.weight"],
        "O_c": state[f"{decoder}.readout.projections.2.weight"],
        "bO": state.get(f"{decoder}.readout.projections.0.bias", zero),
        "G": g if factor is None else g @ factor,
        "bG": state.get("lm_head.bias", zero),
    }
