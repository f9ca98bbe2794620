"""The learning rate of Bengio et al. (2003): it falls with the inverse of time, so slowly that it hardly does."""

from __future__ import annotations


def inverse_time_factor(done: int, decay: float) -> float:
    """1 / (1 + decay t), the factor on the learning rate after t = `done` updates."""
    return 1.0 / (1.0 + decay * done)
