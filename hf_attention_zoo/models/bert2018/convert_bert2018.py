"""BERT's weights from and to transformers' own classes, and from the authors' TensorFlow release.

All compute the same. What differs besides names: transformers' choice of several continuations has a bias, the same
number for every choice, which changes no probability and is left out; its embeddings keep a row of zeros for pads at
first, which no result depends on. The TensorFlow release has kernels the other way round, `[in, out]`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.models.bert2018.configuration_bert2018 import BERT2018Config
from hf_attention_zoo.models.bert2018.tensor_bundle import read_bundle
from hf_attention_zoo.parts.renaming import NameTable, State, loaded, renamed, reversed_names

BODY: NameTable = (
    ("embeddings.word_embeddings", "embeddings.embed_tokens"),
    ("embeddings.position_embeddings", "embeddings.embed_positions"),
    ("embeddings.token_type_embeddings", "embeddings.embed_segments"),
    ("embeddings.LayerNorm", "embeddings.norm"),
    ("encoder.layer.{n}.attention.self.query", "layers.{n}.self_attention.q_proj"),
    ("encoder.layer.{n}.attention.self.key", "layers.{n}.self_attention.k_proj"),
    ("encoder.layer.{n}.attention.self.value", "layers.{n}.self_attention.v_proj"),
    ("encoder.layer.{n}.attention.output.dense", "layers.{n}.self_attention.o_proj"),
    ("encoder.layer.{n}.attention.output.LayerNorm", "layers.{n}.self_attention_residual.norm"),
    ("encoder.layer.{n}.intermediate.dense", "layers.{n}.feed_forward.linear_1"),
    ("encoder.layer.{n}.output.dense", "layers.{n}.feed_forward.linear_2"),
    ("encoder.layer.{n}.output.LayerNorm", "layers.{n}.feed_forward_residual.norm"),
    ("pooler.dense", "pooler.dense"),
)
HEADS: NameTable = (
    ("cls.predictions.transform.dense", "transform.dense"),
    ("cls.predictions.transform.LayerNorm", "transform.norm"),
    ("cls.predictions.decoder", "lm_head"),
    ("cls.seq_relationship", "next_sentence"),
)
# Name of the class without its prefix -> names of the task's layer, theirs and ours.
TASKS: dict[str, NameTable] = {
    "Model": (),
    "ForPreTraining": (),
    "ForMaskedLM": (),
    "ForNextSentencePrediction": (),
    "ForSequenceClassification": (("classifier", "task.linear"),),
    "ForTokenClassification": (("classifier", "task.linear"),),
    "ForMultipleChoice": (("classifier", "task.linear"),),
    "ForQuestionAnswering": (("qa_outputs", "task"),),
}
FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
)
SHARED_FIELDS = (*FIELDS, "id2label", "label2id", "problem_type", "tie_word_embeddings")


def _names(kind: str) -> NameTable:
    if kind == "Model":
        return BODY
    return tuple((f"bert.{theirs}", f"model.{ours}") for theirs, ours in BODY) + HEADS + TASKS[kind]


def _kind(model: Any, prefix: str) -> str:
    kind = type(model).__name__.removeprefix(prefix)
    if kind not in TASKS:
        known = ", ".join(prefix + name for name in TASKS)
        raise ValueError(f"{type(model).__name__} has no counterpart; those that are converted: {known}")
    return kind


def from_transformers(theirs: Any) -> Any:
    """A BERT2018 with the weights of one of transformers' Bert classes.

    Raises:
        ValueError: a class without a counterpart, or a decoder.
    """
    from hf_attention_zoo.models.bert2018 import modeling_bert2018

    kind, settings = _kind(theirs, "Bert"), theirs.config
    if settings.is_decoder or settings.add_cross_attention:
        raise ValueError("this BERT was made a decoder (is_decoder or add_cross_attention); the paper's is an encoder")
    config = BERT2018Config(**{name: getattr(settings, name) for name in SHARED_FIELDS})
    state = theirs.state_dict()
    ignored = [r"cls\.predictions\.bias"]  # the decoder's, under a second name
    if kind == "ForMultipleChoice":
        ignored.append(r"classifier\.bias")
    weights = renamed(state, _names(kind), ignored)
    if kind == "Model" and getattr(theirs, "pooler", None) is None:
        return loaded(modeling_bert2018.BERT2018Model(config, add_pooling_layer=False), weights)
    return loaded(getattr(modeling_bert2018, f"BERT2018{kind}")(config), weights)


def to_transformers(ours: Any) -> Any:
    """One of transformers' Bert classes with the weights of a BERT2018.

    Raises:
        ValueError: a model that transformers has no counterpart of.
    """
    import transformers

    kind = _kind(ours, "BERT2018")
    if ours.config.left_to_right:
        raise ValueError("transformers' BERT reads in both directions; this model reads left to right")
    fields = {name: getattr(ours.config, name) for name in SHARED_FIELDS}
    theirs_class = getattr(transformers, f"Bert{kind}")
    options = {"add_pooling_layer": False} if kind == "Model" and ours.pooler is None else {}
    theirs = theirs_class(transformers.BertConfig(**fields), **options)
    weights = renamed(ours.state_dict(), reversed_names(_names(kind)))
    if "cls.predictions.decoder.bias" in weights:
        weights["cls.predictions.bias"] = weights["cls.predictions.decoder.bias"]
    if kind == "ForMultipleChoice":
        weights["classifier.bias"] = torch.zeros(1, dtype=ours.dtype)
    return loaded(theirs, weights)


def _their_name(name: str) -> tuple[str, bool]:
    """A variable of the TensorFlow release under transformers' name; whether it must be turned."""
    parts = name.split("/")
    turned = parts[-1] == "kernel"
    endings = {
        "kernel": "weight",
        "gamma": "weight",
        "beta": "bias",
        "output_weights": "weight",
        "output_bias": "bias",
    }
    if parts[-1] in ("word_embeddings", "position_embeddings", "token_type_embeddings"):
        parts.append("weight")
    if parts[:2] == ["cls", "predictions"] and parts[-1] == "output_bias":
        return "cls.predictions.decoder.bias", False
    parts[-1] = endings.get(parts[-1], parts[-1])
    joined = ".".join(parts)
    return joined.replace("layer_", "layer."), turned


