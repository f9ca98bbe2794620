"""What a model carries from batch to batch in training, in the checkpoints of a run.

A model whose rows go on where they ended in the last batch (ELMo's streams) keeps more than weights; without it a run
that goes on would begin every row anew. Each process has rows of its own, and so a file of its own.

A module takes part by two methods: `carried_tensors()`, tensors by name, none where nothing is carried; and
`carry_on(tensors)`, which takes them back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import nn
from transformers.utils import logging

logger = logging.get_logger(__name__)


def carried_file(checkpoint: str | Path, process: int, processes: int) -> Path:
    """Where a process keeps what it carries."""
    return Path(checkpoint) / f"carried_state_{process}_of_{processes}.safetensors"


def carrying(model: nn.Module) -> dict[str, Any]:
    """The modules that carry something from batch to batch, by their names."""
    return {name: module for name, module in model.named_modules() if hasattr(module, "carried_tensors")}


def save_carried(model: nn.Module, checkpoint: str | Path, process: int, processes: int) -> None:
    """Write what this process carries; no file if that is nothing."""
    tensors = {
        f"{name}:{part}": tensor.detach().cpu().contiguous()
        for name, module in carrying(model).items()
        for part, tensor in module.carried_tensors().items()
    }
    if tensors:
        Path(checkpoint).mkdir(parents=True, exist_ok=True)  # a process may be here before the one that saves weights
        save_file(tensors, carried_file(checkpoint, process, processes))


def load_carried(model: nn.Module, checkpoint: str | Path, process: int, processes: int) -> None:
    """Go on with what this process carried; a warning where another number of processes did."""
    file = carried_file(checkpoint, process, processes)
    if not file.is_file():
        if carrying(model) and any(Path(checkpoint).glob("carried_state_*.safetensors")):
            logger.warning(
                f"{checkpoint} was saved by another number of processes than {processes}: what they carry from batch "
                "to batch begins from zero; start as many as before for the same losses"
            )
        return
    tensors = load_file(file)
    for name, module in carrying(model).items():
        mine = {part.partition(":")[2]: tensor for part, tensor in tensors.items() if part.startswith(f"{name}:")}
        if mine:
            module.carry_on(mine)
