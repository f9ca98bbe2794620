"""What every attention mechanism shares: masking, normalising and taking the weighted sum, once.

A mechanism says only how a query is scored against the keys. Shapes, used in all files of this folder:
B sources, N queries per source (target positions, or the hypotheses of a beam), S source positions,
Q query size, A key size, M size of the attended vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.weight_tape import WeightTape


@dataclass(frozen=True)
class AttendedSource:
    """A source made ready for attention; it does not change from step to step.

    Attributes:
        values: (B, S, M) the vectors that are averaged.
        keys: (B, S, A) what queries are scored against, projected once.
        mask: (B, S) bool, true at real positions.
    """

    values: Tensor
    keys: Tensor
    mask: Tensor


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis among the positions where `mask` is true; exactly 0 elsewhere.

    A row without any true position gives zeros, never NaN. The sum is taken in float32 or better.

    Args:
        scores: (..., S).
        mask: (..., S) bool, broadcastable to `scores`.
    """
    wide = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
    wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    weights = torch.softmax(wide, dim=-1) * mask
    return weights.to(scores.dtype)


class SourceAttention(nn.Module):
    """Anything that looks at a source that it made ready before; what its steps are given besides is its own."""

    def project_keys(self, values: Tensor) -> Tensor:
        """(B, S, M) -> (B, S, A). Called once per source, outside every loop."""
        return values

    def prepare(self, values: Tensor, mask: Tensor) -> AttendedSource:
        """Project the keys of a source: (B, S, M) vectors and a (B, S) mask that is non-zero at real positions."""
        return AttendedSource(values, self.project_keys(values), mask.bool())

    def in_loop(self, source: AttendedSource, tape: WeightTape | None) -> Callable[..., tuple[Tensor, Tensor]]:
        """What the steps of a loop over this source call in place of the module, in the same way: a twin, if any."""
        return self


class Attention(SourceAttention):
    """alignment = softmax over real positions of score(query, keys); context = sum of alignment times values."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, N, Q), (B, S, A) -> (B, N, S). Each mechanism defines its own."""
        raise TypeError(f"{type(self).__name__} defines no score; subclass Attention and write score(query, keys)")

    def forward(
        self, query: Tensor, source: AttendedSource, mask: Tensor | None = None, factor: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """(B, N, Q) -> context (B, N, M) and alignment (B, N, S).

        Args:
            mask: (B, N, S), the positions that each query may look at, in place of the source's.
            factor: (B, N, S), what the weights are multiplied with behind the softmax.
        """
        scores = self.score(query, source.keys)  # (B, N, S)
        alignment = masked_softmax(scores, source.mask[:, None] if mask is None else mask)  # (B, N, S)
        if factor is not None:
            alignment = alignment * factor.to(alignment.dtype)
        return torch.bmm(alignment.to(source.values.dtype), source.values), alignment  # (B, N, M)
