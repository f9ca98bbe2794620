"""Recurrent encoders over padded batches that never read a pad, wherever the pads stand.

Shapes: B rows, S padded positions, I input size, H units per direction.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.gated_loop import alike, read_side_by_side
from hf_attention_zoo.loops.may_run import twin_may_run
from hf_attention_zoo.loops.moving_rows import pick_rows
from hf_attention_zoo.recurrent.gated_unit import GatedUnit, read_states


def reading_order(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the real tokens of each row in reading order, forwards and backwards; pads come after them.

    Args:
        mask: (B, S), non-zero at real tokens; pads may stand left, right or between.

    Returns:
        Two (B, S) index tensors: first real token first, and last real token first.
    """
    real = mask.bool()
    lengths = real.sum(1, keepdim=True)  # (B, 1)
    steps = torch.arange(mask.shape[1], device=mask.device)[None]  # (1, S)
    turns = torch.where(real, real.cumsum(1) - 1, lengths + (~real).cumsum(1) - 1)  # when each position is read
    forwards = torch.empty_like(turns).scatter_(1, turns, steps.expand_as(turns))  # (B, S)
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


def inverse_of(order: Tensor) -> Tensor:
    """The permutation that undoes a permutation (N)."""
    return torch.empty_like(order).scatter_(0, order, torch.arange(order.shape[0], device=order.device))


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
        self.hidden_size = forward_unit.hidden_size

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """(B, S, I), (B, S) -> annotations (B, S, 2H)."""
        units = (self.forward_unit, self.backward_unit)
        if not (twin_may_run(*units) and alike(units)):
            return self.formula(embedded, mask)
        rows, length, _ = embedded.shape
        row = torch.arange(rows, device=mask.device) * length  # where row b starts in a flat (B S)
        orders = [(order + row[:, None]).t().flatten() for order in reading_order(mask)]  # time first, (S B)
        inverses = [inverse_of(order) for order in orders]
        flat = embedded.flatten(0, 1)
        inputs = [
            pick_rows(flat, order, inverse).view(length, rows, -1)
            for order, inverse in zip(orders, inverses, strict=True)
        ]
        states = read_side_by_side(units, inputs)  # (2, S, B, H)
        annotations = torch.cat(
            [
                pick_rows(state.flatten(0, 1), inverse, order)
                for state, order, inverse in zip(states, orders, inverses, strict=True)
            ],
            dim=-1,
        )  # (B S, 2H)
        return annotations.view(rows, length, -1).masked_fill(~mask.bool()[..., None], 0.0)

    def formula(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """One direction after the other, each unit called at every step."""
        directions = []
        for unit, order in zip((self.forward_unit, self.backward_unit), reading_order(mask), strict=True):
            start = embedded.new_zeros(embedded.shape[0], self.hidden_size)
            directions.append(put_back(read_states(unit, take(embedded, order), start), order))
        return torch.cat(directions, dim=-1).masked_fill(~mask.bool()[..., None], 0.0)
