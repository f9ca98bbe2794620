"""The loss of a text's labels: transformers' own, for batches that are parts of larger ones too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.losses.token_loss import labels_outside


def classification_loss(
    model: Any, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None, **kwargs: Any
) -> Tensor:
    """Cross entropy, squared error or binary cross entropy, as `config.problem_type` and `num_labels` say.

    transformers divides by `num_items_in_batch` only where there is one label a text. In the other two cases the mean
    over this batch's labels is weighted by their share, so that parts of a batch add up to the whole there, too.

    Args:
        logits: (B, num_labels).
        labels: (B) integers, (B) or (B, num_labels) floats.

    Raises:
        ValueError: if there are not as many labels as rows, or an integer label names no row of the output layer.
    """
    if not len(labels) or labels.shape[0] != logits.shape[0]:
        raise ValueError(f"labels have shape {tuple(labels.shape)} for {logits.shape[0]} texts; give one per text")
    if not labels.is_floating_point() and labels.ndim == 1 and logits.shape[1] > 1:
        outside = labels_outside(labels, logits.shape[1])
        if len(outside):
            raise ValueError(
                f"label {int(outside[0])} is outside 0 to {logits.shape[1] - 1}; the model has num_labels="
                f"{logits.shape[1]}: number the labels from 0, or make the model with more"
            )
    config = model.config
    numbers = config.problem_type in ("regression", "multi_label_classification")
    if numbers or (config.problem_type is None and config.num_labels == 1):
        labels = labels.to(logits.dtype)
    loss = model.loss_function(
        labels=labels, pooled_logits=logits, config=config, num_items_in_batch=num_items_in_batch, **kwargs
    )
    if num_items_in_batch is not None and config.problem_type != "single_label_classification":
        loss = loss * labels.numel() / torch.as_tensor(num_items_in_batch, device=loss.device)
    return loss
