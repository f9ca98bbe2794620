"""Negative log likelihood per sentence, from which losses and perplexities of whole splits are added up."""

import torch
import torch.nn.functional as F

IGNORED_LABEL = -100


def sentence_nll(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Summed negative log likelihood and number of target tokens of each sentence, without label smoothing.

    Args:
        logits: (B, T, V), position t scores `labels[:, t]`.
        labels: (B, T), -100 where there is no token.

    Returns:
        (B,) float32 sums in nats and (B,) counts; both are 0 for a row without tokens.
    """
    batch, length, vocabulary = logits.shape
    losses = F.cross_entropy(
        logits.reshape(-1, vocabulary).float(), labels.reshape(-1), ignore_index=IGNORED_LABEL, reduction="none"
    )
    return losses.view(batch, length).sum(dim=1), labels.ne(IGNORED_LABEL).sum(dim=1)
