"""Computing tokens and not pads: rows of different lengths as one row of their real tokens, and back.

What acts on each position alone (projections, feed-forward layers, norms) runs on the packed tokens; only the scores
of attention need rows. Shapes: B rows, S positions, R real tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from torch import Tensor

from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.loops.moving_rows import _Pack, _Unpack

LEAST_SHARE = 0.04  # of pads, below which moving tokens costs more than computing the pads


@dataclass(frozen=True)
class Packing:
    """Where the real tokens of a batch stand.

    Attributes:
        index: (R,) their places among the B S positions, row after row.
        rows, length: B, S.
        counts: (B,) how many there are in each row, in the order in which the rows were packed.
    """

    index: Tensor
    rows: int
    length: int
    counts: Tensor | None = None

    @classmethod
    def of(cls, mask: Tensor | None, by_length: bool = False) -> Packing | None:
        """The packing of a (B, S) mask; None where there are hardly any pads or nothing but pads.

        Args:
            by_length: pack the shortest row first, so that rows of one length are neighbours.
        """
        if mask is None or is_recorded():
            return None
        if not by_length:
            index = mask.flatten().nonzero()[:, 0]
            if not 0 < index.numel() <= (1 - LEAST_SHARE) * mask.numel():
                return None
            return cls(index, mask.shape[0], mask.shape[1])
        mask = mask.bool()
        counts, order = mask.sum(1).sort()
        row, column = mask[order].nonzero(as_tuple=True)
        if not 0 < row.numel() <= (1 - LEAST_SHARE) * mask.numel():
            return None
        return cls(order[row] * mask.shape[1] + column, mask.shape[0], mask.shape[1], counts)

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Packed rows of one length that are neighbours, as (how many, their length); empty rows are left out."""
        lengths = [] if self.counts is None else self.counts.tolist()
        return [(len(list(same)), length) for length, same in groupby(lengths) if length]

    def select(self, numbers: Tensor) -> Tensor:
        """(B, S) of what has no gradient, such as ids -> (R,)."""
        return numbers.flatten().index_select(0, self.index)

    def pack(self, vectors: Tensor) -> Tensor:
        """(B, S, ...) -> (R, ...)."""
        return _Pack.apply(vectors, self.index)

    def unpack(self, vectors: Tensor) -> Tensor:
        """(R, ...) -> (B, S, ...), zero at pads."""
        return _Unpack.apply(vectors, self.index, self.rows, self.length)
