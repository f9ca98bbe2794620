"""An embedding table that says which id it has no row for."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class TokenTable(nn.Embedding):
    """`nn.Embedding` with an error that can be acted on: torch's own names neither the id nor the table.

    Args:
        num_embeddings, embedding_dim: rows and their size.
        holds: what the rows stand for, for the message.

    Raises:
        ValueError: in `forward`, if an id has no row (on other devices than the CPU torch's own check stands).
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, holds: str = "tokens") -> None:
        super().__init__(num_embeddings, embedding_dim)
        self.holds = holds

    def forward(self, input: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return super().forward(input)
        try:
            return super().forward(input)
        except IndexError as error:
            rows = self.weight.shape[0]
            wrong = int(input[(input < 0) | (input >= rows)][0])
            raise ValueError(
                f"id {wrong} is outside 0 to {rows - 1}: the model has {rows} {self.holds}; use the tokenizer that it "
                "was trained with, or give the model more rows"
            ) from error
