"""Additive attention over image regions, whose keys may go through more layers (Xu et al. 2015, Eq. 4-5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.additive import AdditiveAttention
from hf_attention_zoo.attention.attention_base import AttendedSource, SourceAttention
from hf_attention_zoo.loops.may_run import has_twin


@has_twin
class RegionAttention(AdditiveAttention):
    """e_i = u^T tanh(P_i + W_d h) (+ c), where P = W_c a + b goes through tanh(W_k P + b_k) for k = 1 .. layers - 1.

    The further layers act on the regions alone, before the state is added: P is computed once per image. The hidden
    size is that of a region, as in the paper. c shifts all scores of a step alike and the softmax takes it out again,
    so it is kept for the weights of others, and never trained.

    Args:
        query_size: n, the size of the decoder state h.
        value_size: D, the size of a region a_i.
        num_layers: layers of the attention perceptron before the state is added, at least 1.
    """

    def __init__(self, query_size: int, value_size: int, num_layers: int = 1) -> None:
        super().__init__(query_size, value_size, value_size, bias=True)
        self.key_layers = nn.ModuleList(nn.Linear(value_size, value_size) for _ in range(num_layers - 1))
        self.score_bias = nn.Parameter(torch.zeros(1), requires_grad=False)  # c

    def project_keys(self, values: Tensor) -> Tensor:
        keys = self.key_projection(values)
        for layer in self.key_layers:
            keys = torch.tanh(layer(keys))
        return keys


class MeanAttention(SourceAttention):
    """No attention, for comparison: every real region has the same weight at every step."""

    def forward(self, query: Tensor, source: AttendedSource) -> tuple[Tensor, Tensor]:
        """(B, N, Q), whose numbers say nothing -> mean (B, N, M) and equal weights (B, N, S)."""
        weights = source.mask[:, None].to(source.values.dtype).expand(-1, query.shape[1], -1)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        return torch.bmm(weights, source.values), weights
