"""Is a saved folder whole? Damage is named by its file before, and whatever loading raises is one ValueError."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_attention_zoo.registry import list_architectures

WEIGHTS = ("model*.safetensors", "adapter_model*.safetensors")
TOKENIZERS = ("tokenizer.json", "target_tokenizer.json")
JSON_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "processor_config.json",
    "preprocessor_config.json",
    "model.safetensors.index.json",
)
SHOWN = 3
TEXTS = ("language", "source_lang", "target_lang", "kind", "tokenizer_class")
TOKENS = tuple(f"{name}_token" for name in ("pad", "unk", "bos", "eos", "cls", "sep", "mask"))
SIDES = ("padding_side", "truncation_side")
NUMBERS = {
    "tokenizer_config.json": ("model_max_length", "max_characters"),
    "generation_config.json": (
        *(
            "max_length",
            "max_new_tokens",
            "min_length",
            "min_new_tokens",
            "num_beams",
            "num_return_sequences",
            "top_k",
        ),
        *("temperature", "top_p", "typical_p", "length_penalty", "repetition_penalty", "no_repeat_ngram_size"),
        *("num_beam_groups", "diversity_penalty", "max_time", "gnmt_length_penalty", "gnmt_coverage_penalty"),
    ),
}


def check_whole(folder: str | Path) -> None:
    """Raise a ValueError that names the first damaged file of a local folder: settings, tokenizer, weights.

    Of the weights the header is read and held against the length of the file.
    """
    path = Path(folder)
    for name in JSON_FILES:
        if (path / name).is_file():
            content = check_json(path / name)
            if name == "config.json":
                _check_config(path / name, content)
            _check_kinds(path / name, content)
    for name in TOKENIZERS:
        if (path / name).is_file():
            _check_tokenizer(path / name, check_json(path / name))
    for pattern in WEIGHTS:
        for file in sorted(path.glob(pattern)):
            check_safetensors(file)


def check_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file. Raises a ValueError if it holds none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is no JSON ({error}). Save or fetch the folder again") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it holds a {type(content).__name__}, not an object. Save it again")
    return content


def _check_config(path: Path, content: dict[str, Any]) -> None:
    """Fields of an architecture of the zoo have the types and values that it allows."""
    row = next((row for row in list_architectures() if row.model_type == content.get("model_type")), None)
    if row is None:
        return
    try:
        row.config_class.from_dict(content)
    except Exception as error:  # of many kinds: a wrong type, a combination that is no model, a field of another form
        said = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is no {row.config_class.__name__}: {said[:400]}") from error


def _check_kinds(path: Path, content: dict[str, Any]) -> None:
    """Settings that are read only when texts are: a value of another kind would be found in the middle of work."""
    for name, value in content.items():
        if value is None:
            continue
        if name in SIDES and path.name == "tokenizer_config.json":
            right, kind = value in ("left", "right"), "left or right"
        elif path.name == "tokenizer_config.json" and name in (*TEXTS, *TOKENS):
            right, kind = isinstance(value, (str, dict) if name in TOKENS else str), "a text"
        elif name.endswith("_token_id") and path.name == "generation_config.json":
            ids = value if isinstance(value, list) else [value]
            right, kind = all(type(number) is int for number in ids), "a number"
        elif name in NUMBERS.get(path.name, ()):
            right, kind = isinstance(value, (int, float)) and not isinstance(value, bool), "a number"
        else:
            continue
        if not right:
            raise ValueError(f"{path} is damaged: {name} is {str(value)[:80]!r}, not {kind}. Save it again")


def _check_tokenizer(path: Path, content: dict[str, Any]) -> None:
    from tokenizers import Tokenizer

    version = content.get("version")
    if isinstance(version, str):  # what our own tokenizers write behind it keeps others from reading them
        content = {**content, "version": version.partition(",")[0]}
    try:
        Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the library raises nothing more special
        raise ValueError(f"{path} is damaged: it is no tokenizer ({error}). Save or fetch the folder again") from error


def check_safetensors(path: Path) -> None:
    """Raise a ValueError if a file is no safetensors file, or shorter or longer than its header says."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little") if size >= 8 else -1
        if not 0 < length <= size - 8:
            raise ValueError(f"{path} is damaged: {size:,} bytes without a whole header. Save or fetch it again")
        try:
            header = json.loads(file.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            wanted = 8 + length + max(ends, default=0)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: its header is no list of tensors. Save or fetch it again") from error
    if wanted != size:
        raise ValueError(
            f"{path} is damaged: its header tells of {wanted:,} bytes, the file has {size:,}. Save or fetch it again"
        )


@contextmanager
def loading(folder: str | Path) -> Iterator[None]:
    """Around what loads a folder or Hub id: damage and settings that no model can have are one ValueError.

    Raises:
        ValueError: a file of the local folder is damaged, or loading failed.
    """
    from transformers.utils import logging

    local = Path(folder).is_dir()
    if local:
        check_whole(folder)
    before = logging.get_verbosity()
    logging.set_verbosity_error()  # the library's report of what does not fit takes many lines
    try:
        yield
    except (ValueError, ImportError):
        raise
    except OSError as error:
        if not local:
            raise
        raise ValueError(f"{folder} cannot be loaded: {error}") from error
    except Exception as error:
        said = " ".join(str(error).split())
        raise ValueError(
            f"{folder} cannot be loaded: {said[:400] or type(error).__name__}; look at its config.json and the files "
            "beside it, or save or fetch the folder again"
        ) from error
    finally:
        logging.set_verbosity(before)


def check_complete(folder: str | Path, model: Any, report: dict[str, Any]) -> None:
    """Raise a ValueError if weights of a model were not in its folder: they would be random.

    Args:
        report: what `from_pretrained` says with `output_loading_info`.
    """
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    if missing:
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        instead = f"; it has {', '.join(unexpected[:SHOWN])} instead" if unexpected else ""
        raise ValueError(
            f"{folder} lacks weights of a {type(model).__name__}: {', '.join(missing[:SHOWN])}{more}{instead}. "
            "Save or fetch the folder again"
        )
