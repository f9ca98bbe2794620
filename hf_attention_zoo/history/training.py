"""How the experiments train and read: Adam on batches that are generated, greedy decoding, accuracy by length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.losses.token_loss import IGNORED


def train(
    model: nn.Module,
    batches: Iterator[dict[str, Tensor]],
    steps: int,
    rate: float = 1e-3,
    warmup: int = 0,
    largest_gradient: float = 1.0,
    loss_of: Callable[[nn.Module, dict[str, Tensor]], Tensor] | None = None,
) -> list[float]:
    """Train a model in place with Adam; returns the loss of every step.

    Args:
        batches: what the model is called with; endless.
        rate: constant, after a linear `warmup` over so many steps.
        largest_gradient: norm to which gradients are clipped.
        loss_of: the loss of a batch; None is the model's own.

    A loss that is not finite ends the training; the steps that are left count with it, so that curves stay equally
    long and a run that broke is seen.
    """
    optimizer = torch.optim.Adam(model.parameters(), rate)
    losses: list[float] = []
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / warmup) if warmup else rate
        batch = next(batches)
        loss = loss_of(model, batch) if loss_of else model(**batch).loss
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            losses += [losses[-1]] * (steps - len(losses))
            break
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), largest_gradient)
        optimizer.step()
    model.eval()
    return losses


def watched(every: int, look: Callable[[], None]) -> Callable[[nn.Module, dict[str, Tensor]], Tensor]:
    """The model's own loss, for `train`; before the first step and after each `every` ones `look` is called.

    The model is in evaluation mode then.
    """
    steps = 0

    def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        nonlocal steps
        if steps % every == 0:
            model.eval()
            look()
            model.train()
        steps += 1
        return model(**batch).loss

    return loss_of


def parameters_of(model: nn.Module) -> int:
    """How many numbers a model learns."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


@torch.no_grad()
def decode(model: Any, sources: dict[str, Tensor], longest: int) -> Tensor:
    """What a translator writes greedily: ids without the start symbol, (N, at most `longest`)."""
    model.eval()
    return model.generate(**sources, num_beams=1, do_sample=False, max_new_tokens=longest, min_new_tokens=0)[:, 1:]


def right_words(written: Tensor, labels: Tensor) -> Tensor:
    """Where the written ids are those of the labels, (N, T) of the labels; False where nothing is asked."""
    width = labels.shape[1]
    missing = max(0, width - written.shape[1])
    written = nn.functional.pad(written, (0, missing), value=IGNORED - 1)[:, :width]
    return (written == labels) & (labels != IGNORED)


def accuracy(written: Tensor, labels: Tensor) -> float:
    """The share of words that are right at their place."""
    return right_words(written, labels).sum().item() / (labels != IGNORED).sum().item()


def whole_accuracy(written: Tensor, labels: Tensor) -> float:
    """The share of sentences in which every word is right."""
    return (right_words(written, labels) | (labels == IGNORED)).all(1).float().mean().item()


def thinned(curve: list[float], points: int = 60) -> list[float]:
    """A long curve as the means of so many stretches, for a picture."""
    if len(curve) <= points:
        return curve
    cuts = [round(place * len(curve) / points) for place in range(points + 1)]
    return [sum(curve[low:high]) / (high - low) for low, high in pairwise(cuts)]
