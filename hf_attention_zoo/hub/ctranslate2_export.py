"""Transformer2017 as a CTranslate2 model: the same weights for a decoder written in C++, on CPUs with int8 if wanted.

The folder holds what `ctranslate2.Translator` loads, and the tokenizer in `tokenizer/`. Tokens stand between the two:

    translator = ctranslate2.Translator(folder)
    tokenizer = AutoTokenizer.from_pretrained(f"{folder}/tokenizer")
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids)          # with </s> at the end
    result = translator.translate_batch([tokens], beam_size=4, length_penalty=0.0)[0]
    text = tokenizer.decode(tokenizer.convert_target_tokens_to_ids(result.hypotheses[0]), skip_special_tokens=True)

Line n of `source_vocabulary.json` and `target_vocabulary.json` (or `shared_vocabulary.json`) is the token of id n, so
ids are the same on both sides; rows of a table without a token are called `<unused-n>`. Positions are a table here, so
that sinusoids have an end.

CTranslate2 differs in two rules of search: beams are scored by log P / |Y| ** length_penalty (the paper's GNMT penalty
is not there), and an empty translation is forbidden unless `min_decoding_length=0`.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")
SINUSOID_ROWS = 2048
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_new": "GELUTanh", "silu": "SWISH", "swish": "SWISH"}


def require_ctranslate2() -> Any:
    """The module, or an ImportError that says how to get it."""
    try:
        import ctranslate2
    except ImportError as error:
        raise ImportError("the export to CTranslate2 needs it: pip install 'hf_attention_zoo[ctranslate2]'") from error
    return ctranslate2


def check_exportable(config: Any) -> None:
    """Raise a ValueError with the reason where CTranslate2's Transformer cannot be this model."""
    if config.model_type != "transformer2017":
        raise ValueError(
            f"CTranslate2 has Transformers only, and this is a {config.model_type}; formats for it: a copy of the "
            "folder (no --format), with its code (--with-code), of a bert2018 or gpt2018 --format onnx"
        )
    size, heads = config.hidden_size, config.num_attention_heads
    if config.head_dim * heads != size or config.value_head_dim * heads != size:
        raise ValueError(
            f"{heads} heads of {config.head_dim} (values {config.value_head_dim}) do not make up hidden_size {size}; "
            "CTranslate2 splits the model size among the heads"
        )
    if config.hidden_act not in _ACTIVATIONS:
        raise ValueError(f"hidden_act={config.hidden_act!r}: CTranslate2 has {', '.join(_ACTIVATIONS)}")


def transformer_spec(model: Any, positions: int = SINUSOID_ROWS) -> Any:
    """The model as a CTranslate2 specification, without vocabularies.

    Args:
        positions: rows of the table of sinusoids; a learned table is taken as it is.

    Raises:
        ValueError: see `check_exportable`.
        ImportError: CTranslate2 is not there.
    """
    require_ctranslate2()
    from ctranslate2.specs import common_spec, transformer_spec

    config = model.config
    check_exportable(config)
    spec = transformer_spec.TransformerSpec.from_config(
        config.num_hidden_layers,
        config.num_attention_heads,
        pre_norm=False,
        activation=common_spec.Activation[_ACTIVATIONS[config.hidden_act]],
    )
    encoder, decoder = model.model.encoder, model.model.decoder
    for stack_spec, stack, table in (
        (spec.encoder, encoder, spec.encoder.embeddings[0]),
        (spec.decoder, decoder, spec.decoder.embeddings),
    ):
        stack_spec.scale_embeddings = math.sqrt(config.hidden_size)
        table.weight = _numbers(stack.embed_tokens.weight)
        rows = config.max_position_embeddings if config.position_encoding == "learned" else positions
        encodings = stack.positions(rows, device=torch.device("cpu"), dtype=torch.float32)
        stack_spec.position_encodings.encodings = _numbers(encodings)
        for layer_spec, layer in zip(stack_spec.layer, stack.layers, strict=True):
            _set_attention(layer_spec.self_attention, layer.self_attention, layer.self_attention_residual, True)
            if stack is decoder:
                _set_attention(layer_spec.attention, layer.cross_attention, layer.cross_attention_residual, False)
            _set_linear(layer_spec.ffn.linear_0, layer.feed_forward.linear_1)
            _set_linear(layer_spec.ffn.linear_1, layer.feed_forward.linear_2)
            _set_norm(layer_spec.ffn.layer_norm, layer.feed_forward_residual.norm)
    _set_linear(spec.decoder.projection, model.lm_head)
    spec.decoder.start_from_zero_embedding = config.decoder_start == "zero"
    spec.config.layer_norm_epsilon = config.layer_norm_eps
    return spec


