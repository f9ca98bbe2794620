"""Negative log likelihood per sentence, from which losses and perplexities of whole splits are added up."""

import torch

from hf_attention_zoo.losses.token_loss import log_likelihood

IGNORED_LABEL = -100


def sentence_nll(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Summed negative log likelihood and number of target tokens of each sentence, without label smoothing.

    Args:
        logits: (B, T, V), position t scores `labels[:, t]`.
        labels: (B, T), -100 where there is no token.

    Returns:
        (B,) sums in nats, float32 or better, and (B,) counts; both are 0 for a row without tokens.
    """
    return -log_likelihood(logits, labels), labels.ne(IGNORED_LABEL).sum(dim=1)
