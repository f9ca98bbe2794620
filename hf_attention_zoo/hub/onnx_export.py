"""Transformer2017 as two ONNX graphs, for programs without PyTorch; BERT and GPT as one (`onnx_text_export`).

`encoder.onnx`, once per source:

    input_ids (B, S), attention_mask (B, S)  ->  cross_keys (L, B, h, S, d_k), cross_values (L, B, h, S, d_v)

`decoder_step.onnx`, once per word (N rows of hypotheses, each with a source of its own):

    token_ids (N, 1), attention_mask (N, S), cross_keys, cross_values, self_keys (L, N, h, T, d_k), self_values (...)
        ->  logits (N, V), new_self_keys (L, N, h, T + 1, d_k), new_self_values

The first step has T = 0 and `decoder_start_token_id` as its token. Pads of the source stand on either side, as in the
model. Ids are int64, masks int64 (1 at tokens), everything else float32. Beside the graphs stand config.json,
generation_config.json and the tokenizer's files; `OnnxTranslator` below is the loop that a caller in another language
has to write.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.multi_head import scaled_dot_product
from hf_attention_zoo.folders.saved_model import saved_config
from hf_attention_zoo.hub.onnx_text_export import (
    MODEL_FILE,
    check_text_model,
    load_text_model,
    load_whole,
    write_text_graph,
)
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.tokenization.read_ids import text_of

ENCODER_FILE = "encoder.onnx"
STEP_FILE = "decoder_step.onnx"


def require(*modules: str) -> None:
    """Raise an ImportError that names the extra if one of the modules is missing."""
    import importlib.util

    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"ONNX needs {', '.join(missing)}: pip install 'hf_attention_zoo[onnx]'")


def _attend(attention: Any, states: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Equation 1 by the plain formula, whichever kernel the model uses: (N, T, D) -> (N, T, D)."""
    query = attention.q_proj(states).unflatten(-1, (attention.heads, attention.key_size)).transpose(1, 2)
    mixed, _ = scaled_dot_product(attention, query, keys, values, mask, attention.scaling)
    return attention.o_proj(mixed.flatten(2))


class EncoderGraph(nn.Module):
    """A source's keys and values for every decoder layer."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder, self.decoder_layers = model.model.encoder, model.model.decoder.layers

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """See the module's description."""
        encoder = self.encoder
        order = (attention_mask.cumsum(1) - 1).clamp(min=0)
        states = encoder.positioned(encoder.embed_tokens(input_ids), order=order)
        mask = attention_mask.bool()[:, None, None, :]
        for layer in encoder.layers:
            keys, values = layer.self_attention.project_memory(states)
            mixed = _attend(layer.self_attention, states, keys, values, mask)
            states = layer.self_attention_residual(states, mixed)
            states = layer.feed_forward_residual(states, layer.feed_forward(states))
        pairs = [layer.cross_attention.project_memory(states) for layer in self.decoder_layers]
        return torch.stack([keys for keys, _ in pairs]), torch.stack([values for _, values in pairs])


class StepGraph(nn.Module):
    """One word further."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.decoder, self.lm_head, self.config = model.model.decoder, model.lm_head, model.config

    def forward(
        self,
        token_ids: Tensor,
        attention_mask: Tensor,
        cross_keys: Tensor,
        cross_values: Tensor,
        self_keys: Tensor,
        self_values: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """See the module's description."""
        decoder = self.decoder
        vectors = decoder.embed_tokens(token_ids)
        if self.config.decoder_start == "zero":
            vectors = vectors.masked_fill((token_ids == self.config.decoder_start_token_id)[..., None], 0.0)
        states = decoder.positioned(vectors, self_keys.shape[3])
        mask = attention_mask.bool()[:, None, None, :]
        all_keys, all_values = [], []
        for index, layer in enumerate(decoder.layers):
            keys, values = layer.self_attention.project_memory(states)
            keys = torch.cat([self_keys[index], keys], 2)
            values = torch.cat([self_values[index], values], 2)
            all_keys.append(keys)
            all_values.append(values)
            mixed = _attend(layer.self_attention, states, keys, values, None)
            states = layer.self_attention_residual(states, mixed)
            mixed = _attend(layer.cross_attention, states, cross_keys[index], cross_values[index], mask)
            states = layer.cross_attention_residual(states, mixed)
            states = layer.feed_forward_residual(states, layer.feed_forward(states))
        return self.lm_head(states[:, 0]), torch.stack(all_keys), torch.stack(all_values)


