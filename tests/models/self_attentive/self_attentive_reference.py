"""The self-attentive model written straight from the equations: NumPy, one text, row and number at a time, no padding.

It shares no code with the model. Letters are the paper's. Every function works on complex numbers too, so that
derivatives can be taken by a complex step (the imaginary part of f(x + i h d) / h is the derivative along d).
"""

from __future__ import annotations

import numpy as np

Letters = dict[str, np.ndarray]
Text = list[int]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(x.real > 0, x, 0)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x[np.argmax(x.real)])
    return e / np.sum(e)


def lstm(p: Letters, side: str, words: list[np.ndarray]) -> list[np.ndarray]:
    """One direction over the words in the order given."""
    size = p[f"V_{side}"].shape[1]
    h, c = np.zeros(size, words[0].dtype), np.zeros(size, words[0].dtype)
    states = []
    for w in words:
        z = p[f"W_{side}"] @ w + p[f"V_{side}"] @ h + p[f"b_{side}"]
        i, f, g, o = z[:size], z[size : 2 * size], z[2 * size : 3 * size], z[3 * size :]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return states


def read(p: Letters, text: Text) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H (n, 2u), A (r, n), M (r, 2u) of one text."""
    hops, width = p["W_s2"].shape[0], p["W_s1"].shape[1]
    kind = np.result_type(*p.values())
    if not text:
        return np.zeros((0, width), kind), np.zeros((hops, 0), kind), np.zeros((hops, width), kind)
    words = [p["E"][word] for word in text]
    forwards, backwards = lstm(p, "f", words), lstm(p, "b", words[::-1])[::-1]
    h = np.array([np.concatenate([a, b]) for a, b in zip(forwards, backwards, strict=True)])
    a = np.array([softmax(np.array([row @ np.tanh(p["W_s1"] @ state) for state in h])) for row in p["W_s2"]])
    m = np.array([sum(weight * state for weight, state in zip(row, h, strict=True)) for row in a])
    return h, a, m


def penalty(a: np.ndarray, squared: bool = True) -> np.ndarray:
    """P from its second form: what the rows share, and how far each is from length 1."""
    if not a.shape[1]:
        return np.zeros((), a.dtype)
    total = sum((x @ x - 1) ** 2 for x in a)
    total = total + sum((a[i] @ a[j]) ** 2 for i in range(len(a)) for j in range(len(a)) if i != j)
    return total if squared else np.sqrt(total)


def logits(p: Letters, texts: list[Text]) -> np.ndarray:
    matrices = [read(p, text)[2] for text in texts]
    if len(texts) == 2:
        premise, hypothesis = matrices
        rows = [(hypothesis[i] @ p["W_fh"][i]) * (premise[i] @ p["W_fp"][i]) for i in range(len(premise))]
        m = np.array(rows)
    else:
        (m,) = matrices
    if "W_1" in p:
        units = relu(p["W_1"] @ np.concatenate(list(m)) + p["b_1"])
    else:
        by_row = [relu(m[i] @ p["V"][i] + p["c"][i]) for i in range(m.shape[0])]
        by_column = [relu(m[:, j] @ p["Q"][j] + p["d"][j]) for j in range(m.shape[1])]
        units = np.concatenate([*by_row, *by_column])
    return p["W_2"] @ units + p["b_2"]


def loss(
    p: Letters, rows: list[list[Text]], labels: list[int], coefficient: float, squared: bool = True
) -> np.ndarray:
    """Cross entropy as a mean over rows, and for each place in a row the mean of P over the texts that have a word."""
    total = 0.0
    for texts, label in zip(rows, labels, strict=True):
        total = total - np.log(softmax(logits(p, texts))[label]) / len(rows)
    for place in range(len(rows[0])):
        found = [penalty(read(p, texts[place])[1], squared) for texts in rows if texts[place]]
        total = total + coefficient * sum(found) / max(1, len(found))
    return total


def paper_letters(state: Letters) -> Letters:
    """The tensors of `SelfAttentiveForSequenceClassification.state_dict()` under the paper's letters."""
    names = {
        "model.embed_tokens.weight": "E",
        "model.attention.key_projection.weight": "W_s1",
        "model.attention.hops.weight": "W_s2",
        "gated.premise.weight": "W_fp",
        "gated.hypothesis.weight": "W_fh",
        "connection.linear.weight": "W_1",
        "connection.linear.bias": "b_1",
        "connection.row_weight": "V",
        "connection.row_bias": "c",
        "connection.column_weight": "Q",
        "connection.column_bias": "d",
        "classifier.weight": "W_2",
        "classifier.bias": "b_2",
    }
    for side, module in (("f", "forward_lstm"), ("b", "backward_lstm")):
        names |= {
            f"model.lstm.{module}.input_weight": f"W_{side}",
            f"model.lstm.{module}.recurrent_weight": f"V_{side}",
            f"model.lstm.{module}.bias": f"b_{side}",
        }
    assert state.keys() <= names.keys()
    return {names[name]: tensor for name, tensor in state.items()}
