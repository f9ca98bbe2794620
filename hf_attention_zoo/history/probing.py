"""What frozen states know: one linear layer on them learns a label a token, on one layer's states or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.synthetic import held_out_draws
from hf_attention_zoo.history.training import train
from hf_attention_zoo.losses.token_loss import IGNORED
from hf_attention_zoo.models.elmo.layers_elmo import ScalarMix


@dataclass(frozen=True)
class Labelled:
    """Texts of symbols and what is asked of each symbol.

    Attributes:
        texts: (N, LENGTH) symbols from 0 on.
        labels: task -> (N, LENGTH): "topics" the topic of the text, "next" and "previous" whether the neighbour on
            that side is in the upper half, ignored where there is none.
    """

    texts: np.ndarray
    labels: dict[str, Tensor]


def labelled_texts(random: np.random.Generator, count: int) -> Labelled:
    """Texts with hidden topics and a label of each task for each symbol."""
    texts, topics = planted.topical_texts(random, count)
    high = torch.from_numpy((texts >= planted.SYMBOLS // 2).astype(np.int64))
    labels = {
        "topics": torch.from_numpy(topics)[:, None].expand(-1, planted.LENGTH),
        "next": functional.pad(high[:, 1:], (0, 1), value=IGNORED),
        "previous": functional.pad(high[:, :-1], (1, 0), value=IGNORED),
    }
    return Labelled(texts, labels)


def learnt_and_asked(
    random: np.random.Generator, seed: int, labelled: int, held_out: int
) -> tuple[Labelled, Labelled]:
    """What probes learn and what they are asked."""
    return labelled_texts(random, labelled), labelled_texts(held_out_draws(seed), held_out)


class Probe(nn.Module):
    """A linear layer on states that are mixed with learnt weights (Peters et al. 2018, Eq. 1) or put side by side.

    Args:
        layers: how many states a token has. width: of each. labels: how many there are.
        side_by_side: whether they are put side by side.
        hidden: units of a layer in between; 0 for none.
    """

    def __init__(self, layers: int, width: int, labels: int, side_by_side: bool = False, hidden: int = 0) -> None:
        super().__init__()
        self.mix = None if side_by_side else ScalarMix(layers)
        given = layers * width if side_by_side else width
        self.output: nn.Module = nn.Linear(given, labels)
        if hidden:
            self.output = nn.Sequential(nn.Linear(given, hidden), nn.ReLU(), nn.Linear(hidden, labels))

    def forward(self, states: Tensor) -> Tensor:
        """(layers, N, T, width) -> (N, T, labels)."""
        layers = list(states)
        return self.output(torch.cat(layers, -1) if self.mix is None else self.mix(layers))


def probe_accuracy(
    probe: Probe,
    states: tuple[Tensor, Tensor],
    labels: tuple[Tensor, Tensor],
    chosen: Sequence[int],
    seed: int,
    steps: int,
    penalty: float = 0.0,
) -> float:
    """The share of held-out labels that are right after training a probe in place.

    Args:
        states: of what is learnt and of what is asked, (layers, N, T, width) each.
        labels: of both, (N, T) each.
        chosen: which layers it reads.
        penalty: times the squared length of the mix's scalars, added to the loss.
    """
    learnt, asked = (one[list(chosen)] for one in states)

    def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(batch["states"].transpose(0, 1))
        loss = functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED)
        return loss + penalty * probe.mix(None) if probe.mix is not None and penalty else loss

    rows = {"states": learnt.transpose(0, 1), "labels": labels[0]}
    batches = planted.drawn_batches(np.random.default_rng([seed, 2]), 64, **rows)
    train(probe, batches, steps, rate=1e-2, loss_of=loss_of)
    with torch.no_grad():
        right = probe(asked).argmax(-1) == labels[1]
    return right[labels[1] != IGNORED].float().mean().item()
