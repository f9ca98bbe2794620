"""One uniform range for every weight, as the LSTM models of 2014 and 2015 start from."""

from __future__ import annotations

import torch
from torch import nn
from transformers import initialization as init


@torch.no_grad()
def initialise_uniform_(module: nn.Module, reach: float) -> None:
    """Fill the module's own weights and biases, not its children's, from U(-reach, reach)."""
    for parameter in module.parameters(recurse=False):
        init.uniform_(parameter, -reach, reach)
