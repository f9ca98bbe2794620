"""The loss of a text's labels: transformers' own, for batches that are parts of larger ones too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.loops.graphs import refuse_graph
from hf_attention_zoo.losses.token_loss import IGNORED, labels_outside


def classification_loss(
    model: Any, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None, **kwargs: Any
) -> Tensor:
    """Cross entropy, squared error or binary cross entropy, as `config.problem_type` and `num_labels` say.

    transformers divides by `num_items_in_batch` only where there is one label a text. In the other two cases the mean
    over this batch's labels is weighted by their share, so that parts of a batch add up to the whole there, too. A
    class that is -100 counts nothing, and a batch of nothing else has the loss 0.

    Args:
        logits: (B, num_labels).
        labels: (B) integers, (B) or (B, num_labels) floats; as numbers to predict, -100 is one like others.

    Raises:
        ValueError: if there are not as many labels as rows, or an integer label names no row of the output layer.
        GraphError: in a trace or an export.
    """
    refuse_graph("which labels count is seen only when they are read, so a graph has no loss", "leave labels out")
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
    is_number = config.problem_type == "regression" or (config.problem_type is None and config.num_labels == 1)
    counted = torch.ones_like(labels, dtype=torch.bool) if is_number else labels != IGNORED
    if not counted.any():
        return logits.to(torch.promote_types(logits.dtype, torch.float32)).sum() * 0
    if labels.ndim == 2 and not counted.all():  # binary cross entropy knows no label that is left out
        logits, labels = logits[counted], labels[counted]
    loss = model.loss_function(
        labels=labels, pooled_logits=logits, config=config, num_items_in_batch=num_items_in_batch, **kwargs
    )
    if num_items_in_batch is not None and config.problem_type != "single_label_classification":
        loss = loss * labels.numel() / torch.as_tensor(num_items_in_batch, device=loss.device).clamp(min=1)
    return loss


def label_share(labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    """How much of the whole batch's labels these are, (): what is added to the loss of labels counts as much.

    Without `num_items_in_batch` they are all of them: 1, and 0 where nothing is labelled.
    """
    counted = (labels != IGNORED).sum()
    if num_items_in_batch is None:
        return counted.clamp(max=1)
    return counted / torch.as_tensor(num_items_in_batch, device=counted.device).clamp(min=1)
