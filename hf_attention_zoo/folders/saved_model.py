"""What a saved folder (or Hub id) holds: the Auto class that loads it, the model, the tokenizer."""

from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate import PartialState
from transformers import AutoConfig, AutoProcessor, AutoTokenizer

from hf_attention_zoo.registry import list_architectures

# What is assumed of models that are not the zoo's own: they translate.
DEFAULT_AUTO_CLASS = "AutoModelForSeq2SeqLM"


def process_state() -> PartialState:
    """Which process this is of how many. Without an accelerator the processes must be told to meet on the CPU."""
    return PartialState(cpu=not torch.accelerator.is_available())


def check_folder(folder: str | Path) -> None:
    """Raise a ValueError if a local folder is not there or holds no model."""
    path = Path(folder)
    if not path.is_dir() and (path.is_absolute() or str(folder).startswith(".") or str(folder).count("/") != 1):
        raise ValueError(f"no such folder: {folder}")
    if path.is_dir() and not (path / "config.json").is_file():
        raise ValueError(f"{folder} holds no model (no config.json); is the training finished?")


def auto_class_of(config: Any) -> str:
    """The Auto class of the saved model, by the class name that its config names."""
    saved = config.architectures or []
    for row in list_architectures():
        if row.model_type == config.model_type:
            return next(
                (auto for auto, name in row.models.items() if name in saved),
                next((auto for auto in row.models if auto != "AutoModel"), "AutoModel"),
            )
    if any(name.endswith("ForSequenceClassification") for name in saved):
        return "AutoModelForSequenceClassification"
    return DEFAULT_AUTO_CLASS


def saved_auto_class(folder: str | Path) -> str:
    """The Auto class that a folder or Hub id wants to be loaded with.

    Raises:
        ValueError: a local folder is not there or holds no model.
    """
    check_folder(folder)
    return auto_class_of(AutoConfig.from_pretrained(folder))


def aligner_of(folder: str | Path) -> str | None:
    """What `hf_attention_zoo.align` calls for a folder or Hub id, by the registry; None for other models."""
    model_type = AutoConfig.from_pretrained(folder).model_type
    return next((row.aligner for row in list_architectures() if row.model_type == model_type), None)


def load_checkpoint(folder: str | Path, device: str | torch.device | None = None) -> tuple[Any, Any]:
    """Model (in evaluation mode) and tokenizer of a folder or Hub id.

    Raises:
        ValueError: a local folder is not there or holds no model.
    """
    loader = getattr(transformers, saved_auto_class(folder))
    model = loader.from_pretrained(folder).to(device or process_state().device).eval()
    return model, AutoTokenizer.from_pretrained(folder)


def load_reader(folder: str | Path) -> Any:
    """What makes inputs for the model of a folder or Hub id: its processor if it has one, else its tokenizer."""
    model_type = AutoConfig.from_pretrained(folder).model_type
    has_processor = any(row.model_type == model_type and row.processor for row in list_architectures())
    return (AutoProcessor if has_processor else AutoTokenizer).from_pretrained(folder)
