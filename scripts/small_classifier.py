"""Word vectors, averaged or read by a BiGRU: the models without attention that classifiers are compared with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.recurrent.bidirectional import reading_order, take


class SmallClassifier(nn.Module):
    """Word vectors, read by averaging or by a BiGRU, and a linear layer; pairs are compared side by side.

    Args:
        reader: "average", or "bigru": the last state of each direction.
        pairs: whether `token_type_ids` part two texts; then their vectors a and b become [a; b; |a - b|; a * b].
    """

    def __init__(
        self,
        reader: str,
        vocab_size: int,
        num_labels: int,
        pairs: bool,
        embedding_size: int,
        hidden_size: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, embedding_size)
        nn.init.normal_(self.embed_tokens.weight, std=0.1)
        self.gru = (
            nn.GRU(embedding_size, hidden_size, batch_first=True, bidirectional=True) if reader == "bigru" else None
        )
        self.dropout = nn.Dropout(dropout)
        width = embedding_size if self.gru is None else 2 * hidden_size
        self.pairs = pairs
        self.classifier = nn.Linear(4 * width if pairs else width, num_labels)

    @property
    def device(self) -> torch.device:
        return self.classifier.weight.device

    def get_input_embeddings(self) -> nn.Embedding:
        """The table that word vectors go into."""
        return self.embed_tokens

    def read(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """One vector a text: (B, T), (B, T) -> (B, H). Texts without a token get zeros."""
        lengths = mask.sum(1)
        order = reading_order(mask)[0][:, : max(1, int(lengths.max()))]
        embedded = self.dropout(self.embed_tokens(input_ids.gather(1, order)))
        kept = mask.gather(1, order)
        if self.gru is None:
            return (embedded * kept[..., None]).sum(1) / lengths.clamp(min=1)[:, None]
        # Each direction over the padded batch: the backward pass of packed rows takes time quadratic in their length.
        start = embedded.new_zeros(1, len(embedded), self.gru.hidden_size)
        rows, last = torch.arange(len(embedded)), (lengths - 1).clamp(min=0)
        ends = []
        for direction, weights in zip(reading_order(kept), self.gru.all_weights, strict=True):
            read = take(embedded, direction)
            states, _ = torch.gru(read, start, list(weights), True, 1, 0.0, self.training, False, True)  # (B, T, H)
            ends.append(states[rows, last])
        return torch.cat(ends, dim=1) * (lengths > 0)[:, None]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        from transformers.modeling_outputs import SequenceClassifierOutput

        real = attention_mask.bool()
        if self.pairs:
            one, other = (self.read(input_ids, real & (token_type_ids == side)) for side in (0, 1))
            text = torch.cat([one, other, (one - other).abs(), one * other], dim=1)
        else:
            text = self.read(input_ids, real)
        logits = self.classifier(self.dropout(text))
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits, labels, reduction="sum")
            loss = loss / (len(labels) if num_items_in_batch is None else num_items_in_batch)
        return SequenceClassifierOutput(loss=loss, logits=logits)
