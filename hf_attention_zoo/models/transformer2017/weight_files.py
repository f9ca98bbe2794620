"""Files of weights, read without running what is in them, and whose names the weights have."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.folders.wholeness import check_safetensors
from hf_attention_zoo.models.transformer2017.renamed_weights import State

FORMATS = ("marian", "fairseq", "annotated")


def load_weights(path: str | os.PathLike[str]) -> tuple[State, dict[str, Any]]:
    """The tensors of a file and the settings that stand beside them (fairseq's `args` or `cfg`), if any.

    Pickled files are read by torch's `weights_only` loader, which builds tensors, plain containers and argparse
    namespaces and runs nothing else.

    Raises:
        ValueError: the file is missing, holds no tensors, or needs code to be read.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        check_safetensors(path)
        return load_file(path), {}
    with path.open("rb") as file:
        beginning = file.read(2)
    if beginning != b"PK" and beginning[:1] != b"\x80":  # what torch.save writes: an archive, once a bare pickle
        raise ValueError(f"{path} is no file of weights; give one of PyTorch (.pt) or safetensors (.safetensors)")
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged pickles raise of every kind
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ValueError(
            f"{path} cannot be read without running what is in it ({reason}), and files of "
            "strangers are not run. Where you trust it, save its dictionary of tensors with safetensors, and convert "
            "that"
        ) from error
    settings: dict[str, Any] = {}
    if isinstance(content, Mapping) and isinstance(content.get("model"), Mapping):
        given = content.get("args")
        if given is None and isinstance(content.get("cfg"), Mapping):  # since fairseq 0.10.2
            given = content["cfg"].get("model")
        settings = vars(given) if isinstance(given, argparse.Namespace) else dict(given or {})
        content = content["model"]
    if isinstance(content, Mapping):
        content = content.get("state_dict", content) if "state_dict" in content else content
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ValueError(f"{path} holds no dictionary of tensors; save model.state_dict()")
    return dict(content), settings


def detect_format(state: Mapping[str, Tensor]) -> str:
    """Whose names these are.

    Raises:
        ValueError: nobody's that is known here.
    """
    names = set(state)
    if "model.shared.weight" in names or "model.encoder.embed_tokens.weight" in names:
        return "marian"
    if "encoder.embed_tokens.weight" in names:
        return "fairseq"
    if any(name.startswith("src_embed.") for name in names):
        return "annotated"
    shown = ", ".join(sorted(names)[:5])
    raise ValueError(f"weights called {shown} ... are of no known form; those that can be converted: {FORMATS}")
