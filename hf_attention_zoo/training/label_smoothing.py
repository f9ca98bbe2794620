"""Label smoothing with the distribution of the Transformer's authors.

Szegedy et al. (2016) mix the one-hot target with the uniform distribution over all V classes, and so do torch and
transformers: 1 - e + e/V on the label, e/V on each of the others. The code that trained the published Transformers
takes e away from the label and shares it among the others: 1 - e on the label, e/(V - 1) on each of the others. The
second with e is the first with e V/(V - 1).

The least loss that a smoothed target allows is not 0 but the entropy of the target; neither form subtracts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.losses.token_loss import IGNORED, summed_cross_entropy


@dataclass(frozen=True)
class UniformSmoother:
    """Cross entropy against 1 - epsilon + epsilon/V on the label and epsilon/V on each other class.

    Takes the place of transformers' `LabelSmoother` in a Trainer: the same loss, without its tensors of
    log-probabilities and their gradients.
    """

    epsilon: float = 0.1

    def uniform_share(self, classes: int) -> float:
        """How much of the target is spread evenly over all classes."""
        return self.epsilon

    def __call__(
        self,
        model_output: Any,
        labels: Tensor,
        shift_labels: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        """Mean over the labels that count, or their sum over `num_items_in_batch`: a scalar in float32 or better.

        Args:
            model_output: holds logits of shape (B, T, V), as "logits" or in its first place.
            labels: (B, T) ids, -100 where there is nothing to predict.
            shift_labels: position t predicts label t + 1 (causal language models).
            num_items_in_batch: labels of the whole batch, over all its parts and processes.
        """
        logits = model_output["logits"] if isinstance(model_output, dict) else model_output[0]
        if shift_labels:
            logits, labels = logits[..., :-1, :], labels[..., 1:]
        share = self.uniform_share(logits.shape[-1])
        total = summed_cross_entropy(logits.flatten(0, -2), labels.flatten(), share)
        items = (labels != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
        return total / torch.as_tensor(items, device=total.device).clamp(min=1)


@dataclass(frozen=True)
class OtherClassesSmoother(UniformSmoother):
    """Cross entropy against 1 - epsilon on the label and epsilon/(V - 1) on each other class."""

    def uniform_share(self, classes: int) -> float:
        """epsilon V/(V - 1).

        Raises:
            ValueError: the target would not peak at the label, which needs epsilon < (V - 1)/V.
        """
        if not 0 <= self.epsilon * classes < classes - 1:
            raise ValueError(
                f"label_smoothing_factor={self.epsilon} with {classes} classes: it must lie below "
                f"{(classes - 1) / classes:.4g}, or the label is no likelier than the others"
            )
        return self.epsilon * classes / (classes - 1) if self.epsilon else 0.0
