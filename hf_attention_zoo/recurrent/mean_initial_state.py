"""The initial state of a decoder from the mean of what it will attend to (Xu et al. 2015, Section 3.1.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class MeanInitialState(nn.Module):
    """u = relu(W_1 mean(a) + b_1), h_0 = tanh(W_h u + b_h), c_0 = tanh(W_c u + b_c).

    Args:
        value_size, hidden_size: D and n.
        num_layers: 2 for what stands above; 1 leaves u out and reads the mean itself.
        dropout: on u.
    """

    def __init__(self, value_size: int, hidden_size: int, num_layers: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.shared = nn.Linear(value_size, value_size) if num_layers == 2 else None  # W_1
        self.hidden = nn.Linear(value_size, hidden_size)
        self.cell = nn.Linear(value_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) and (B, S) bool -> h_0 and c_0, (B, n) each; the mean is that of true positions."""
        real = mask[..., None].to(values.dtype)
        mean = (values * real).sum(1) / real.sum(1).clamp(min=1)
        inner = mean if self.shared is None else self.dropout(functional.relu(self.shared(mean)))
        return torch.tanh(self.hidden(inner)), torch.tanh(self.cell(inner))
