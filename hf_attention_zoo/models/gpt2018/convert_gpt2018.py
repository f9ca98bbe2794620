"""GPT's weights from and to transformers' own classes, and from the authors' NumPy release.

All compute the same. transformers keeps queries, keys and values in one matrix and every matrix as `[in, out]`; its
choice of several answers has a bias, the same number for every choice, which changes no probability and is left out.
The release has one file of numbers for all weights, positions first.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo.models.gpt2018.configuration_gpt2018 import GPT2018Config
from hf_attention_zoo.parts.renaming import NameTable, State, loaded, renamed, reversed_names

BLOCK: NameTable = (
    ("h.{n}.attn.q", "layers.{n}.self_attention.q_proj"),
    ("h.{n}.attn.k", "layers.{n}.self_attention.k_proj"),
    ("h.{n}.attn.v", "layers.{n}.self_attention.v_proj"),
    ("h.{n}.attn.c_proj", "layers.{n}.self_attention.o_proj"),
    ("h.{n}.ln_1", "layers.{n}.self_attention_residual.norm"),
    ("h.{n}.mlp.c_fc", "layers.{n}.feed_forward.linear_1"),
    ("h.{n}.mlp.c_proj", "layers.{n}.feed_forward.linear_2"),
    ("h.{n}.ln_2", "layers.{n}.feed_forward_residual.norm"),
)
BODY: NameTable = (("tokens_embed", "embed_tokens"), ("positions_embed", "embed_positions"), *BLOCK)
# Name of their class without its prefix -> of ours, and the names of the task's layer.
TASKS: dict[str, tuple[str, NameTable]] = {
    "Model": ("Model", ()),
    "LMHeadModel": ("ForCausalLM", (("lm_head", "lm_head"),)),
    "ForSequenceClassification": ("ForSequenceClassification", (("score", "task"),)),
    "DoubleHeadsModel": ("ForMultipleChoice", (("multiple_choice_head.summary", "task"),)),
}
FIELDS = {
    "vocab_size": "vocab_size",
    "n_positions": "max_position_embeddings",
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "resid_pdrop": "residual_dropout",
    "embd_pdrop": "embedding_dropout",
    "attn_pdrop": "attention_dropout",
    "layer_norm_epsilon": "layer_norm_eps",
    "initializer_range": "initializer_range",
    "pad_token_id": "pad_token_id",
    "id2label": "id2label",
    "label2id": "label2id",
    "problem_type": "problem_type",
    "tie_word_embeddings": "tie_word_embeddings",
}
# What transformers calls "gelu" here is the approximation by tanh.
ACTIVATIONS = {"gelu": "gelu_pytorch_tanh", "relu": "relu", "silu": "silu", "swish": "silu"}


def _names(kind: str) -> NameTable:
    prefixed = tuple((f"transformer.{theirs}", f"model.{ours}") for theirs, ours in BODY)
    return BODY if kind == "Model" else prefixed + TASKS[kind][1]


def _is_matrix(name: str) -> bool:
    """Whether transformers keeps this weight as `[in, out]`."""
    return name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight"))


def _split(state: Mapping[str, Tensor]) -> State:
    """Matrices as torch's linear layers have them, and three where queries, keys and values are one."""
    result: State = {}
    for name, tensor in state.items():
        turned = tensor.t().contiguous() if _is_matrix(name) else tensor
        stem, _, ending = name.rpartition(".")
        if stem.endswith("attn.c_attn"):
            for letter, part in zip("qkv", turned.chunk(3), strict=True):
                result[f"{stem.removesuffix('c_attn')}{letter}.{ending}"] = part
        else:
            result[name] = turned
    return result


def _joined(state: Mapping[str, Tensor]) -> State:
    """The way back of `_split`."""
    result: State = {}
    for name, tensor in state.items():
        stem, _, ending = name.rpartition(".")
        if stem.endswith("attn.q"):
            parts = torch.cat([state[f"{stem[:-1]}{letter}.{ending}"] for letter in "qkv"])
            name, tensor = f"{stem[:-1]}c_attn.{ending}", parts
        elif stem.endswith(("attn.k", "attn.v")):
            continue
        result[name] = tensor.t().contiguous() if _is_matrix(name) else tensor
    return result


def from_transformers(theirs: Any) -> Any:
    """A GPT2018 with the weights of one of transformers' OpenAIGPT classes.

    Raises:
        ValueError: a class without a counterpart, or another width of the feed-forward layers or function.
    """
    from hf_attention_zoo.models.gpt2018 import modeling_gpt2018

    kind, settings = type(theirs).__name__.removeprefix("OpenAIGPT"), theirs.config
    if kind not in TASKS:
        known = ", ".join(f"OpenAIGPT{name}" for name in TASKS)
        raise ValueError(f"{type(theirs).__name__} has no counterpart; those that are converted: {known}")
    if settings.afn not in ACTIVATIONS:
        raise ValueError(f"afn={settings.afn!r} is not known; it is one of {', '.join(ACTIVATIONS)}")
    fields = {ours: getattr(settings, name) for name, ours in FIELDS.items()}
    config = GPT2018Config(
        **fields,
        intermediate_size=4 * settings.n_embd,
        hidden_act=ACTIVATIONS[settings.afn],
        classifier_dropout=settings.summary_first_dropout,
    )
    ignored = [r".*\.attn\.bias", r"multiple_choice_head\.summary\.bias", r"(transformer\.)?position_ids"]
    if kind == "DoubleHeadsModel":
        ignored.append(r"lm_head\.weight")
    weights = renamed(
        _split({n: t for n, t in theirs.state_dict().items() if n != "lm_head.bias"}), _names(kind), ignored
    )
    return loaded(getattr(modeling_gpt2018, f"GPT2018{TASKS[kind][0]}")(config), weights)


