"""Concatenation attention: score(h, s) = v_a^T tanh(W_a [h; s])   (Luong et al. 2015, Eq. 7, "concat").

W_a [h; s] = W_h h + W_s s: the additive score without bias. The released code has no W_s, it adds s itself (the
paper's footnote on concat), which is `source_weight="identity"` here.
"""

from __future__ import annotations

from typing import Literal

from torch import nn

from hf_attention_zoo.attention.additive import AdditiveAttention
from hf_attention_zoo.loops.may_run import has_twin


@has_twin
class ConcatAttention(AdditiveAttention):
    """score(h, s) = v_a^T tanh(W_h h + W_s s).

    Args:
        query_size: Q.
        value_size: M.
        attention_size: A.
        source_weight: "learned", or "identity" for W_s = I (needs A = M).

    Raises:
        ValueError: if the identity does not fit.
    """

    def __init__(
        self,
        query_size: int,
        value_size: int,
        attention_size: int,
        source_weight: Literal["learned", "identity"] = "learned",
    ) -> None:
        super().__init__(query_size, value_size, attention_size, bias=False)
        if source_weight == "identity":
            if value_size != attention_size:
                raise ValueError(
                    f"source_weight='identity' adds vectors of size {value_size} to {attention_size} hidden units; "
                    "the two must be equal"
                )
            self.key_projection = nn.Identity()
