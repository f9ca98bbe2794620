"""Dot-product attention: score(h, s) = h^T s   (Luong et al. 2015, Eq. 7, "dot")."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hf_attention_zoo.attention.attention_base import AttendedSource, Attention
from hf_attention_zoo.loops.mixture import VectorsGradient, _StepProducts
from hf_attention_zoo.loops.weight_tape import WeightTape


class OpenProducts(NamedTuple):
    """What the steps of one loop share."""

    keys: Tensor  # (B, S, A)
    mask: Tensor  # (B, S)
    tape: WeightTape | None


class DotProductAttention(Attention):
    """score(h, s) = h^T s: query and attended vectors have one size and no weights between them."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.bmm(query, keys.transpose(1, 2))

    def open_loop(self, source: AttendedSource, tape: WeightTape | None) -> OpenProducts:
        keys = source.keys if tape is None else tape.open(source.keys, VectorsGradient)
        return OpenProducts(keys, source.mask, tape)

    def score_step(self, query: Tensor, opened: OpenProducts) -> Tensor:
        if opened.tape is None:
            return self.score(query, opened.keys)
        return _StepProducts.apply(query.to(opened.keys.dtype), opened.keys, opened.tape)