def to_transformers(ours: Any) -> Any:
    """One of transformers' OpenAIGPT classes with the weights of a GPT2018.

    Raises:
        ValueError: a model that transformers has no counterpart of.
    """
    import transformers

    config, mine = ours.config, type(ours).__name__.removeprefix("GPT2018")
    kinds = {name: theirs for theirs, (name, _) in TASKS.items()}
    acts = {ours_act: theirs_act for theirs_act, ours_act in reversed(ACTIVATIONS.items())}
    reasons = {
        f"{type(ours).__name__} has no counterpart": mine not in kinds,
        f"hidden_act={config.hidden_act!r}: it knows {', '.join(acts)}": config.hidden_act not in acts,
        "intermediate_size: its feed-forward layers have four times the hidden size": (
            config.intermediate_size != 4 * config.hidden_size
        ),
        "similarity=True: it reads a pair in one order": config.similarity,
        "classifier_bias=True: its classifier of texts has none": (
            config.classifier_bias and mine == "ForSequenceClassification"
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ValueError(f"transformers' GPT cannot hold this model: {reason}")
    kind = kinds[mine]
    fields = {name: getattr(config, field) for name, field in FIELDS.items()}
    theirs = getattr(transformers, f"OpenAIGPT{kind}")(
        transformers.OpenAIGPTConfig(
            **fields, afn=acts[config.hidden_act], summary_first_dropout=config.classifier_dropout
        )
    )
    weights = _joined(renamed(ours.state_dict(), reversed_names(_names(kind))))
    if kind == "DoubleHeadsModel":
        weights["lm_head.weight"] = weights["transformer.tokens_embed.weight"]
        weights.setdefault("multiple_choice_head.summary.bias", torch.zeros(1, dtype=ours.dtype))
    return loaded(theirs, weights)


def convert_release(shapes: list[list[int]], numbers: np.ndarray, heads: int | None = None) -> Any:
    """A GPT2018ForCausalLM from the authors' release.

    Args:
        shapes: params_shapes.json: positions, tokens, then twelve weights for each block.
        numbers: all weights in that order, in one row.
        heads: the files do not say; by default heads of 64, as in the paper.

    Raises:
        ValueError: shapes and numbers do not fit each other or the architecture.
    """
    from hf_attention_zoo.models.gpt2018.modeling_gpt2018 import GPT2018ForCausalLM

    sizes = [math.prod(shape) for shape in shapes]
    if sum(sizes) != numbers.size or len(shapes) % 12 != 2:
        raise ValueError(
            f"{len(shapes)} shapes hold {sum(sizes)} numbers and {numbers.size} came; the release has positions, "
            "tokens and twelve weights for each block"
        )
    parts = np.split(numbers.reshape(-1), np.cumsum(sizes)[:-1])
    tensors = [torch.from_numpy(part.reshape(shape).copy()) for part, shape in zip(parts, shapes, strict=True)]
    positions, tokens = tensors[:2]
    size, blocks = tokens.shape[1], (len(tensors) - 2) // 12
    order = [
        f"{place}.{kind}"
        for place in ("attn.c_attn", "attn.c_proj", "ln_1", "mlp.c_fc", "mlp.c_proj", "ln_2")
        for kind in ("weight", "bias")
    ]
    state: State = {"transformer.positions_embed.weight": positions, "transformer.tokens_embed.weight": tokens}
    for block in range(blocks):
        for name, tensor in zip(order, tensors[2 + 12 * block :], strict=False):
            state[f"transformer.h.{block}.{name}"] = tensor.reshape(tensor.shape[-2:] if tensor.ndim == 3 else -1)
    config = GPT2018Config(
        vocab_size=tokens.shape[0],
        hidden_size=size,
        max_position_embeddings=positions.shape[0],
        num_hidden_layers=blocks,
        num_attention_heads=max(1, size // 64) if heads is None else heads,
        intermediate_size=state["transformer.h.0.mlp.c_fc.weight"].shape[1],
    )
    weights = renamed(_split(state), _names("LMHeadModel"))
    weights["lm_head.weight"] = tokens
    return loaded(GPT2018ForCausalLM(config), weights)


def convert_release_folder(source: str | os.PathLike[str], heads: int | None = None) -> Any:
    """The model of a folder of the release: `params_shapes.json` and `params_0.npy`, `params_1.npy`, ...

    Raises:
        ValueError: files are missing or do not fit.
    """
    folder = Path(source)
    shapes = folder / "params_shapes.json"
    files = sorted(folder.glob("params_*.npy"), key=lambda path: int(path.stem.partition("_")[2]))
    if not shapes.is_file() or not files:
        raise ValueError(f"{folder} is no folder of GPT's release: it needs params_shapes.json and params_0.npy, ...")
    numbers = np.concatenate([np.load(path, allow_pickle=False).reshape(-1) for path in files])
    return convert_release(json.loads(shapes.read_text(encoding="utf-8")), numbers, heads)
