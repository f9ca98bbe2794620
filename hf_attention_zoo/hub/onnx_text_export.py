"""BERT2018 and GPT2018, with any head, as one ONNX graph, for programs without PyTorch.

`model.onnx`, for B texts of S tokens (with C choices each, (B, C, S) in the place of (B, S)):

    input_ids (B, S), attention_mask (B, S), and of BERT token_type_ids (B, S)
        ->  what the head gives, under the same names: `logits`, `start_logits`, `last_hidden_state`, ...

Ids and masks are int64 (a mask has 1 at tokens), everything else float32, whatever the folder's weights were stored
in; attentions and hidden states are left out. Pads stand on either side, as in the model. The graph computes them too,
since leaving them out would depend on the data; results at real positions are the model's.

What a graph cannot do is look at its input: a row of pads alone gives a number without meaning, and of a text longer
than the model's positions only onnxruntime's CPU provider is known to say so; cut texts to `max_position_embeddings`
before. GPT's graph has no cache: each word reads the text again. GPT's `similarity`, which swaps the texts of a pair,
is not exported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.folders.wholeness import loading
from hf_attention_zoo.parts.needed import needed

MODEL_FILE = "model.onnx"
# Architectures with one stack that reads a row of tokens, and what their tokenizers give.
INPUTS = {
    "bert2018": ("input_ids", "attention_mask", "token_type_ids"),
    "gpt2018": ("input_ids", "attention_mask"),
}
AXES = {2: ("batch", "length"), 3: ("batch", "choices", "length")}


def check_text_model(config: Any) -> None:
    """Raise a ValueError that says why this model has no graph, if it has none."""
    if config.model_type not in INPUTS:
        known = ", ".join(("transformer2017", *INPUTS))
        raise ValueError(
            f"{known} are exported to ONNX, and this is a {config.model_type}; a copy of the folder (no --format) and "
            "one with its code (--with-code) can be made of any; of transformers' own, see `attention-zoo convert`"
        )
    if getattr(config, "similarity", False):
        raise ValueError(
            "similarity=True reads each pair in both orders, and where to swap depends on the data, which a graph "
            "cannot follow; models with similarity=False are exported"
        )
    if not config.architectures:
        raise ValueError(
            "config.json does not say which head the model has (architectures); save the whole model with "
            "save_pretrained"
        )


def load_text_model(folder: Path, config: Any) -> Any:
    """The model of a folder, its pooler left out if it has none.

    Raises:
        ValueError: weights are missing.
    """
    from hf_attention_zoo.folders.saved_model import auto_class_of

    auto = auto_class_of(config)
    if auto == "AutoModel" and config.model_type == "bert2018":
        try:
            return load_whole(auto, folder)
        except MissingWeightsError as error:
            if all(name.startswith("pooler.") for name in error.names):
                return load_whole(auto, folder, add_pooling_layer=False)
            raise
    return load_whole(auto, folder)


class MissingWeightsError(ValueError):
    """A folder has not all weights of the model that its config names."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        super().__init__(
            f"{folder} lacks weights that the model of its config.json has: {few}; a graph would have random numbers "
            "there. Save the whole model, head included, with save_pretrained"
        )
        self.names = names


def load_whole(auto: str, folder: Path, **options: Any) -> Any:
    """A saved model in float32 and evaluation mode.

    Raises:
        MissingWeightsError: the folder lacks some of its weights.
    """
    import transformers

    with loading(folder):
        model, found = getattr(transformers, auto).from_pretrained(
            folder, dtype=torch.float32, attn_implementation="sdpa", output_loading_info=True, **options
        )
    missing = sorted(found["missing_keys"])
    if missing:
        raise MissingWeightsError(folder, missing)
    return model.eval()


class TextGraph(nn.Module):
    """A model with inputs by position and a plain tuple of tensors as its result."""

    def __init__(self, model: Any, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, ()

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """See the module's description."""
        made = self.model(**dict(zip(self.inputs, tensors, strict=True)), return_dict=True)
        found = {name: value for name, value in made.items() if isinstance(value, Tensor)}
        self.outputs = tuple(found)
        return tuple(found.values())


def write_text_graph(model: Any, target: Path) -> None:
    """Write `model.onnx` of a model in float32 and evaluation mode.

    Raises:
        KeyError: an architecture that INPUTS has not.
    """
    inputs = INPUTS[model.config.model_type]
    model.config.use_cache = False
    shape: tuple[int, ...] = (2, min(5, model.config.max_position_embeddings))
    if type(model).__name__.endswith("ForMultipleChoice"):
        shape = (2, 2, shape[1])
    given = {name: torch.zeros(shape, dtype=torch.long) for name in inputs}
    given["input_ids"] = torch.randint(model.config.vocab_size, shape)
    given["attention_mask"] = torch.ones(shape, dtype=torch.long)
    axes = {axis: torch.export.Dim(name, min=1) for axis, name in enumerate(AXES[len(shape)])}
    graph = TextGraph(model, inputs).eval()
    with torch.no_grad():
        graph(*given.values())  # what the head gives
        program = torch.onnx.export(
            graph,
            tuple(given.values()),
            input_names=list(inputs),
            output_names=list(graph.outputs),
            dynamic_shapes=((axes,) * len(inputs),),
            dynamo=True,
            verbose=False,
        )
    needed(program, "the graph", "the exporter of torch made none").save(str(target / MODEL_FILE))
