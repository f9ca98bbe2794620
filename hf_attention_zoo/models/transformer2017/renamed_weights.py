"""Weights of other programs under this package's names; nothing is lost without a word."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import torch
from torch import Tensor

PRE_NORM = (
    "it normalises before each sub-layer (pre-norm) or after the last layer; the paper's model, x = LayerNorm(x + "
    "f(x)), computes something else with any weights"
)

State = dict[str, Tensor]


# The names that Marian in transformers and fairseq share.
BART_NAMES = (
    (r"self_attn\.(q|k|v)_proj", r"self_attention.\1_proj"),
    (r"self_attn\.out_proj", "self_attention.o_proj"),
    (r"self_attn_layer_norm", "self_attention_residual.norm"),
    (r"encoder_attn\.(q|k|v)_proj", r"cross_attention.\1_proj"),
    (r"encoder_attn\.out_proj", "cross_attention.o_proj"),
    (r"encoder_attn_layer_norm", "cross_attention_residual.norm"),
    (r"fc(1|2)", r"feed_forward.linear_\1"),
    (r"final_layer_norm", "feed_forward_residual.norm"),
)


def count_layers(state: Mapping[str, Tensor], prefix: str) -> int:
    found = {int(match[1]) for name in state if (match := re.match(rf"{re.escape(prefix)}(\d+)\.", name))}
    if not found or found != set(range(len(found))):
        raise ValueError(f"the weights hold the layers {sorted(found)} under {prefix}; they must count from 0")
    return len(found)


def renamed(state: Mapping[str, Tensor], prefix: str, to: str, names: tuple[tuple[str, str], ...]) -> State:
    """The tensors below `prefix` under this package's names.

    Raises:
        ValueError: a tensor has no counterpart.
    """
    result: State = {}
    for name, tensor in state.items():
        if not name.startswith(prefix):
            continue
        number, _, rest = name[len(prefix) :].partition(".")
        for pattern, replacement in names:
            new, hits = re.subn(rf"^{pattern}(?=\.(weight|bias)$)", replacement, rest)
            if hits:
                result[f"{to}.{number}.{new}"] = tensor
                break
        else:
            raise ValueError(f"{name} has no counterpart in the paper's model; this network has more than it has")
    return result


def check_all_used(state: Mapping[str, Tensor], outside: str) -> None:
    """Every tensor outside of the layers is one that is read, or has no content.

    Raises:
        ValueError: one is not, and would be lost.
    """
    lost = [name for name in state if not re.match(rf"(model\.)?(encoder|decoder)\.layers\.|({outside})$", name)]
    if lost:
        raise ValueError(
            f"{', '.join(sorted(lost)[:5])}: without a counterpart in the paper's model; this network has more than it"
        )


def check_depths(encoder: int, decoder: int) -> int:
    if encoder != decoder:
        raise ValueError(f"{encoder} encoder layers and {decoder} decoder layers; Transformer2017 has as many of both")
    return encoder


def scaled_tables(state: State, scaled: bool, size: int) -> tuple[State, bool]:
    """Tables for a model that multiplies by sqrt(D); second, whether the output layer may share them."""
    if scaled:
        return state, True
    tables = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    return {name: tensor / math.sqrt(size) if name in tables else tensor for name, tensor in state.items()}, False


def first_of(state: Mapping[str, Tensor], *names: str) -> Tensor:
    """The first of some tensors that is there.

    Raises:
        ValueError: none is.
    """
    for name in names:
        if name in state:
            return state[name]
    raise ValueError(f"the weights have neither {' nor '.join(names)}; give the whole model's")


def tables_of(source: Tensor, target: Tensor, output: Tensor, may_share: bool) -> tuple[dict[str, bool], State]:
    """Which of the three tables are one, and the tensors."""
    tied = may_share and target.shape == output.shape and torch.equal(target, output)
    shared = tied and source.shape == target.shape and torch.equal(source, target)
    fields = {"share_encoder_decoder_embeddings": shared, "tie_word_embeddings": tied}
    return fields, {
        "model.encoder.embed_tokens.weight": source,
        "model.decoder.embed_tokens.weight": target,
        "lm_head.weight": output,
    }


def check_sinusoids(table: Tensor | None, layout: str) -> None:
    """Raise a ValueError if a stored table of positions is not the formula that would take its place."""
    from hf_attention_zoo.attention.positions import sinusoids

    if table is None or table.device.type == "meta":
        return
    wanted = sinusoids(table.shape[0], table.shape[1], layout)
    if (table.double() - wanted).abs().max() > 1e-3:
        raise ValueError(f"the stored positions are not the {layout!r} sinusoids; this model learned or changed them")
