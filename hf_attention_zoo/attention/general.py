"""Bilinear attention: score(h, s) = h^T W_a s   (Luong et al. 2015, Eq. 7, "general")."""

from __future__ import annotations

from torch import Tensor, nn

from hf_attention_zoo.attention.dot_product import DotProductAttention
from hf_attention_zoo.loops.may_run import has_twin


@has_twin
class GeneralAttention(DotProductAttention):
    """score(h, s) = h^T W_a s: the dot product with keys W_a s.

    W_a s is computed once per source; the released code computes W_a h at every step instead, with W_a transposed.

    Args:
        query_size: Q.
        value_size: M.
    """

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__()
        self.key_projection = nn.Linear(value_size, query_size, bias=False)  # W_a, (Q, M)

    def project_keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)
