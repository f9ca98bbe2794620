"""Weights of other Transformers as a Transformer2017, where the two compute the same.

Read are a Marian model in transformers' form (a folder), a fairseq checkpoint (`transformer` and its kin, post-norm)
and state dicts with the names of the Annotated Transformer. What differs and is a choice of the config is set; what
has no counterpart here is refused with the reason:

| | positions | start | norms' epsilon | biases | refused |
|---|---|---|---|---|---|
| Marian | "marian" | pad symbol | 1e-5 | attention, output | other depths or heads per side, extra norms |
| fairseq | "tensor2tensor" from pad + 1, or learned | end symbol | 1e-5 | attention | pre-norm, extra norms |
| Annotated | "sinusoidal" | first symbol | 1e-6 | attention, output | pre-norm (its own form), final norms |

Pre-norm, x + f(LayerNorm(x)), is another network, not another spelling: no weights of this one compute it. There is
no norm after the last layer either. Models that do not scale their embeddings by sqrt(D) get tables divided by it,
apart from the output layer's. The Annotated Transformer's own norm divides by the unbiased deviation plus epsilon; its
gain is taken times sqrt((D - 1)/D), and what is left of the difference is the place of the epsilon.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.folders.saved_model import saved_config
from hf_attention_zoo.folders.wholeness import loading
from hf_attention_zoo.models.transformer2017.configuration_transformer2017 import Transformer2017Config
from hf_attention_zoo.models.transformer2017.convert_fairseq import convert_fairseq
from hf_attention_zoo.models.transformer2017.renamed_weights import (
    BART_NAMES,
    PRE_NORM,
    State,
    check_all_used,
    check_depths,
    check_sinusoids,
    count_layers,
    first_of,
    renamed,
    scaled_tables,
    tables_of,
)
from hf_attention_zoo.models.transformer2017.weight_files import FORMATS, detect_format, load_weights

TOKENIZER_FILES = ("tokenizer*.json", "vocab*.json", "target_vocab.json", "*.spm", "special_tokens_map.json")

# What may stand beside the layers; stored sinusoids, versions and empty buffers are not read.
_MARIAN_TABLES = (
    r"final_logits_bias|lm_head\.weight|model\.shared\.weight|"
    r"model\.(encoder|decoder)\.embed_(tokens|positions)\.weight"
)
_ANNOTATED_TABLES = r"(src|tgt)_embed\.(0\.lut\.weight|1\.pe)|generator\.proj\.(weight|bias)"

_ANNOTATED_NAMES = (
    (r"self_attn\.linears\.0", "self_attention.q_proj"),
    (r"self_attn\.linears\.1", "self_attention.k_proj"),
    (r"self_attn\.linears\.2", "self_attention.v_proj"),
    (r"self_attn\.linears\.3", "self_attention.o_proj"),
    (r"src_attn\.linears\.0", "cross_attention.q_proj"),
    (r"src_attn\.linears\.1", "cross_attention.k_proj"),
    (r"src_attn\.linears\.2", "cross_attention.v_proj"),
    (r"src_attn\.linears\.3", "cross_attention.o_proj"),
    (r"feed_forward\.w_(1|2)", r"feed_forward.linear_\1"),
)


def convert_marian(state: Mapping[str, Tensor], settings: Mapping[str, Any]) -> tuple[dict[str, Any], State]:
    """Config fields and tensors from a Marian model of transformers.

    Args:
        state: its `state_dict()`.
        settings: its config as a dictionary.
    """
    for name in ("normalize_before", "add_final_layer_norm"):
        if settings.get(name):
            raise ValueError(f"the Marian config has {name}=True: {PRE_NORM}")
    for name in ("normalize_embedding", "add_bias_logits"):
        if settings.get(name):
            raise ValueError(f"the Marian config has {name}=True; the paper's model has nothing that computes it")
    check_all_used(state, _MARIAN_TABLES)
    heads = {settings[f"{side}_attention_heads"] for side in ("encoder", "decoder")}
    widths = {settings[f"{side}_ffn_dim"] for side in ("encoder", "decoder")}
    if len(heads) > 1 or len(widths) > 1:
        raise ValueError(
            f"encoder and decoder differ in heads {heads} or feed-forward width {widths}; one of each here"
        )
    size = settings["d_model"]
    depth = check_depths(count_layers(state, "model.encoder.layers."), count_layers(state, "model.decoder.layers."))
    source = first_of(state, "model.encoder.embed_tokens.weight", "model.shared.weight")
    target = first_of(state, "model.decoder.embed_tokens.weight", "model.shared.weight")
    output = state.get("lm_head.weight", target)
    fields, tables = tables_of(source, target, output, bool(settings.get("scale_embedding")))
    tables, _ = scaled_tables(tables, bool(settings.get("scale_embedding")), size)
    weights = {
        **tables,
        **renamed(state, "model.encoder.layers.", "model.encoder.layers", BART_NAMES),
        **renamed(state, "model.decoder.layers.", "model.decoder.layers", BART_NAMES),
        "lm_head.bias": state.get("final_logits_bias", torch.zeros(1, output.shape[0])).flatten(),
    }
    check_sinusoids(state.get("model.encoder.embed_positions.weight"), "marian")
    return {
        **fields,
        "hidden_size": size,
        "num_hidden_layers": depth,
        "num_attention_heads": heads.pop(),
        "intermediate_size": widths.pop(),
        "dropout": settings.get("dropout", 0.1),
        "attention_dropout": settings.get("attention_dropout", 0.0),
        "activation_dropout": settings.get("activation_dropout", 0.0),
        "hidden_act": settings.get("activation_function", "gelu"),
        "position_encoding": "marian",
        "attention_bias": True,
        "output_bias": True,
        "layer_norm_eps": 1e-5,
        "vocab_size": source.shape[0],
        "decoder_vocab_size": target.shape[0],
        "pad_token_id": settings.get("pad_token_id"),
        "bos_token_id": settings.get("bos_token_id"),
        "eos_token_id": settings.get("eos_token_id"),
        "decoder_start_token_id": settings.get("decoder_start_token_id"),
    }, weights


def convert_annotated(
    state: Mapping[str, Tensor],
    *,
    heads: int | None = None,
    pad_token_id: int = 2,
    start_token_id: int = 0,
    end_token_id: int = 1,
) -> tuple[dict[str, Any], State]:
    """Config fields and tensors from a post-norm state dict with the Annotated Transformer's names."""
    if any(re.match(r"(encoder|decoder)\.norm\.", name) for name in state):
        raise ValueError(f"this model has the Annotated Transformer's final norms: {PRE_NORM}")
    if heads is None:
        raise ValueError("weights do not show how many heads they were trained with; give --heads")
    check_all_used(state, _ANNOTATED_TABLES)
    depth = check_depths(count_layers(state, "encoder.layers."), count_layers(state, "decoder.layers."))
    source, target = state["src_embed.0.lut.weight"], state["tgt_embed.0.lut.weight"]
    size = source.shape[1]
    fields, weights = tables_of(source, target, state["generator.proj.weight"], True)
    for side, norms in (("encoder", ("self_attention", "feed_forward")), ("decoder", _DECODER_NORMS)):
        prefix = f"{side}.layers."
        layers = {name: tensor for name, tensor in state.items() if ".sublayer." not in name}
        weights.update(renamed(layers, prefix, f"model.{side}.layers", _ANNOTATED_NAMES))
        for name, tensor in state.items():
            match = re.match(rf"{side}\.layers\.(\d+)\.sublayer\.(\d)\.norm\.(a_2|b_2|weight|bias)$", name)
            if match:
                gain = math.sqrt((size - 1) / size) if match[3] == "a_2" else 1.0
                kind = "weight" if match[3] in ("a_2", "weight") else "bias"
                place = f"model.{side}.layers.{match[1]}.{norms[int(match[2])]}_residual.norm.{kind}"
                weights[place] = tensor * gain
    bias = state.get("generator.proj.bias")
    if bias is not None:
        weights["lm_head.bias"] = bias
    check_sinusoids(_squeezed(state.get("src_embed.1.pe")), "sinusoidal")
    return {
        **fields,
        "hidden_size": size,
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "intermediate_size": state["encoder.layers.0.feed_forward.w_1.weight"].shape[0],
        "attention_bias": "encoder.layers.0.self_attn.linears.0.bias" in state,
        "output_bias": bias is not None,
        "layer_norm_eps": 1e-6,
        "vocab_size": source.shape[0],
        "decoder_vocab_size": target.shape[0],
        "pad_token_id": pad_token_id,
        "bos_token_id": start_token_id,
        "eos_token_id": end_token_id,
        "decoder_start_token_id": start_token_id,
    }, weights


