"""Attention inside the rows of a packed batch: every row meets its own tokens only, and no pad is scored.

Rows of one length stand together (`Packing.of(mask, by_length=True)`) and are one call of the kernel, which then needs
no mask. Shapes: R real tokens, h heads, d_k and d_v sizes of a head's keys and values.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hf_attention_zoo.attention.packing import Packing


def attend_rows(
    query: Tensor, keys: Tensor, values: Tensor, packing: Packing, attend: Callable[[Tensor, Tensor, Tensor], Tensor]
) -> Tensor:
    """Attention of packed tokens to those of their own row.

    Args:
        query, keys, values: (R, h, d_k), (R, h, d_k), (R, h, d_v).
        attend: from (b, h, T, d_k), (b, h, T, d_k), (b, h, T, d_v) of b rows of length T to (b, T, h, d_v).

    Returns:
        (R, h, d_v).
    """
    sizes = [rows * length for rows, length in packing.blocks]
    mixed = []
    parts = zip(query.split(sizes), keys.split(sizes), values.split(sizes), packing.blocks, strict=True)
    for *vectors, block in parts:
        block_query, block_keys, block_values = (part.unflatten(0, block).transpose(1, 2) for part in vectors)
        mixed.append(attend(block_query, block_keys, block_values).flatten(0, 1))
    return torch.cat(mixed)
