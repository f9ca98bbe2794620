"""Deep output of the captioner: a sum of what the decoder knows, as wide as a word (Xu et al. 2015, Eq. 7)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class DeepOutput(nn.Module):
    """o_t = E y_{t-1} + L_h h_t + L_z z_t, and in the authors' code its hyperbolic tangent.

    Shapes: (..., n) states, (..., D) contexts, (..., m) words.

    Args:
        hidden_size, context_size, size: n, D and m.
        reads_word, reads_context: whether the first and the last term take part.
        squashed: the hyperbolic tangent.
        num_layers: 1 for what stands above; each further one is a layer m -> m with a rectifier.
        dropout: on h_t, and on the result.
    """

    def __init__(
        self,
        hidden_size: int,
        context_size: int,
        size: int,
        *,
        reads_word: bool = True,
        reads_context: bool = True,
        squashed: bool = False,
        num_layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.state_projection = nn.Linear(hidden_size, size)  # L_h
        self.context_projection = nn.Linear(context_size, size) if reads_context else None  # L_z
        self.layers = nn.ModuleList(nn.Linear(size, size) for _ in range(num_layers - 1))
        self.reads_word, self.squashed = reads_word, squashed
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, context: Tensor, words: Tensor) -> Tensor:
        """(..., n), (..., D), (..., m) -> (..., m)."""
        total = self.state_projection(self.dropout(hidden))
        if self.reads_word:
            total = total + words
        if self.context_projection is not None:
            total = total + self.context_projection(context)
        if self.squashed:
            total = torch.tanh(total)
        for layer in self.layers:
            total = functional.relu(layer(self.dropout(total)))
        return self.dropout(total)
