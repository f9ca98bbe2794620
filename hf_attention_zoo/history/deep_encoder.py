"""A deep encoder of plain torch layers, for claims about residuals and norms, which the zoo's always have."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import TokenClassifierOutput

from hf_attention_zoo.attention.positions import sinusoids

NORMS = ("behind", "before", "none")


class Layer(nn.Module):
    """Self-attention, then a feed-forward layer.

    Args:
        size, heads: D, h.
        residual: whether what goes into a sub-layer is added to what comes out.
        norm: "behind", LayerNorm(x + f(x)) as in 2017; "before", x + f(LayerNorm(x)); or "none".
    """

    def __init__(self, size: int, heads: int, residual: bool, norm: str) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(size, heads, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        self.norms = nn.ModuleList([nn.Identity() if norm == "none" else nn.LayerNorm(size) for _ in range(2)])
        self.residual, self.norm = residual, norm

    def forward(self, states: Tensor) -> Tensor:
        """(N, T, D) -> (N, T, D)."""
        for place, norm in enumerate(self.norms):
            given = norm(states) if self.norm == "before" else states
            change = (
                self.attention(given, given, given, need_weights=False)[0] if place == 0 else self.feed_forward(given)
            )
            states = states + change if self.residual else change
            if self.norm == "behind":
                states = norm(states)
        return states


class DeepTagger(nn.Module):
    """Embeddings, sinusoids, layers, and a linear layer on every state.

    Args:
        symbols: of the vocabulary, and labels.
        size, heads, layers: D, h, N.
        residual, norm: as of `Layer`; with the norm before, one more follows the last layer.
    """

    def __init__(self, symbols: int, size: int, heads: int, layers: int, residual: bool, norm: str) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm is {norm!r}; give one of {', '.join(NORMS)}")
        self.table = nn.Embedding(symbols, size)
        nn.init.normal_(self.table.weight, std=size**-0.5)
        self.layers = nn.Sequential(*[Layer(size, heads, residual, norm) for _ in range(layers)])
        self.last = nn.LayerNorm(size) if norm == "before" else nn.Identity()
        self.output = nn.Linear(size, symbols)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> TokenClassifierOutput:
        """(N, T) ids -> logits (N, T, C) and, with labels (N, T), the mean cross entropy."""
        vectors = self.table(input_ids) * math.sqrt(self.table.embedding_dim)
        positions = sinusoids(input_ids.shape[1], self.table.embedding_dim).to(vectors.dtype)
        logits = self.output(self.last(self.layers(vectors + positions)))
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return TokenClassifierOutput(loss=loss, logits=logits)
