"""Dot-product attention: score(h, s) = h^T s   (Luong et al. 2015, Eq. 7, "dot")."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention, masked_softmax
from hf_attention_zoo.loops.may_run import has_twin, twin_may_run
from hf_attention_zoo.loops.mixture import ProductLoop
from hf_attention_zoo.loops.weight_tape import WeightTape


@has_twin
class DotProductAttention(Attention):
    """score(h, s) = h^T s: query and attended vectors have one size and no weights between them."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.bmm(query, keys.transpose(1, 2))

    def in_loop(self, source: AttendedSource, tape: WeightTape | None) -> Callable[..., tuple[Tensor, Tensor]]:
        if tape is None or not twin_may_run(self):
            return self
        return ProductLoop(source.keys, source.values, source.mask, masked_softmax, tape)
