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

import argparse
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
from hf_attention_zoo.folders.wholeness import check_safetensors, loading
from hf_attention_zoo.models.transformer2017.configuration_transformer2017 import Transformer2017Config

FORMATS = ("marian", "fairseq", "annotated")
TOKENIZER_FILES = ("tokenizer*.json", "vocab*.json", "target_vocab.json", "*.spm", "special_tokens_map.json")
PRE_NORM = (
    "it normalises before each sub-layer (pre-norm) or after the last layer; the paper's model, x = LayerNorm(x + "
    "f(x)), computes something else with any weights"
)

State = dict[str, Tensor]

# What may stand beside the layers; stored sinusoids, versions and empty buffers are not read.
_MARIAN_TABLES = (
    r"final_logits_bias|lm_head\.weight|model\.shared\.weight|"
    r"model\.(encoder|decoder)\.embed_(tokens|positions)\.weight"
)
_FAIRSEQ_TABLES = (
    r"(encoder|decoder)\.(embed_tokens\.weight|embed_positions\.(weights?|_float_tensor)|version)|"
    r"decoder\.(output_projection\.weight|embed_out)"
)
_ANNOTATED_TABLES = r"(src|tgt)_embed\.(0\.lut\.weight|1\.pe)|generator\.proj\.(weight|bias)"

_BART_NAMES = (
    (r"self_attn\.(q|k|v)_proj", r"self_attention.\1_proj"),
    (r"self_attn\.out_proj", "self_attention.o_proj"),
    (r"self_attn_layer_norm", "self_attention_residual.norm"),
    (r"encoder_attn\.(q|k|v)_proj", r"cross_attention.\1_proj"),
    (r"encoder_attn\.out_proj", "cross_attention.o_proj"),
    (r"encoder_attn_layer_norm", "cross_attention_residual.norm"),
    (r"fc(1|2)", r"feed_forward.linear_\1"),
    (r"final_layer_norm", "feed_forward_residual.norm"),
)
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
    settings = {}
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


def _layers(state: Mapping[str, Tensor], prefix: str) -> int:
    found = {int(match[1]) for name in state if (match := re.match(rf"{re.escape(prefix)}(\d+)\.", name))}
    if not found or found != set(range(len(found))):
        raise ValueError(f"the weights hold the layers {sorted(found)} under {prefix}; they must count from 0")
    return len(found)


def _renamed(state: Mapping[str, Tensor], prefix: str, to: str, names: tuple[tuple[str, str], ...]) -> State:
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


def _check_all_used(state: Mapping[str, Tensor], outside: str) -> None:
    """Every tensor outside of the layers is one that is read, or has no content.

    Raises:
        ValueError: one is not, and would be lost.
    """
    lost = [name for name in state if not re.match(rf"(model\.)?(encoder|decoder)\.layers\.|({outside})$", name)]
    if lost:
        raise ValueError(
            f"{', '.join(sorted(lost)[:5])}: without a counterpart in the paper's model; this network has more than it"
        )


def _check_depths(encoder: int, decoder: int) -> int:
    if encoder != decoder:
        raise ValueError(f"{encoder} encoder layers and {decoder} decoder layers; Transformer2017 has as many of both")
    return encoder


def _scaled(state: State, scaled: bool, size: int) -> tuple[State, bool]:
    """Tables for a model that multiplies by sqrt(D); second, whether the output layer may share them."""
    if scaled:
        return state, True
    tables = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    return {name: tensor / math.sqrt(size) if name in tables else tensor for name, tensor in state.items()}, False


def _tables(source: Tensor, target: Tensor, output: Tensor, may_share: bool) -> tuple[dict[str, bool], State]:
    """Which of the three tables are one, and the tensors."""
    tied = may_share and target.shape == output.shape and torch.equal(target, output)
    shared = tied and source.shape == target.shape and torch.equal(source, target)
    fields = {"share_encoder_decoder_embeddings": shared, "tie_word_embeddings": tied}
    return fields, {
        "model.encoder.embed_tokens.weight": source,
        "model.decoder.embed_tokens.weight": target,
        "lm_head.weight": output,
    }


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
    _check_all_used(state, _MARIAN_TABLES)
    heads = {settings[f"{side}_attention_heads"] for side in ("encoder", "decoder")}
    widths = {settings[f"{side}_ffn_dim"] for side in ("encoder", "decoder")}
    if len(heads) > 1 or len(widths) > 1:
        raise ValueError(
            f"encoder and decoder differ in heads {heads} or feed-forward width {widths}; one of each here"
        )
    size = settings["d_model"]
    depth = _check_depths(_layers(state, "model.encoder.layers."), _layers(state, "model.decoder.layers."))
    shared = state.get("model.shared.weight")
    source = state.get("model.encoder.embed_tokens.weight", shared)
    target = state.get("model.decoder.embed_tokens.weight", shared)
    output = state.get("lm_head.weight", target)
    fields, tables = _tables(source, target, output, bool(settings.get("scale_embedding")))
    tables, _ = _scaled(tables, bool(settings.get("scale_embedding")), size)
    weights = {
        **tables,
        **_renamed(state, "model.encoder.layers.", "model.encoder.layers", _BART_NAMES),
        **_renamed(state, "model.decoder.layers.", "model.decoder.layers", _BART_NAMES),
        "lm_head.bias": state.get("final_logits_bias", torch.zeros(1, output.shape[0])).flatten(),
    }
    _check_sinusoids(state.get("model.encoder.embed_positions.weight"), "marian")
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


