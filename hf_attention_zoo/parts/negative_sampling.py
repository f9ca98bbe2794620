"""Negative sampling (Mikolov et al. 2013, Equation 4): a word is told from words of noise.

    log sigmoid(u_o . h) + k E_{n ~ P_n} [log sigmoid(-u_n . h)],    P_n(w) proportional to count(w) ^ 0.75

The paper writes the second term as a sum of k expectations. It is taken as it stands, over all words, or estimated by
the mean over words that were drawn from P_n: k of them for one h, as in the authors' code, or some that many share.
Either has the same expectation.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.parts.token_table import rows_of, token_table


class NegativeSampling(nn.Module):
    """The second table, u, and the noise.

    Args:
        size: of the vectors that come in, D.
        words: V.
        counts: how often each word occurs; None for equal counts.
        power: of the counts.
        samples: k.
    """

    log_noise: Tensor

    def __init__(self, size: int, words: int, counts: Sequence[int] | None, power: float, samples: int) -> None:
        super().__init__()
        self.counts, self.power, self.samples = None if counts is None else tuple(counts), power, samples
        self.table = token_table(words, size)
        self.place_noise()

    def place_noise(self) -> None:
        """Fill the buffer, which follows from the counts and is not saved: log P_n, (V,)."""
        noise = noise_distribution(self.counts or [1] * self.table.num_embeddings, self.power).log()
        device = self.table.weight.device
        self.register_buffer("log_noise", noise if device.type == "meta" else noise.to(device), persistent=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Scores of all words, whose softmax is the model's p(w | h): (..., D) -> (..., V).

        Where the loss is least, u_w . h is log p(w | h) - log P_n(w) - log k (Levy and Goldberg 2014). A word that
        the noise never is, as a pad, is none that is predicted.
        """
        never = self.log_noise.isneginf()
        scores = hidden @ rows_of(self.table).t() + self.log_noise.masked_fill(never, 0).to(hidden.dtype)
        return scores.masked_fill(never, torch.finfo(scores.dtype).min)

    def summed_loss(self, scores: Tensor, hidden: Tensor, times: Tensor, noise_ids: Tensor | None) -> Tensor:
        """The negative of the equation, summed over predictions.

        Args:
            scores: u_o . h of each prediction, (N).
            hidden: (B, T, D).
            times: how often each h predicts, (B, T), N in all.
            noise_ids: (B, K) drawn from P_n, shared by the places of a row; None for the expectation.
        """
        right = functional.softplus(-scores).sum()
        if noise_ids is None:
            told = functional.softplus(hidden @ rows_of(self.table).t())  # (B, T, V)
            noise = told @ self.log_noise.exp().to(hidden.dtype)  # (B, T)
        else:
            noise = functional.softplus(hidden @ self.table(noise_ids).transpose(1, 2)).mean(-1)  # (B, T)
        return right + self.samples * (times * noise).sum()


def noise_distribution(counts: Sequence[int], power: float) -> Tensor:
    """P_n, (V,): the counts to a power as shares of 1; a word that never occurs is no noise, whatever the power."""
    weights = torch.tensor(counts, dtype=torch.float64)
    weights = torch.where(weights > 0, weights**power, 0)
    return (weights / weights.sum()).float()
