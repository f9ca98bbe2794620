"""The output layer of a search for few hypotheses: its product in another library's layout.

A search for one sentence multiplies four or five rows by a matrix of thousands of words. torch's library of matrix
products is made for many rows; oneDNN, which comes with torch, takes half the time or less for few, once the weight is
laid out for it. That is done once for a search, which has tens of steps, and is not kept: who changes a weight between
two searches changes what the second one finds.

Shapes: N rows, H inputs, V words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.may_run import twin_may_run

MOST_ROWS = 8
LEAST_NUMBERS = 500_000  # of a weight; below, the layout costs more than a search gains


def packed_output(layer: nn.Module, rows: int) -> Callable[[Tensor], Tensor] | None:
    """A linear layer on (N, H) -> (N, V), or None where the layer itself is to be called.

    Args:
        layer: the output layer.
        rows: N.
    """
    if rows > MOST_ROWS or torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return None
    if type(layer) is not nn.Linear or not torch.backends.mkldnn.is_available() or not twin_may_run(layer):
        return None
    weight, bias = layer.weight, layer.bias
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or weight.numel() < LEAST_NUMBERS:
        return None
    operations: Any = torch.ops.mkldnn
    laid_out = operations._reorder_linear_weight(weight.detach(), rows)
    return lambda states: operations._linear_pointwise(states, laid_out, bias, "none", [], "")
