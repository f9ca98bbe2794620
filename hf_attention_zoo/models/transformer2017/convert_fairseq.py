"""fairseq's Transformer, as its releases up to 0.12.2 write it, as a Transformer2017."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from hf_attention_zoo.models.transformer2017.renamed_weights import (
    BART_NAMES,
    PRE_NORM,
    State,
    check_all_used,
    check_depths,
    count_layers,
    renamed,
    scaled_tables,
    tables_of,
)

# What may stand beside the layers; versions and empty buffers are not read.
_FAIRSEQ_TABLES = (
    r"(encoder|decoder)\.(embed_tokens\.weight|embed_positions\.(weights?|_float_tensor)|version)|"
    r"decoder\.(output_projection\.weight|embed_out)"
)
# In 0.12.2 each layer of the encoder holds its weights a second time, for a faster path of inference: zeros while it
# trains, and made anew from the weights above whenever a file is loaded (`transformer_layer.py`).
_FAST_PATH = re.compile(r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)$")


def convert_fairseq(
    state: Mapping[str, Tensor], settings: Mapping[str, Any], *, heads: int | None = None, pad_token_id: int = 1
) -> tuple[dict[str, Any], State]:
    """Config fields and tensors from a fairseq Transformer.

    Args:
        settings: its `args`; what is missing there has fairseq's default.
        heads: if `settings` do not tell.
        pad_token_id: of its dictionary; begin, end and unknown symbols are 0, 2 and 3.
    """
    state = _split_projections({name: tensor for name, tensor in state.items() if not _FAST_PATH.match(name)})
    flags = ("encoder_normalize_before", "decoder_normalize_before")
    if any(settings.get(flag) for flag in flags) or any(
        re.match(r"(encoder|decoder)\.(layer_norm|layers\.\d+\.layer_norms)\.", name) for name in state
    ):
        raise ValueError(f"this fairseq model cannot be converted: {PRE_NORM}")
    if any("layernorm_embedding" in name for name in state):
        raise ValueError("this fairseq model normalises its embeddings (layernorm_embedding); the paper's does not")
    if settings.get("no_token_positional_embeddings"):
        raise ValueError("this fairseq model has no positions (no_token_positional_embeddings); the paper's has")
    check_all_used(state, _FAIRSEQ_TABLES)
    told = {settings[name] for name in ("encoder_attention_heads", "decoder_attention_heads") if settings.get(name)}
    if len(told) > 1:
        raise ValueError(f"encoder and decoder have different numbers of heads, {sorted(told)}; one number here")
    heads = next(iter(told), heads)
    if heads is None:
        raise ValueError("weights do not show how many heads they were trained with; give --heads")
    depth = check_depths(count_layers(state, "encoder.layers."), count_layers(state, "decoder.layers."))
    source, target = state["encoder.embed_tokens.weight"], state["decoder.embed_tokens.weight"]
    output = state.get("decoder.output_projection.weight", state.get("decoder.embed_out", target))
    scaled = not settings.get("no_scale_embedding")
    fields, tables = tables_of(source, target, output, scaled)
    tables, _ = scaled_tables(tables, scaled, source.shape[1])
    weights = {
        **tables,
        **renamed(state, "encoder.layers.", "model.encoder.layers", BART_NAMES),
        **renamed(state, "decoder.layers.", "model.decoder.layers", BART_NAMES),
    }
    fields.update(_fairseq_positions(state, weights, pad_token_id))
    return {
        **fields,
        "hidden_size": source.shape[1],
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "intermediate_size": state["encoder.layers.0.fc1.weight"].shape[0],
        "dropout": settings.get("dropout", 0.1),
        "attention_dropout": settings.get("attention_dropout", 0.0),
        "activation_dropout": settings.get("activation_dropout", 0.0) or 0.0,
        "hidden_act": settings.get("activation_fn", "relu"),
        "attention_bias": any(name.endswith("self_attn.q_proj.bias") for name in state),
        "layer_norm_eps": 1e-5,
        "vocab_size": source.shape[0],
        "decoder_vocab_size": target.shape[0],
        "pad_token_id": pad_token_id,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
    }, weights


def _split_projections(state: Mapping[str, Tensor]) -> State:
    """Older checkpoints hold queries', keys' and values' matrices as one, in this order."""
    result: State = {}
    for name, tensor in state.items():
        match = re.match(r"(.*_attn)\.in_proj_(weight|bias)$", name)
        if match:
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                result[f"{match[1]}.{letter}_proj.{match[2]}"] = part
        else:
            result[name] = tensor
    return result


def _fairseq_positions(state: Mapping[str, Tensor], weights: State, pad_token_id: int) -> dict[str, Any]:
    names = (f"{side}.embed_positions.weight" for side in ("encoder", "decoder"))
    learned = [state[name] for name in names if name in state]
    if not learned:
        return {"position_encoding": "tensor2tensor", "position_offset": pad_token_id + 1}
    if len(learned) < 2 or learned[0].shape != learned[1].shape:
        raise ValueError("encoder and decoder have different positions (learned tables of two lengths, or one only)")
    for side, table in zip(("encoder", "decoder"), learned, strict=True):
        weights[f"model.{side}.positions.table.weight"] = table
    return {
        "position_encoding": "learned",
        "position_offset": pad_token_id + 1,
        "max_position_embeddings": learned[0].shape[0] - pad_token_id - 1,
    }
