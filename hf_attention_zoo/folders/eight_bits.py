"""Matrices of linear layers in eight bits, for running a model on a CPU.

Each row of a weight is rounded to the 255 steps between minus and plus its largest number; inputs are rounded as they
come, by their range; products are sums of whole numbers (`torch.ao.quantization`, dynamic). What is no linear layer
stays in float32: tables of words, and the matrices of recurrent units and LSTM stacks.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn
from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

INT8 = "int8"
QUANTIZATIONS = (INT8,)


def check_quantization(quantize: str | None, name: str = "quantize") -> None:
    """Raise a ValueError unless the form is known, or none is wanted, and this torch can run it.

    Args:
        name: of the setting, in the words of the entry that was used.
    """
    if quantize is None:
        return
    if quantize not in QUANTIZATIONS:
        raise ValueError(f"{name} is {quantize!r}; known is {', '.join(QUANTIZATIONS)}, or leave it out for float32")
    if torch.backends.quantized.engine == "none":
        raise ValueError(f"{name}={quantize}: this torch has no products in eight bits; leave it out")


def refuse_saving(*args: Any, **kwargs: Any) -> None:
    """Stands in the place of `save_pretrained`. Raises ValueError."""
    raise ValueError(
        "a model in eight bits cannot be saved; save it in float32, and round it when it is loaded: "
        'load_checkpoint(folder, quantize="int8")'
    )


def in_eight_bits(model: Any) -> Any:
    """The same model with its linear layers in eight bits, on the CPU and in evaluation mode.

    It cannot be trained, nor saved. A table of words that shares its numbers with the output layer stays in float32.

    Raises:
        ValueError: the model has no linear layer, is in eight bits already, or is not in float32.
    """
    check_quantization(INT8)
    if getattr(model, "save_pretrained", None) is refuse_saving:
        raise ValueError("the model is in eight bits already; load it again for another form")
    layers = [layer for layer in model.modules() if type(layer) is nn.Linear]
    if not layers:
        raise ValueError(f"a {model.config.model_type} has no linear layer to round to eight bits; leave out quantize")
    kinds = {layer.weight.dtype for layer in layers}
    if kinds != {torch.float32}:
        found = ", ".join(sorted(str(kind).removeprefix("torch.") for kind in kinds))
        raise ValueError(f"the model's weights are {found}; eight bits are made of float32 (dtype=torch.float32)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torchao will take the place of these kernels
        made: Any = quantize_dynamic(model.cpu().eval(), {nn.Linear: per_channel_dynamic_qconfig}, inplace=True)
    made.save_pretrained = refuse_saving
    return made
