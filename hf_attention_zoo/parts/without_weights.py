"""A part of a model that may have no weights of its own, such as an encoder of vectors that are given."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class MayHaveNoWeights:
    """Stands before `PreTrainedModel`, which asks the first weight and ends in StopIteration where there is none."""

    parameters: Any

    @property
    def device(self) -> torch.device:
        weight: nn.Parameter | None = next(self.parameters(), None)
        return torch.device("cpu") if weight is None else weight.device

    @property
    def dtype(self) -> torch.dtype:
        weight: nn.Parameter | None = next(self.parameters(), None)
        return torch.get_default_dtype() if weight is None else weight.dtype