_DECODER_NORMS = ("self_attention", "cross_attention", "feed_forward")


def _squeezed(table: Tensor | None) -> Tensor | None:
    return None if table is None else table.reshape(table.shape[-2:])


def build_model(fields: Mapping[str, Any], weights: Mapping[str, Tensor]) -> Any:
    """The model with these weights, every one of which must find its place.

    Raises:
        ValueError: tensors are left over, missing or of the wrong shape.
    """
    from hf_attention_zoo.models.transformer2017.modeling_transformer2017 import (
        Transformer2017ForConditionalGeneration,
    )

    model = Transformer2017ForConditionalGeneration(Transformer2017Config(**fields))
    try:
        missing, unexpected = model.load_state_dict({name: t.float() for name, t in weights.items()}, strict=False)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit the sizes found: {' '.join(str(error).split())[:300]}") from error
    wrong = sorted({*missing, *unexpected})
    if wrong:
        raise ValueError(
            f"{', '.join(wrong[:5])}: missing in the weights, or without a counterpart in the paper's model"
        )
    return model.eval()


def convert_checkpoint(
    source: str | os.PathLike[str], *, form: str | None = None, heads: int | None = None, **ids: int
) -> Any:
    """A Transformer2017 from a Marian folder, a fairseq checkpoint or a state dict with Annotated names.

    Args:
        source: folder, or file of weights.
        form: "marian", "fairseq" or "annotated"; told from the names if not given.
        heads: where the file does not say.
        ids: `pad_token_id`, and for "annotated" `start_token_id` and `end_token_id`.

    A Marian model's generation settings come along.

    Raises:
        ValueError: the file cannot be read safely, or the network is not the paper's, with the reason.
    """
    path = Path(source)
    if path.is_dir():
        from transformers import MarianMTModel

        if not (path / "config.json").is_file():
            raise ValueError(
                f"the folder {path} holds no config.json; give that of a Marian model, or a file of weights"
            )
        config = saved_config(path)
        if config.model_type != "marian" or form not in (None, "marian"):
            raise ValueError(
                f"the folder {path} holds a model of {config.model_type}, and only those of marian are converted; "
                "`attention-zoo export` copies a folder of this package, or writes it for other programs"
            )
        if not list(path.glob("*.safetensors")):
            raise ValueError(f"{path} has no safetensors weights; load and save the model with transformers first")
        with loading(path):
            model = MarianMTModel.from_pretrained(path, dtype=torch.float32)
        converted = build_model(*convert_marian(model.state_dict(), config.to_dict()))
        converted.generation_config = model.generation_config
        return converted
    state, settings = load_weights(path)
    form = form or detect_format(state)
    if form == "marian":
        raise ValueError(f"{path}: give the folder of a Marian model, its config.json is needed")
    if form not in FORMATS:
        raise ValueError(f"form={form!r}; it is one of {', '.join(FORMATS)}")
    if form == "fairseq" and set(ids) - {"pad_token_id"}:
        raise ValueError("start and end symbols are chosen for annotated weights only; fairseq's are 0 and 2")
    converters: dict[str, Callable[..., tuple[dict[str, Any], State]]] = {
        "fairseq": lambda: convert_fairseq(state, settings, heads=heads, **ids),
        "annotated": lambda: convert_annotated(state, heads=heads, **ids),
    }
    try:
        fields, weights = converters[form]()
    except KeyError as error:
        raise ValueError(f"{path} has no weights called {error}; it is not a whole {form} Transformer") from error
    return build_model(fields, weights)


def copy_tokenizer(source: Path, out: Path) -> list[str]:
    """Copy a Marian folder's tokenizer files, which serve as they are; returns their names."""
    names = sorted({path.name for pattern in TOKENIZER_FILES for path in source.glob(pattern)})
    for name in names:
        shutil.copy2(source / name, out / name)
    return names
