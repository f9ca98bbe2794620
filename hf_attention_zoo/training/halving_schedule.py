"""The learning rate of Sutskever et al. (2014) and Luong et al. (2015): constant, then halved at intervals."""

from __future__ import annotations

import math


def halving_factor(epoch: float, first: float, every: float) -> float:
    """The factor on the learning rate after so many epochs.

    1 before `first`; 1/2 from there on, 1/4 from `first + every` on, and so forth.

    Args:
        epoch: epochs done, with fractions.
        first: when the rate is halved for the first time.
        every: epochs between two halvings.
    """
    if epoch < first - 1e-9:  # steps are whole, epochs are not: a rounding error is not a step
        return 1.0
    return 0.5 ** (math.floor((epoch - first) / every + 1e-9) + 1)