def convert_release(variables: Mapping[str, Tensor], settings: Mapping[str, Any]) -> Any:
    """A BERT2018ForPreTraining, or its body where the heads are missing, from the variables of the authors' release.

    Args:
        variables: by name, such as `bert/encoder/layer_0/attention/self/query/kernel`.
        settings: the release's bert_config.json. `hidden_act` "gelu" is the error function there, too.

    Raises:
        ValueError: variables are missing or have no counterpart.
    """
    from hf_attention_zoo.models.bert2018.modeling_bert2018 import BERT2018ForPreTraining, BERT2018Model

    skipped = ("adam_m", "adam_v", "AdamWeightDecayOptimizer", "global_step", "beta1_power", "beta2_power")
    state: State = {}
    for name, tensor in variables.items():
        if any(part.startswith(skipped) for part in name.split("/")):
            continue
        new, turned = _their_name(name)
        state[new] = (tensor.t() if turned else tensor).contiguous()
    known = {name: settings[name] for name in FIELDS if name in settings}
    known.setdefault("type_vocab_size", 16)  # the default of the authors' code
    config = BERT2018Config(**known)
    heads = any(name.startswith("cls.") for name in state)
    if not heads:
        state = {name.removeprefix("bert."): tensor for name, tensor in state.items()}
        return loaded(BERT2018Model(config), renamed(state, _names("Model")))
    weights = renamed(state, _names("ForPreTraining"))
    weights["lm_head.weight"] = weights["model.embeddings.embed_tokens.weight"]
    return loaded(BERT2018ForPreTraining(config), weights)


def convert_release_folder(source: str | os.PathLike[str]) -> Any:
    """The model of a folder of the release: `bert_config.json` and `bert_model.ckpt.index` with its data files.

    Raises:
        ValueError: files are missing or no checkpoint.
    """
    folder = Path(source)
    settings, found = folder / "bert_config.json", sorted(folder.glob("*.ckpt*.index"))
    if not settings.is_file() or len(found) != 1:
        raise ValueError(
            f"{folder} is no folder of BERT's release: it needs bert_config.json and one checkpoint "
            f"(bert_model.ckpt.index and .data files), and has {len(found)} of these"
        )
    variables = {name: torch.from_numpy(array) for name, array in read_bundle(found[0]).items()}
    return convert_release(variables, json.loads(settings.read_text(encoding="utf-8")))
