"""Recurrent encoders over padded batches that never read a pad, wherever the pads stand.

Shapes: B rows, S padded positions, I input size, H units per direction.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.recurrent.gated_unit import GatedUnit


def reading_order(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the real tokens of each row in reading order, forwards and backwards; pads come after them.

    Args:
        mask: (B, S), non-zero at real tokens; pads may stand left, right or between.

    Returns:
        Two (B, S) index tensors for `take`: first real token first, and last real token first.
    """
    real = mask.bool()
    forwards = torch.argsort((~real).to(torch.uint8), dim=1, stable=True)  # (B, S)
    lengths = real.sum(1, keepdim=True)  # (B, 1)
    steps = torch.arange(mask.shape[1], device=mask.device)[None]  # (1, S)
    backwards = forwards.gather(1, torch.where(steps < lengths, lengths - 1 - steps, steps))
    return forwards, backwards


def take(vectors: Tensor, order: Tensor) -> Tensor:
    """Rows of (B, S, D) in the (B, S) order given."""
    return vectors.gather(1, order[..., None].expand(-1, -1, vectors.shape[-1]))


def put_back(vectors: Tensor, order: Tensor) -> Tensor:
    """The inverse of `take`."""
    inverse = torch.empty_like(order).scatter_(
        1, order, torch.arange(order.shape[1], device=order.device).expand_as(order)
    )
    return take(vectors, inverse)


def first_real_position(mask: Tensor) -> Tensor:
    """(B, S) mask -> (B) index of each row's first real token (0 for a row without any)."""
    return mask.bool().to(torch.uint8).argmax(1)


class BidirectionalGatedEncoder(nn.Module):
    """h_j = [forward state; backward state] of one gated unit per direction (Bahdanau et al. 2015, A.2.1).

    Both directions start from zero at their first real token. Annotations of pads are zero.
    """

    def __init__(self, forward_unit: GatedUnit, backward_unit: GatedUnit) -> None:
        super().__init__()
        self.forward_unit, self.backward_unit = forward_unit, backward_unit

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """(B, S, I), (B, S) -> annotations (B, S, 2H)."""
        forwards, backwards = reading_order(mask)
        states = [
            put_back(run_gated_unit(unit, take(embedded, order)), order)
            for unit, order in ((self.forward_unit, forwards), (self.backward_unit, backwards))
        ]
        annotations = torch.cat(states, dim=-1)  # (B, S, 2H)
        return annotations.masked_fill(~mask.bool()[..., None], 0.0)


def run_gated_unit(unit: GatedUnit, inputs: Tensor) -> Tensor:
    """All states of a gated unit that starts from zero: (B, S, I) -> (B, S, H)."""
    projected = unit.project_inputs(inputs)  # (B, S, 3H)
    weights = unit.open_weights()
    hidden = projected.new_zeros(projected.shape[0], unit.hidden_size)
    states = []
    for step_input in projected.unbind(1):
        hidden = unit.step(step_input, hidden, weights)
        states.append(hidden)
    return torch.stack(states, dim=1)
