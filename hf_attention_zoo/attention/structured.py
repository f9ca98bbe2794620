"""Structured self-attention: several distributions over the states of one text, without a query (Lin et al. 2017).

    A = softmax(W_s2 tanh(W_s1 H^T))                                 Eq. 6, over the tokens of each row
    M = A H                                                          Eq. 7
    P = ||A A^T - I||_F^2                                            Eq. 8
    F_i = M_i W_i, a different W_i for each row i                    Appendix B, BatchedDot
    Mv_i = relu(M_i V_i + c_i),  Mh_j = relu(M_:j^T Q_j + d_j)       Appendix A, PrunedConnection

Row i of W_s2 asks for one aspect of a text (a hop); the penalty P keeps the hops from asking for the same.
Shapes: B texts, S positions, U size of a state, A size of the hidden layer, R hops.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.attention_base import AttendedSource, SourceAttention, masked_softmax


class StructuredSelfAttention(SourceAttention):
    """A = softmax(W_s2 tanh(W_s1 H^T)), M = A H: no biases, the rows of W_s2 take the place of queries.

    Args:
        value_size: U.
        attention_size: A (d_a in the paper).
        num_hops: R.
    """

    def __init__(self, value_size: int, attention_size: int, num_hops: int) -> None:
        super().__init__()
        self.key_projection = nn.Linear(value_size, attention_size, bias=False)  # W_s1
        self.hops = nn.Linear(attention_size, num_hops, bias=False)  # W_s2

    def project_keys(self, values: Tensor) -> Tensor:
        """tanh(W_s1 h) of each state: (B, S, U) -> (B, S, A)."""
        return torch.tanh(self.key_projection(values))

    def forward(self, source: AttendedSource) -> tuple[Tensor, Tensor]:
        """A source of tanh(W_s1 h) as keys -> M (B, R, U) and A (B, R, S)."""
        scores = self.hops(source.keys).mT  # W_s2 tanh(W_s1 H^T), (B, R, S)
        annotations = masked_softmax(scores, source.mask[:, None])
        return torch.bmm(annotations, source.values), annotations


def hop_penalty(annotations: Tensor, squared: bool = True) -> Tensor:
    """P of each text: (..., R, S) -> (...), in float32 or better.

    A text without tokens, whose annotations are all zero, has the penalty 0.

    Args:
        squared: the paper's ||A A^T - I||_F^2; otherwise the norm itself, as two reimplementations have it.
    """
    wide = annotations if annotations.dtype == torch.float64 else annotations.float()
    with torch.autocast(wide.device.type, enabled=False):
        identity = torch.eye(wide.shape[-2], dtype=wide.dtype, device=wide.device)
        penalty = (wide @ wide.mT - identity).square().sum((-2, -1))
    if not squared:
        # the root has no slope at 0, which distinct one-hot rows reach
        reached = penalty == 0
        penalty = torch.where(reached, 0.0, torch.where(reached, 1.0, penalty).sqrt())
    return penalty * wide.detach().any(-1).any(-1)


class BatchedDot(nn.Module):
    """F_i = M_i W_i: every row of a matrix has a projection of its own, without bias.

    Args:
        rows: R.
        size: U.
        output_size: K.
    """

    def __init__(self, rows: int, size: int, output_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(rows, size, output_size))  # W_f
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, matrices: Tensor) -> Tensor:
        """(B, R, U) -> (B, R, K)."""
        return torch.einsum("bru,ruk->brk", matrices, self.weight)


class PrunedConnection(nn.Module):
    """What remains of a fully connected layer over M when every unit sees one row or one column of it alone.

    Units of a row (Mv) see the 2u numbers of one hop, units of a column (Mh) the R numbers of one state dimension.

    Args:
        rows, columns: shape of M, R and U.
        row_units: p, units of each row.
        column_units: q, units of each column.
    """

    def __init__(self, rows: int, columns: int, row_units: int, column_units: int) -> None:
        super().__init__()
        self.row_weight = nn.Parameter(torch.empty(rows, columns, row_units))  # V
        self.row_bias = nn.Parameter(torch.zeros(rows, row_units))  # c
        self.column_weight = nn.Parameter(torch.empty(columns, rows, column_units))  # Q
        self.column_bias = nn.Parameter(torch.zeros(columns, column_units))  # d
        self.output_size = rows * row_units + columns * column_units
        for weight in (self.row_weight, self.column_weight):
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)

    def forward(self, matrices: Tensor) -> Tensor:
        """(B, R, U) -> [vec(Mv); vec(Mh)] (B, R p + U q), one row or column of M after the other."""
        by_row = torch.einsum("bru,rup->brp", matrices, self.row_weight) + self.row_bias
        by_column = torch.einsum("bru,urq->buq", matrices, self.column_weight) + self.column_bias
        return torch.relu(torch.cat([by_row.flatten(1), by_column.flatten(1)], dim=1))
