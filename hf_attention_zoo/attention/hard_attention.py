"""Hard attention: one location per step, drawn, and the two penalties of a caption's attention (Xu et al. 2015).

    s_t ~ Multinoulli(alpha_t)                                                    Eq. 8
    context = sum_i s_ti a_i                                                      Eq. 9
    d/dW log p(y|s) + r (log p(y|s) - b) d/dW log p(s) + e d/dW H[s]              Eq. 11, 12, one sample per image
    b <- 0.9 b + 0.1 log p(y|s)                                                   the moving baseline
    sum_i (1 - sum_t alpha_ti)^2                                                  Eq. 14, doubly stochastic attention

Shapes: B images, T steps, L locations. Steps behind the end of a caption count nowhere.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def draw_locations(alignment: Tensor) -> Tensor:
    """One location for each row of weights: (..., L) -> one-hot (..., L) in the same dtype, without a gradient.

    A row of zeros, an image without a region, gives zeros.
    """
    flat = alignment.detach().float().reshape(-1, alignment.shape[-1])
    there = flat.sum(-1, keepdim=True) > 0
    drawn = torch.multinomial(torch.where(there, flat, torch.ones_like(flat)), 1)
    return (one_hot(drawn[:, 0], flat.shape[-1]) * there).view(alignment.shape).to(alignment.dtype)


def best_locations(alignment: Tensor) -> Tensor:
    """The location of the largest weight, the first of equals: (..., L) -> one-hot (..., L)."""
    chosen = one_hot(alignment.argmax(-1), alignment.shape[-1])
    return (chosen * (alignment > 0)).to(alignment.dtype)


def one_hot(index: Tensor, size: int) -> Tensor:
    """Rows of zeros with a one at `index`: (...) -> (..., size)."""
    return functional.one_hot(index, size).to(torch.float32)


def coverage_penalty(alignment: Tensor, mask: Tensor, regions: Tensor | None = None) -> Tensor:
    """sum_i (1 - sum_t alpha_ti)^2 over real steps and real regions: (B, T, L), (B, T), (B, L) -> (B).

    At least (L - C)^2 / L for C real steps; that much if every region gets C / L.
    """
    covered = (alignment * mask[..., None]).sum(1)  # (B, L)
    missing = (1 - covered).square()
    return (missing if regions is None else missing * regions).sum(-1)


def log_weights(alignment: Tensor) -> Tensor:
    """log alpha, finite where a weight is 0."""
    return alignment.clamp(min=torch.finfo(alignment.dtype).tiny).log()


def negative_entropy(alignment: Tensor, mask: Tensor) -> Tensor:
    """-H[s] = sum_t sum_i alpha_ti log alpha_ti over real steps: (B, T, L), (B, T) -> (B)."""
    return ((alignment * log_weights(alignment)).sum(-1) * mask).sum(-1)


def location_surrogate(alignment: Tensor, locations: Tensor, advantage: Tensor, mask: Tensor) -> Tensor:
    """-(reward - b) sum_t log p(s_t), whose gradient is the score-function term with the sign of a loss: (B).

    Where a row of `locations` is alpha itself (the expectation in place of the sample) its gradient is that of a
    constant over locations, which the softmax behind alpha takes to zero.

    Args:
        alignment: (B, T, L) alpha.
        locations: (B, T, L) what was looked at, one-hot or alpha; taken as constants.
        advantage: (B) reward minus baseline; taken as constants.
        mask: (B, T).
    """
    chosen = (locations.detach() * log_weights(alignment)).sum(-1) * mask  # (B, T)
    return -advantage.detach() * chosen.sum(-1)
