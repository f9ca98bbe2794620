"""What a saved folder (or Hub id) holds: the Auto class that loads it, the model, the tokenizer."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from accelerate import PartialState
from transformers import AutoConfig, AutoProcessor, AutoTokenizer

from hf_attention_zoo.folders.checkpoint_folder import require_folder, required_json
from hf_attention_zoo.folders.eight_bits import check_quantization, in_eight_bits
from hf_attention_zoo.folders.wholeness import check_complete, loading
from hf_attention_zoo.near_names import did_you_mean_folder
from hf_attention_zoo.registry import Architecture, list_architectures

# Of models that are not the zoo's own the name of the class tells; otherwise they are assumed to translate.
DEFAULT = "AutoModelForSeq2SeqLM"
ENDINGS = {
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForMultipleChoice": "AutoModelForMultipleChoice",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForPreTraining": "AutoModelForPreTraining",
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
}


def process_state() -> PartialState:
    """Which process this is of how many. Without an accelerator the processes must be told to meet on the CPU."""
    return PartialState(cpu=not torch.accelerator.is_available())


def check_folder(folder: str | Path) -> None:
    """Raise a ValueError if a local folder is not there or holds no model; other names are taken for Hub ids."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{folder} is a file; give the folder of a model")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ValueError(f"{folder} holds no model (no config.json); is the training finished?")
        return
    first = str(folder).partition("/")[0]
    if path.is_absolute() or str(folder).startswith(".") or str(folder).count("/") != 1 or Path(first).exists():
        raise ValueError(f"no such folder: {folder}{did_you_mean_folder(path)}")


@dataclass(frozen=True)
class SavedKind:
    """What a folder holds, by its config alone.

    Attributes:
        model_type: as the config names it.
        auto_class: the Auto class that loads the model.
        row: of the registry; None for models that are not the zoo's.
    """

    model_type: str
    auto_class: str
    row: Architecture | None


def saved_kind(folder: str | Path) -> SavedKind:
    """What a folder or Hub id holds.

    Raises:
        ValueError: a local folder is not there or holds no model, or its config.json is no config of a model.
    """
    check_folder(folder)
    if not Path(folder).is_dir():
        return kind_of(saved_config(folder))
    settings = required_json(require_folder(folder) / "config.json")
    named = settings.get("architectures") or []
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ValueError(f"{Path(folder) / 'config.json'}: architectures is {named!r}; it is a list of class names")
    return kind_of(SimpleNamespace(model_type=settings["model_type"], architectures=settings.get("architectures")))


def saved_config(folder: str | Path) -> Any:
    """The config of a folder or Hub id. Raises ValueError if there is neither."""
    check_folder(folder)
    try:
        with loading(folder):
            return AutoConfig.from_pretrained(folder)
    except OSError as error:
        raise ValueError(f"there is no folder {folder}, and no such model from the Hub: {error}") from error


def kind_of(config: Any) -> SavedKind:
    """What is loaded for a config."""
    row = next((row for row in list_architectures() if row.model_type == config.model_type), None)
    return SavedKind(config.model_type, auto_class_of(config), row)


def auto_class_of(config: Any) -> str:
    """The Auto class of the saved model, by the class name that its config names."""
    saved = config.architectures or []
    for row in list_architectures():
        if row.model_type == config.model_type:
            return next(
                (auto for auto, name in row.models.items() if name in saved),
                next((auto for auto in row.models if auto != "AutoModel"), "AutoModel"),
            )
    return next((auto for ending, auto in ENDINGS.items() if any(name.endswith(ending) for name in saved)), DEFAULT)


def saved_auto_class(folder: str | Path) -> str:
    """The Auto class that a folder or Hub id wants to be loaded with. Raises as `saved_kind` does."""
    return saved_kind(folder).auto_class


def aligner_of(folder: str | Path) -> str | None:
    """What `hf_attention_zoo.align` calls for a folder or Hub id, by the registry; None for other models."""
    row = saved_kind(folder).row
    return None if row is None else row.aligner


def load_checkpoint(
    folder: str | Path, device: str | torch.device | None = None, quantize: str | None = None
) -> tuple[Any, Any]:
    """Model (in evaluation mode) and tokenizer of a folder or Hub id.

    It is loaded to read files: symbols that stand in texts are text (`data/text_encoding.py`).

    Args:
        device: where the model runs; by default this process's accelerator, or the CPU.
        quantize: "int8" for linear layers in eight bits (`folders/eight_bits.py`), which run on the CPU.

    Raises:
        ValueError: a local folder is not there, holds no model, is damaged or lacks weights; or the model cannot be
            quantised so.
    """
    check_quantization(quantize)
    loader = getattr(transformers, saved_auto_class(folder))
    with loading(folder):
        model, report = loader.from_pretrained(folder, output_loading_info=True)
        check_complete(folder, model, report)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.split_special_tokens = True
    if quantize is not None:
        return in_eight_bits(model), tokenizer
    return model.to(device or process_state().device).eval(), tokenizer


def load_reader(folder: str | Path) -> Any:
    """What makes inputs for the model of a folder or Hub id: its processor if it has one, else its tokenizer."""
    row = saved_kind(folder).row
    with loading(folder):
        return (AutoTokenizer if row is None or row.processor is None else AutoProcessor).from_pretrained(folder)