def _numbers(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()


def _set_linear(spec: Any, *layers: nn.Linear) -> None:
    """One product in the place of one or several of the same input, rows stacked."""
    spec.weight = _numbers(torch.cat([layer.weight for layer in layers]))
    if layers[0].bias is not None:
        spec.bias = _numbers(torch.cat([layer.bias for layer in layers]))


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _numbers(norm.weight), _numbers(norm.bias)


def _set_attention(spec: Any, attention: Any, residual: Any, is_self: bool) -> None:
    if is_self:
        _set_linear(spec.linear[0], attention.q_proj, attention.k_proj, attention.v_proj)
    else:
        _set_linear(spec.linear[0], attention.q_proj)
        _set_linear(spec.linear[1], attention.k_proj, attention.v_proj)
    _set_linear(spec.linear[-1], attention.o_proj)
    _set_norm(spec.layer_norm, residual.norm)


def vocabulary(tokens: dict[str, int], rows: int) -> list[str]:
    """Tokens by id, `<unused-n>` for rows without one.

    Raises:
        ValueError: there are more tokens than rows.
    """
    if max(tokens.values(), default=-1) >= rows:
        raise ValueError(f"the tokenizer has ids up to {max(tokens.values())}, the model {rows} rows; they do not fit")
    named = {number: token for token, number in tokens.items()}
    return [named.get(number, f"<unused-{number}>") for number in range(rows)]


def export_ctranslate2(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    quantization: str | None = None,
    positions: int = SINUSOID_ROWS,
) -> Path:
    """Write a saved Transformer2017 as a CTranslate2 model; returns the new folder.

    Args:
        folder: a checkpoint with model and tokenizer.
        out: new or empty folder.
        quantization: how weights are stored, one of `QUANTIZATIONS`; float32 if not given.
        positions: length of the longest text, for sinusoids.

    Raises:
        ValueError: another architecture, sizes that CTranslate2 does not have, or `out` is not empty.
        ImportError: CTranslate2 is not there.
    """
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from hf_attention_zoo.folders.checkpoint_folder import check_checkpoint, new_folder
    from hf_attention_zoo.folders.saved_model import saved_config
    from hf_attention_zoo.folders.wholeness import loading

    require_ctranslate2()
    source, target = check_checkpoint(folder), new_folder(out)
    if quantization is not None and quantization not in QUANTIZATIONS:
        raise ValueError(f"quantization={quantization!r}; it is one of {', '.join(QUANTIZATIONS)}")
    check_exportable(saved_config(source))
    with loading(source):
        model = AutoModelForSeq2SeqLM.from_pretrained(source, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(source)
    config = model.config
    spec = transformer_spec(model, positions)
    spec.register_source_vocabulary(vocabulary(tokenizer.get_vocab(), config.vocab_size))
    target_tokens = tokenizer.get_target_vocab() if hasattr(tokenizer, "get_target_vocab") else tokenizer.get_vocab()
    spec.register_target_vocabulary(vocabulary(target_tokens, config.decoder_vocab_size))
    end = config.eos_token_id[0] if isinstance(config.eos_token_id, list) else config.eos_token_id
    names = spec._vocabularies["target"][0]
    spec.config.unk_token = tokenizer.unk_token
    spec.config.bos_token = tokenizer.bos_token
    spec.config.eos_token = names[end]
    spec.config.decoder_start_token = names[config.decoder_start_token_id]
    spec.config.add_source_bos = spec.config.add_source_eos = False  # the tokenizer's output has its </s>
    spec.validate()
    spec.optimize(quantization=quantization)
    target.mkdir(parents=True, exist_ok=True)
    spec.save(str(target))
    tokenizer.save_pretrained(target / "tokenizer")
    return target
