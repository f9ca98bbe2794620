"""Cross entropy over a large vocabulary from a sample of its words (Jean et al. 2015; Jozefowicz et al. 2016).

Each target is compared with K words that are drawn once for the batch, without repetition, from

    q(w) = (log(w + 2) - log(w + 1)) / log(V + 1),

which is log-uniform in the word's number: the vocabulary must be sorted by frequency. A word's expected count in the
sample, 1 - (1 - q(w))^T for T draws, is taken off its score: s(w) = h . W_w + b_w - log E[count(w)]. A drawn word
that is the target itself does not count.

Shapes: N tokens, V words, K samples, H hidden size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.may_run import twin_may_run
from hf_attention_zoo.losses.token_loss import IGNORED


def draw_words(vocab_size: int, count: int, device: torch.device) -> tuple[Tensor, int]:
    """`count` different words of the log-uniform distribution, (K), and how many draws that took.

    Raises:
        ValueError: if there are not more words than that.
    """
    if not 0 < count < vocab_size:
        raise ValueError(
            f"{count} sampled words of a vocabulary of {vocab_size}; sample fewer than it has (num_negative_samples "
            "of the config)"
        )
    drawn = torch.empty(0, dtype=torch.long)
    while True:
        uniform = torch.rand(2 * count, dtype=torch.float64)
        more = (torch.exp(uniform * math.log(vocab_size + 1)) - 1).long().clamp(max=vocab_size - 1)
        drawn = torch.cat([drawn, more])
        _, which = torch.unique(drawn, return_inverse=True)
        seen = torch.full((int(which.max()) + 1,), len(drawn)).scatter_reduce_(
            0, which, torch.arange(len(drawn)), reduce="amin"
        )  # the first draw of each word
        if len(seen) >= count:
            first = seen.sort().values[:count]
            return drawn[first].to(device), int(first[-1]) + 1


def log_expected_count(words: Tensor, vocab_size: int, draws: int) -> Tensor:
    """log(1 - (1 - q(w))^T) for words of any shape."""
    words = words.double()
    share = torch.log1p(1 / (words + 1)) / math.log(vocab_size + 1)  # q(w)
    return torch.log(-torch.expm1(draws * torch.log1p(-share)))


def sampled_cross_entropy(hidden: Tensor, layer: nn.Linear, labels: Tensor, count: int) -> Tensor:
    """Sum of the sampled loss: (N, H), the output layer of V words, (N) -> (). Labels of -100 count nothing."""
    real = labels != IGNORED
    hidden, labels = hidden[real], labels[real]
    if not len(labels):
        return layer(hidden).sum().float() * 0
    vocabulary = layer.out_features
    sampled, draws = draw_words(vocabulary, count, hidden.device)
    scores = sampled_scores if twin_may_run(layer) else all_scores
    own, others = scores(hidden, layer, labels, sampled)  # (N, 1), (N, K)
    own = own - log_expected_count(labels, vocabulary, draws).to(own.dtype)[:, None]
    others = others - log_expected_count(sampled, vocabulary, draws).to(own.dtype)
    others = others.masked_fill(labels[:, None] == sampled, -torch.inf)
    logits = torch.cat([own, others], dim=1).float() if own.dtype != torch.float64 else torch.cat([own, others], 1)
    return functional.cross_entropy(logits, torch.zeros_like(labels), reduction="sum")


def all_scores(hidden: Tensor, layer: nn.Linear, labels: Tensor, sampled: Tensor) -> tuple[Tensor, Tensor]:
    """s(w) = h . W_w + b_w of each label (N, 1), and of the sample (N, K)."""
    scores = layer(hidden)
    return scores.gather(1, labels[:, None]), scores[:, sampled]


def sampled_scores(hidden: Tensor, layer: nn.Linear, labels: Tensor, sampled: Tensor) -> tuple[Tensor, Tensor]:
    """The twin of `all_scores`, which computes no word that is not asked for."""
    words = torch.cat([labels, sampled])
    rows, offsets = functional.embedding(words, layer.weight), layer.bias[words]
    count = len(labels)
    own = (hidden * rows[:count]).sum(-1, keepdim=True) + offsets[:count, None]
    return own, functional.linear(hidden, rows[count:], offsets[count:])
