"""How the models of gated units start: Cho et al. 2014, Section 4.1, and Bahdanau et al. 2015, B.1."""

from __future__ import annotations

import torch
from torch import nn
from transformers import initialization as init

from hf_attention_zoo.recurrent.gated_unit import orthogonal_blocks_

RECURRENT = ("gate_weight", "candidate_weight")


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
