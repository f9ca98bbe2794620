"""BERT2018 and GPT2018, with any head, as one ONNX graph, for programs without PyTorch.

`model.onnx`, for B texts of S tokens (with C choices each, (B, C, S) in the place of (B, S)):

    input_ids (B, S), attention_mask (B, S), and of BERT token_type_ids (B, S)
        ->  what the head gives, under the same names: `logits`, `start_logits`, `last_hidden_state`, ...

Ids and masks are int64 (a mask has 1 at tokens), everything else float32. Pads stand on either side, as in the model.
The graph computes them too, since leaving them out would depend on the data; results at real positions are the
model's. A text longer than the model's positions is an error of the runtime. GPT's graph has no cache: each word reads
the text again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

MODEL_FILE = "model.onnx"
# Architectures with one stack that reads a row of tokens, and what their tokenizers give.
INPUTS = {
    "bert2018": ("input_ids", "attention_mask", "token_type_ids"),
    "gpt2018": ("input_ids", "attention_mask"),
}


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
    ids = torch.randint(4, model.config.vocab_size, (2, 5))
    if type(model).__name__.endswith("ForMultipleChoice"):
        ids = torch.stack([ids, ids], 1)
    given = {name: torch.zeros_like(ids) for name in inputs} | {"input_ids": ids}
    given["attention_mask"] = torch.ones_like(ids)
    graph = TextGraph(model, inputs).eval()
    with torch.no_grad():
        graph(*given.values())  # what the head gives
        program = torch.onnx.export(
            graph,
            tuple(given.values()),
            input_names=list(inputs),
            output_names=list(graph.outputs),
            dynamic_shapes=(tuple(dict.fromkeys(range(ids.ndim), torch.export.Dim.DYNAMIC) for _ in inputs),),
            dynamo=True,
            verbose=False,
        )
    program.save(str(target / MODEL_FILE))