def export_onnx(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> Path:
    """Write a saved Transformer2017, BERT2018 or GPT2018 as ONNX graphs; returns the new folder.

    Raises:
        ValueError: another architecture, a Transformer with learned positions (their end cannot be checked in a
            graph), a folder without some of the weights, GPT's reading of pairs in both orders, or `out` is not an
            empty or new folder.
        ImportError: onnx or onnxscript is missing.
    """

    from hf_attention_zoo.folders.checkpoint_folder import check_checkpoint, copy_files, new_folder, published_files

    require("onnx", "onnxscript")
    source, target = check_checkpoint(folder), new_folder(out)
    config = saved_config(source)
    if config.model_type != "transformer2017":
        check_text_model(config)
        model, write = load_text_model(source, config), write_text_graph
    elif config.position_encoding != "learned":
        model, write = load_whole("AutoModelForSeq2SeqLM", source), _write_graphs
    else:
        raise ValueError(
            "learned positions end, and a graph cannot say so; models with sinusoids (position_encoding) are exported"
        )
    target.mkdir(parents=True, exist_ok=True)
    write(model, target)
    described = (name for name in published_files(source) if name.suffix == ".json")
    copy_files(source, target, (name for name in described if not name.name.startswith("model.safetensors")))
    return target


def _write_graphs(model: Any, target: Path) -> None:
    config = model.config
    dim = torch.export.Dim
    sources, words, past = dim("batch", min=1), dim("source_length", min=1), dim("past_length", min=0)
    ids = torch.randint(4, config.vocab_size, (2, 5))
    mask = torch.ones_like(ids)
    with torch.no_grad():
        cross = EncoderGraph(model)(ids, mask)
        pasts = [torch.zeros(*pair.shape[:3], 3, pair.shape[4]) for pair in cross]
        graphs: list[tuple[str, nn.Module, tuple[Tensor, ...], list[str], list[str], tuple[Any, ...]]] = [
            (
                ENCODER_FILE,
                EncoderGraph(model),
                (ids, mask),
                ["input_ids", "attention_mask"],
                ["cross_keys", "cross_values"],
                ({0: sources, 1: words}, {0: sources, 1: words}),
            ),
            (
                STEP_FILE,
                StepGraph(model),
                (ids[:, :1], mask, *cross, *pasts),
                ["token_ids", "attention_mask", "cross_keys", "cross_values", "self_keys", "self_values"],
                ["logits", "new_self_keys", "new_self_values"],
                (
                    {0: sources},
                    {0: sources, 1: words},
                    {1: sources, 3: words},
                    {1: sources, 3: words},
                    {1: sources, 3: past},
                    {1: sources, 3: past},
                ),
            ),
        ]
        for name, graph, inputs, input_names, output_names, dynamic in graphs:
            program = torch.onnx.export(
                graph.eval(),
                inputs,
                input_names=input_names,
                output_names=output_names,
                dynamic_shapes=dynamic,
                dynamo=True,
                verbose=False,
            )
            needed(program, "the graph", "the exporter of torch made none").save(str(target / name))


class OnnxTranslator:
    """Greedy translation with the two graphs and onnxruntime.

    Args:
        folder: what `export_onnx` wrote.
        options: keywords of `onnxruntime.InferenceSession`, such as `providers`.
    """

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
        require("onnxruntime")
        import onnxruntime
        from transformers import AutoConfig, AutoTokenizer

        if (Path(folder) / MODEL_FILE).is_file():
            raise ValueError(
                f"{folder} has the graph of a model that does not translate; run its {MODEL_FILE} with onnxruntime"
            )
        for name in (ENCODER_FILE, STEP_FILE):
            if not (Path(folder) / name).is_file():
                raise ValueError(
                    f"{folder} has no {name}; make it with `attention-zoo export MODEL OUT --format onnx`"
                )
        options.setdefault("providers", ["CPUExecutionProvider"])
        self.encoder = onnxruntime.InferenceSession(str(Path(folder) / ENCODER_FILE), **options)
        self.step = onnxruntime.InferenceSession(str(Path(folder) / STEP_FILE), **options)
        self.config = AutoConfig.from_pretrained(folder)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def generate(self, input_ids: Any, attention_mask: Any, max_new_tokens: int = 128) -> list[list[int]]:
        """The most likely word at each step, (B, S) ids and mask in NumPy -> target ids, the end symbol last."""
        import numpy as np

        config = self.config
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        mask = np.asarray(attention_mask, dtype=np.int64)
        ids = np.asarray(input_ids, dtype=np.int64)
        keys, values = self.encoder.run(None, {"input_ids": ids, "attention_mask": mask})
        past_keys, past_values = keys[:, :, :, :0], values[:, :, :, :0]
        words = np.full((len(ids), 1), config.decoder_start_token_id, dtype=np.int64)
        written: list[list[int]] = [[] for _ in range(len(ids))]
        for _ in range(max_new_tokens):
            logits, past_keys, past_values = self.step.run(
                None,
                {
                    "token_ids": words,
                    "attention_mask": mask,
                    "cross_keys": keys,
                    "cross_values": values,
                    "self_keys": past_keys,
                    "self_values": past_values,
                },
            )
            words = logits.argmax(-1)[:, None].astype(np.int64)
            for row, word in zip(written, words[:, 0].tolist(), strict=True):
                if not row or row[-1] not in ends:
                    row.append(word)
            if all(row[-1] in ends for row in written):
                break
        return written

    def translate(self, texts: Sequence[str], max_new_tokens: int = 128) -> list[str]:
        """Translations of texts, in one batch."""
        encoded = self.tokenizer(list(texts), padding=True, return_tensors="np")
        rows = self.generate(encoded["input_ids"], encoded["attention_mask"], max_new_tokens)
        return [text_of(self.tokenizer, row, skip_special_tokens=True) for row in rows]
