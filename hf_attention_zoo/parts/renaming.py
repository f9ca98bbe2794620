"""Weights under the names of another implementation, and back: one table serves both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from hf_attention_zoo.folders.wholeness import loading
from hf_attention_zoo.registry import get_architecture

State = dict[str, Tensor]
# (their name, our name); {n} stands for the number of a layer, and an ending .weight or .bias goes along.
NameTable = tuple[tuple[str, str], ...]


def renamed(state: Mapping[str, Tensor], names: NameTable, ignored: Iterable[str] = ()) -> State:
    """Tensors under new names.

    Args:
        names: (old, new), matched whole.
        ignored: patterns of tensors that are left out.

    Raises:
        ValueError: a tensor has no new name.
    """
    compiled = [(re.compile(re.escape(old).replace(r"\{n\}", r"(?P<n>\d+)")), new) for old, new in names]
    result: State = {}
    for name, tensor in state.items():
        if any(re.fullmatch(pattern, name) for pattern in ignored):
            continue
        stem, dot, ending = name.rpartition(".")
        if ending not in ("weight", "bias"):
            stem, dot, ending = name, "", ""
        for pattern, new in compiled:
            match = pattern.fullmatch(stem)
            if match:
                number = match.groupdict().get("n")
                result[(new if number is None else new.replace("{n}", number)) + dot + ending] = tensor
                break
        else:
            raise ValueError(f"{name} has no counterpart in the paper's model; this network has more than it has")
    return result


def reversed_names(names: NameTable) -> NameTable:
    """The table for the way back."""
    return tuple((ours, theirs) for theirs, ours in names)


def loaded(model: Any, state: Mapping[str, Tensor], may_miss: Iterable[str] = ()) -> Any:
    """The model with these weights, in their type, every one of which must find its place.

    Args:
        may_miss: patterns of weights that keep the model's own values.

    Raises:
        ValueError: tensors are left over, missing or of the wrong shape.
    """
    dtypes = {tensor.dtype for tensor in state.values() if tensor.is_floating_point()}
    if len(dtypes) == 1:
        model = model.to(dtypes.pop())
    try:
        missing, unexpected = model.load_state_dict(dict(state), strict=False)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit the sizes found: {' '.join(str(error).split())[:300]}") from error
    missing = [name for name in missing if not any(re.fullmatch(pattern, name) for pattern in may_miss)]
    tied = set(getattr(model, "all_tied_weights_keys", None) or {})
    wrong = sorted({*missing, *unexpected} - tied)
    if wrong:
        raise ValueError(
            f"{', '.join(wrong[:5])}: missing in the weights, or without a counterpart in the paper's model"
        )
    model.tie_weights()
    return model.eval()


def saved_model(source: Path, model_type: str, default: str) -> Any:
    """The model of a folder of transformers, as the class that its config names.

    Args:
        model_type: that the folder must hold.
        default: the class of a config that names none.

    Raises:
        ValueError: another kind of model, weights that need code to be read, or weights that are missing.
    """
    import transformers

    if not (source / "config.json").is_file():
        raise ValueError(f"{source} has no config.json; give the folder of a saved {model_type} model")
    with loading(source):
        config = transformers.AutoConfig.from_pretrained(source)
    if config.model_type != model_type:
        raise ValueError(f"{source} holds a {config.model_type} model; a {model_type} is wanted")
    if not list(source.glob("*.safetensors")):
        raise ValueError(f"{source} has no safetensors weights; load and save the model with transformers first")
    name = (config.architectures or [default])[0]
    model_class: Any = getattr(transformers, name, None)
    if model_class is None:
        model_class = {found.__name__: found for found in get_architecture(model_type).model_classes.values()}[name]
    with loading(source):
        model, report = model_class.from_pretrained(source, output_loading_info=True)
    if report["missing_keys"]:
        raise ValueError(f"{source} has no weights called {', '.join(sorted(report['missing_keys'])[:5])}")
    return model