def _check_sinusoids(table: Tensor | None, layout: str) -> None:
    """Raise a ValueError if a stored table of positions is not the formula that would take its place."""
    from hf_attention_zoo.attention.positions import sinusoids

    if table is None or table.device.type == "meta":
        return
    wanted = sinusoids(*table.shape, layout)
    if (table.double() - wanted).abs().max() > 1e-3:
        raise ValueError(f"the stored positions are not the {layout!r} sinusoids; this model learned or changed them")


def convert_fairseq(
    state: Mapping[str, Tensor], settings: Mapping[str, Any], *, heads: int | None = None, pad_token_id: int = 1
) -> tuple[dict[str, Any], State]:
    """Config fields and tensors from a fairseq Transformer.

    Args:
        settings: its `args`; what is missing there has fairseq's default.
        heads: if `settings` do not tell.
        pad_token_id: of its dictionary; begin, end and unknown symbols are 0, 2 and 3.
    """
    state = _split_projections(state)
    flags = ("encoder_normalize_before", "decoder_normalize_before")
    if any(settings.get(flag) for flag in flags) or any(
        re.match(r"(encoder|decoder)\.(layer_norm|layers\.\d+\.layer_norms)\.", name) for name in state
    ):
        raise ValueError(f"this fairseq model cannot be converted: {PRE_NORM}")
    if any("layernorm_embedding" in name for name in state):
        raise ValueError("this fairseq model normalises its embeddings (layernorm_embedding); the paper's does not")
    if settings.get("no_token_positional_embeddings"):
        raise ValueError("this fairseq model has no positions (no_token_positional_embeddings); the paper's has")
    _check_all_used(state, _FAIRSEQ_TABLES)
    told = {settings[name] for name in ("encoder_attention_heads", "decoder_attention_heads") if settings.get(name)}
    if len(told) > 1:
        raise ValueError(f"encoder and decoder have different numbers of heads, {sorted(told)}; one number here")
    heads = next(iter(told), heads)
    if heads is None:
        raise ValueError("weights do not show how many heads they were trained with; give --heads")
    depth = _check_depths(_layers(state, "encoder.layers."), _layers(state, "decoder.layers."))
    source, target = state["encoder.embed_tokens.weight"], state["decoder.embed_tokens.weight"]
    output = state.get("decoder.output_projection.weight", state.get("decoder.embed_out", target))
    scaled = not settings.get("no_scale_embedding")
    fields, tables = _tables(source, target, output, scaled)
    tables, _ = _scaled(tables, scaled, source.shape[1])
    weights = {
        **tables,
        **_renamed(state, "encoder.layers.", "model.encoder.layers", _BART_NAMES),
        **_renamed(state, "decoder.layers.", "model.decoder.layers", _BART_NAMES),
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
    learned = [state.get(f"{side}.embed_positions.weight") for side in ("encoder", "decoder")]
    if all(table is None for table in learned):
        return {"position_encoding": "tensor2tensor", "position_offset": pad_token_id + 1}
    if any(table is None for table in learned) or learned[0].shape != learned[1].shape:
        raise ValueError("encoder and decoder have different positions (learned tables of two lengths, or one only)")
    for side, table in zip(("encoder", "decoder"), learned, strict=True):
        weights[f"model.{side}.positions.table.weight"] = table
    return {
        "position_encoding": "learned",
        "position_offset": pad_token_id + 1,
        "max_position_embeddings": learned[0].shape[0] - pad_token_id - 1,
    }


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
    _check_all_used(state, _ANNOTATED_TABLES)
    depth = _check_depths(_layers(state, "encoder.layers."), _layers(state, "decoder.layers."))
    source, target = state["src_embed.0.lut.weight"], state["tgt_embed.0.lut.weight"]
    size = source.shape[1]
    fields, weights = _tables(source, target, state["generator.proj.weight"], True)
    for side, norms in (("encoder", ("self_attention", "feed_forward")), ("decoder", _DECODER_NORMS)):
        prefix = f"{side}.layers."
        layers = {name: tensor for name, tensor in state.items() if ".sublayer." not in name}
        weights.update(_renamed(layers, prefix, f"model.{side}.layers", _ANNOTATED_NAMES))
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
    _check_sinusoids(_squeezed(state.get("src_embed.1.pe")), "sinusoidal")
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
