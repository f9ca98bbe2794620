"""Bidirectional gated units over rows of different lengths, without a single step on a pad.

The tokens of all rows stand one after the other. Rows are read side by side, the longest first, so that those with a
token at step t are the first `step_sizes[t]`: a step computes exactly its tokens. Inputs are projected once per
distinct vector: a word that occurs ten times in a batch is multiplied by W once.

Shapes: R rows, N tokens in all of them, U distinct vectors, I input size, H units per direction, D = 2 directions.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.gated_loop import alike
from hf_attention_zoo.loops.graphs import refuse_graph
from hf_attention_zoo.loops.may_run import twin_may_run
from hf_attention_zoo.loops.packed_gates import PackedRows, read_packed
from hf_attention_zoo.recurrent.bidirectional import inverse_of
from hf_attention_zoo.recurrent.gated_unit import GatedUnit


def pack_rows(lengths: Tensor) -> PackedRows:
    """The reading order of rows whose tokens stand one row after the other: (R), every length at least 1."""
    refuse_graph("tokens of all texts are packed, and how many there are is seen only when they are read")
    starts = lengths.cumsum(0) - lengths
    sorted_lengths, order = lengths.sort(descending=True, stable=True)
    longest = int(sorted_lengths[0]) if len(lengths) else 0
    steps = torch.arange(longest, device=lengths.device)[:, None]  # (T, 1)
    reading = steps < sorted_lengths  # (T, R)
    first = starts[order]
    orders = torch.stack([(first + steps)[reading], (first + sorted_lengths - 1 - steps)[reading]])  # (2, N)
    sizes = reading.sum(1)
    places = torch.arange(orders.shape[1], device=lengths.device)
    previous = places[len(lengths) :] - sizes[:-1].repeat_interleave(sizes[1:])
    inverses = torch.stack([inverse_of(one) for one in orders])
    return PackedRows(lengths, starts, orders, inverses, previous, sizes.tolist())


class PackedBidirectionalEncoder(nn.Module):
    """h_j = [forward state; backward state] of one gated unit per direction, of tokens alone.

    Both directions of a row start from zero. Outputs, gradients and parameters are those of
    `BidirectionalGatedEncoder`.
    """

    def __init__(self, forward_unit: GatedUnit, backward_unit: GatedUnit) -> None:
        super().__init__()
        self.forward_unit, self.backward_unit = forward_unit, backward_unit
        self.hidden_size = forward_unit.hidden_size

    def forward(self, vectors: Tensor, rows: PackedRows, token: Tensor | None = None) -> Tensor:
        """Annotations of all tokens.

        Args:
            vectors: (N, I) one per token, or (U, I) distinct ones.
            rows: which tokens are a row, from `pack_rows`.
            token: (N) which of the distinct vectors each token is; None if there is one per token.

        Returns:
            (N, 2H), in the order of the tokens.
        """
        units = (self.forward_unit, self.backward_unit)
        if twin_may_run(*units) and alike(units):
            return read_packed(units, vectors, rows, token)
        directions = []
        for unit, order, back in zip(units, rows.orders, rows.inverses, strict=True):
            inputs = vectors[order if token is None else token[order]]  # (N, I) in the order of reading
            hidden = inputs.new_zeros(len(rows.lengths), self.hidden_size)
            states = []
            for now in inputs.split(rows.step_sizes):
                hidden = unit(now, hidden[: len(now)])
                states.append(hidden)
            directions.append(torch.cat(states)[back])
        return torch.cat(directions, dim=1)
