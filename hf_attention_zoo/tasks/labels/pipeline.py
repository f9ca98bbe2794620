"""Documents of different shapes in one batch of a pipeline.

The pipelines of transformers pad batches along one axis. Ids of documents have two that differ, (1, sentences, words):
sentences get the width of the widest before transformers stacks them. Everything else goes its usual way.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional

NAMES = ("input_ids", "attention_mask")


def same_widths(items: list[dict[str, Any]], key: str, padding_value: Any, padding_side: str | None) -> Any:
    """The items with equal last axes, where `key` holds ids of documents (1, sentences, words)."""
    tensors = [item[key] for item in items]
    if key not in NAMES or not all(isinstance(tensor, Tensor) and tensor.ndim == 3 for tensor in tensors):
        return items
    width = max(tensor.shape[-1] for tensor in tensors)
    left = padding_side == "left"
    wider = []
    for tensor in tensors:
        missing = width - tensor.shape[-1]
        wider.append(functional.pad(tensor, (missing, 0) if left else (0, missing), value=padding_value))
    return [{key: tensor} for tensor in wider]


def pad_documents() -> None:
    """Let transformers' pipelines pad documents, once."""
    from transformers.pipelines import base

    if getattr(base._pad, "pads_documents", False):
        return
    stack = base._pad

    def _pad(items: list[dict[str, Any]], key: str, padding_value: Any, padding_side: str | None) -> Any:
        return stack(same_widths(items, key, padding_value, padding_side), key, padding_value, padding_side)

    vars(_pad)["pads_documents"] = True
    base._pad = _pad


pad_documents()
