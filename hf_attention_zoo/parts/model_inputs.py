"""Checks and small conversions at the borders of every sequence-to-sequence model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.losses.token_loss import labels_outside, summed_cross_entropy


def one_of(**inputs: Tensor | None) -> Tensor:
    """The one of two inputs that is given; ValueError unless it is exactly one."""
    given = {name: tensor for name, tensor in inputs.items() if tensor is not None}
    if len(given) != 1:
        what = " and ".join(given) if given else "none"
        advice = "give the one that you have"
        if any(name.startswith("decoder") for name in inputs):
            advice = (
                "in training give labels (the decoder inputs are made from them); with label smoothing give "
                "DataCollatorForSeq2Seq its model= argument"
            )
        raise ValueError(f"exactly one of {' and '.join(inputs)} is wanted, got {what}; {advice}")
    return next(iter(given.values()))


def check_vectors(side: str, vectors: Tensor) -> None:
    """Vectors of a side are (rows, positions, size) with at least one row and one position.

    Raises:
        ValueError: otherwise.
    """
    if vectors.ndim != 3 or 0 in vectors.shape[:2]:
        raise ValueError(
            f"the {side} has shape {tuple(vectors.shape[:-1])}; give ids (rows, positions) with at least one row and "
            "one position (even an empty text has its end symbol)"
        )


def encoder_mask(mask: Tensor | None, vectors: Tensor) -> Tensor:
    """The (B, S) source mask as booleans; all true if there is none.

    Raises:
        ValueError: if the source is empty, or the mask does not have its shape.
    """
    check_vectors("source", vectors)
    if mask is None:
        return torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
    if mask.shape != vectors.shape[:2]:
        raise ValueError(
            f"attention_mask has shape {tuple(mask.shape)}, the source {tuple(vectors.shape[:2])}; give one mask row "
            "per source, 1 at tokens and 0 at pads"
        )
    return mask.bool()


def computing_device(model: nn.Module, tensor: Tensor) -> torch.device:
    """Where a model computes: the place of a tensor of it or, while that is offloaded, where accelerate brings it."""
    if tensor.device.type != "meta":
        return tensor.device
    hook = getattr(model, "_hf_hook", None)
    devices = [getattr(one, "execution_device", None) for one in getattr(hook, "hooks", (hook,))]
    return torch.device(next((device for device in devices if device is not None), tensor.device))


def check_target_mask(mask: Tensor | None) -> None:
    """Targets are padded on the right: a recurrent decoder would read pads on the left.

    Raises:
        ValueError: if a real target token follows a pad.
    """
    if mask is None or mask.shape[1] == 1 or is_recorded():
        return
    if bool((mask[:, 1:].bool() & ~mask[:, :-1].bool()).any()):
        raise ValueError(
            "decoder_attention_mask has pads before tokens; recurrent decoders take targets padded on the right "
            "(tokenizer padding_side='right')"
        )


def shift_right(labels: Tensor, pad_token_id: int | None, start_token_id: int | None) -> Tensor:
    """Labels (B, T) -> decoder inputs (B, T): the start symbol, then all labels but the last, -100 as pad.

    Raises:
        ValueError: if the config lacks one of the two ids.
    """
    if pad_token_id is None or start_token_id is None:
        raise ValueError(
            f"pad_token_id is {pad_token_id} and decoder_start_token_id is {start_token_id}; set both in the config "
            "to make decoder inputs from labels"
        )
    shifted = labels.new_full(labels.shape, start_token_id)
    shifted[:, 1:] = labels[:, :-1]
    return shifted.masked_fill(shifted == -100, pad_token_id)


def up_to_last_label(labels: Tensor) -> Tensor:
    """(B, T) bool, true up to and with each row's last label that counts: the inputs behind it are not needed."""
    return (labels != -100).flip(1).cumsum(1).flip(1) > 0


def check_labels(labels: Tensor, width: int) -> None:
    """Labels on the CPU are -100 or columns of logits with `width` columns, or ValueError."""
    if labels.device.type != "cpu" or torch.compiler.is_compiling():
        return
    outside = labels_outside(labels, width)
    if len(outside):
        raise ValueError(
            f"label {int(outside[0])} is outside 0 to {width - 1}, the {width} columns of the logits; -100 "
            "marks what is not to be predicted"
        )


def label_loss(
    model: Any, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None = None, **kwargs: Any
) -> Tensor:
    """Cross entropy of logits (B, T, V) against labels (B, T) that stand at their own positions.

    The mean over labels that are not -100, or their sum divided by `num_items_in_batch` where Trainer gives it; 0 if
    there is no label at all. Taken in float32 or better. A `model.loss_function` set by the user takes its place.

    Raises:
        ValueError: if labels and logits have different shapes, or a label names no column of the logits (found on the
            CPU; on other devices torch's own check stands).
    """
    if labels.shape != logits.shape[:2]:
        raise ValueError(
            f"labels have shape {tuple(labels.shape)}, the decoder made {tuple(logits.shape[:2])} predictions; give "
            "one label per decoder input"
        )
    chosen = getattr(model, "_loss_function", None)
    if chosen is not None:
        return chosen(
            logits=logits,
            labels=None,
            shift_labels=labels,
            vocab_size=logits.shape[-1],
            num_items_in_batch=num_items_in_batch,
            **kwargs,
        )
    check_labels(labels, logits.shape[-1])
    total = summed_cross_entropy(logits.flatten(0, 1), labels.flatten())
    items = (labels != -100).sum() if num_items_in_batch is None else num_items_in_batch
    return total / torch.as_tensor(items, device=total.device).clamp(min=1)
