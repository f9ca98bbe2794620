"""Tiny spread biLMs and their batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hf_attention_zoo import get_architecture
from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig

TEXTS = [["The", "cat", "sat", "on", "the", "mat", "."], ["고양이", "the"], [], ["the", "the", "a" * 60]]


def tiny(**changes: Any) -> ELMoConfig:
    """The row's tiny config with changes."""
    return ELMoConfig(**{**get_architecture("elmo").tiny_config().to_diff_dict(), **changes})


def made(model_class: type[Any], dtype: torch.dtype = torch.float64, seed: int = 0, **changes: Any) -> Any:
    """A model with spread weights in evaluation mode."""
    model = model_class(tiny(**changes)).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                size = 2.0 if isinstance(module, nn.Embedding) else 0.3 if "bias" in name else 0.7
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=dtype) * size)
    return model.eval()


def as_numpy(model: nn.Module) -> dict[str, np.ndarray]:
    """Weights for the reference."""
    return {name: tensor.detach().double().numpy() for name, tensor in model.state_dict().items()}


def labels_of(batch: dict[str, Tensor], end: int = 1) -> Tensor:
    """What the forward model predicts: the words' numbers and the end, -100 behind."""
    counts = batch["attention_mask"].sum(1)
    labels = torch.full((len(counts), batch["input_ids"].shape[1] + 1), -100)
    for row, count in enumerate(counts.tolist()):
        labels[row, :count] = batch["input_ids"][row, :count]
        labels[row, count] = end
    return labels
