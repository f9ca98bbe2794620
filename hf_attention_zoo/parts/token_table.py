"""An embedding table that says which id it has no row for."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.may_run import is_plain_weight


def token_table(rows: int, size: int, holds: str = "tokens") -> nn.Embedding:
    """A plain `nn.Embedding` with an error that can be acted on: torch's own names neither the id nor the table.

    Args:
        rows, size: rows and their size.
        holds: what the rows stand for, for the message.

    The table's call raises ValueError if an id on the CPU has no row; elsewhere torch's own check stands.
    """
    table = nn.Embedding(rows, size)
    table.register_forward_pre_hook(partial(_check_ids, holds))
    return table


def _check_ids(holds: str, table: nn.Embedding, inputs: tuple[Any, ...]) -> None:
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or not inputs:
        return
    ids, rows = inputs[0], table.num_embeddings
    if ids.device.type != "cpu" or not ids.numel():
        return
    low, high = (int(bound) for bound in torch.aminmax(ids))
    if low < 0 or high >= rows:
        raise ValueError(
            f"id {low if low < 0 else high} is outside 0 to {rows - 1}: the model has {rows} {holds}; use the "
            "tokenizer that it was trained with, or give the model more rows"
        )


def rows_of(table: nn.Embedding) -> Tensor:
    """All rows of a table, for an output layer that shares them: its weight, or what it gives if it is wrapped."""
    if type(table) is nn.Embedding and is_plain_weight(table.weight) and "forward" not in vars(table):
        return table.weight
    device = table.weight.device if table.weight.device.type != "meta" else None
    return table(torch.arange(table.num_embeddings, device=device))
