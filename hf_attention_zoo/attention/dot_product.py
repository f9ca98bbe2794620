"""Dot-product attention: score(h, s) = h^T s   (Luong et al. 2015, Eq. 7, "dot")."""

from __future__ import annotations

import torch
from torch import Tensor

from hf_attention_zoo.attention.attention_base import Attention


class DotProductAttention(Attention):
    """score(h, s) = h^T s: query and attended vectors have one size and no weights between them."""

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.bmm(query, keys.transpose(1, 2))
