"""Location-based attention: alignment = softmax(W_a h), without a look at the source   (Luong et al. 2015, Eq. 8)."""

from __future__ import annotations

from torch import Tensor, nn

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention


def source_positions(mask: Tensor) -> Tensor:
    """(B, S) mask -> (B, S) rank of each real token among the real tokens of its row, from 0."""
    return (mask.bool().long().cumsum(1) - 1).clamp_min(0)


class LocationAttention(Attention):
    """Row k of W_a scores the k-th word of the sentence, counted from its beginning, whatever it is.

    Words beyond the last row of W_a are never attended to; short sentences use the first rows only.

    Args:
        query_size: Q.
        max_length: rows of W_a.
    """

    def __init__(self, query_size: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.location_projection = nn.Linear(query_size, max_length, bias=False)  # W_a

    def prepare(self, values: Tensor, mask: Tensor) -> AttendedSource:
        """Keys are the positions of the tokens; those beyond the last row of W_a are masked like pads."""
        positions = source_positions(mask)  # (B, S)
        within = mask.bool() & (positions < self.max_length)
        return AttendedSource(values, positions.clamp_max(self.max_length - 1), within)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        by_location = self.location_projection(query)  # (B, N, max_length)
        return by_location.gather(2, keys[:, None].expand(-1, query.shape[1], -1))
