"""Two language models mixed: at every token a share of one's probability and the rest of the other's.

    p(w | h) = (1 - a) p_model(w | h) + a p_counted(w | h)

Bengio et al. 2003 take halves of their network and a trigram, and see that a mixture is always better than either.
"""

from __future__ import annotations

import numpy as np


def mixed(model: np.ndarray, counted: np.ndarray, weight: float) -> np.ndarray:
    """log p of each token in the mixture, from those of the two, in nats.

    Args:
        weight: a, the share of `counted`, above 0 and below 1.

    Raises:
        ValueError: another weight, or models of other tokens.
    """
    if not 0 < weight < 1:
        raise ValueError(f"weight={weight}; a share is above 0 and below 1")
    if model.shape != counted.shape:
        raise ValueError(f"the models are of other tokens: {model.shape} and {counted.shape}")
    return np.logaddexp(np.log1p(-weight) + model, np.log(weight) + counted)


def fitted_weight(model: np.ndarray, counted: np.ndarray, iterations: int = 100) -> float:
    """The share of `counted` that makes held-out text likeliest, by expectation and maximisation from a half.

    An iteration takes the mean of how much of each token is due to `counted`; none makes the text less likely.
    """
    weight = 0.5
    for _ in range(iterations):
        due = np.log(weight) + counted - mixed(model, counted, weight)
        weight = float(np.clip(np.exp(due).mean(), 1e-6, 1 - 1e-6))
    return weight
