"""How the models of gated units start: Cho et al. 2014, Section 4.1, and Bahdanau et al. 2015, B.1."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import initialization as init

RECURRENT = ("gate_weight", "candidate_weight")


def orthogonal_blocks_(matrix: Tensor) -> Tensor:
    """Fill each square block of a (k H, H) matrix with its own random orthogonal matrix, in place."""
    size = matrix.shape[1]
    if matrix.shape[0] % size:
        raise ValueError(f"a stack of square blocks is wanted, got shape {tuple(matrix.shape)}")
    with torch.no_grad():
        for block in matrix.split(size):
            square = torch.empty(size, size, dtype=torch.float32, device=block.device)
            block.copy_(nn.init.orthogonal_(square))
    return matrix


def reset_gated_(unit: nn.Module) -> None:
    """A unit by itself: normal input weights, one random orthogonal block per recurrent gate, biases 0."""
    for name, parameter in unit.named_parameters(recurse=False):
        if name in RECURRENT:
            orthogonal_blocks_(parameter)
        elif "bias" not in name:
            nn.init.normal_(parameter, std=0.01)


@torch.no_grad()
def initialise_gated_(module: nn.Module, std: float, zero: tuple[str, ...] = ()) -> None:
    """Fill the parameters that a module has itself, not those of its parts.

    Recurrent matrices become random orthogonal, each on its own; biases and the parameters named in `zero` 0; the rest
    N(0, std^2). Parameters that were loaded stay as they are.
    """
    for name, parameter in module.named_parameters(recurse=False):
        if "bias" in name or name in zero:
            init.zeros_(parameter)
        elif name in RECURRENT:
            if not getattr(parameter, "_is_hf_initialized", False):
                orthogonal_blocks_(parameter)
        else:
            init.normal_(parameter, std=std)
