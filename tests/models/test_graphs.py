"""Graphs of each architecture's encoder and of one decoding step, or of its first whole head, by torch and ONNX.

A graph is made from full rows and run on other words, other numbers of rows and padded rows of other lengths. What
cannot be recorded is refused in words, and what the words advise works.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))

from every_head import EVERY_HEAD

from hf_attention_zoo import list_architectures
from hf_attention_zoo.loops.graphs import GraphError

Inputs = dict[str, Tensor]
SOURCES = ("input_ids", "attention_mask", "annotations", "character_ids")
# Whose graphs, wholes or encoders, follow any number of positions; those of other models hold the steps of a loop.
OPEN = {"nnlm", "word2vec", "fasttext", "transformer2017", "gpt2018", "bert2018", "show_attend_tell"}
OPEN_TRACES = {*OPEN, "luong", "self_attentive"}
PACKED = ("han", "elmo")
EXAMPLE, OTHER, AS_LONG = (5, 5), (7, 2, 4), (5, 2, 4)  # tokens of each row
ROWS = torch.export.Dim("rows", min=1, max=64)


class Part(nn.Module):
    """A part of a model that takes tensors in a fixed order and gives tensors."""

    def __init__(self, model: Any, names: Sequence[str], encoder_result: type | None = None) -> None:
        super().__init__()
        self.model, self.names, self.encoder_result = model, names, encoder_result

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given: dict[str, Any] = dict(zip(self.names, tensors, strict=True))
        if self.encoder_result is not None:
            kept = {name: given.pop(name) for name in self.names if name not in (*SOURCES, "decoder_input_ids")}
            made = self.model(**given, encoder_outputs=self.encoder_result(**kept), use_cache=False)
            return (made.logits,)
        return tuple(tensor for tensor in self.model(**given).values() if isinstance(tensor, Tensor))


@functools.cache
def parts_of(model_type: str) -> dict[str, tuple[Part, dict[tuple[int, ...], Inputs]]]:
    """Encoder and step, or the whole, each with inputs of rows of these lengths."""
    heads = [one for one in EVERY_HEAD if one.model_type == model_type]
    head = next((one for one in heads if one.auto != "AutoModelForPreTraining"), heads[0])
    model = head.model()
    sources = {
        lengths: {name: tensor for name, tensor in head.batch(lengths, seed=len(lengths)).items() if name in SOURCES}
        for lengths in (EXAMPLE, OTHER, AS_LONG)
    }
    names = [*sources[EXAMPLE]]
    if not model.config.is_encoder_decoder and model_type != "show_attend_tell":
        return {"whole": (Part(model, names), sources)}
    steps = {}
    for lengths, given in sources.items():
        with torch.no_grad():
            read = model.get_encoder()(**given)
        kept = {name: tensor for name, tensor in read.items() if isinstance(tensor, Tensor)}
        mask = {name: tensor for name, tensor in given.items() if name == "attention_mask"}
        steps[lengths] = {"decoder_input_ids": torch.full((len(lengths), 1), 5), **mask, **kept}
    step = Part(model, [*steps[EXAMPLE]], type(read))
    return {"encoder": (Part(model.get_encoder(), names), sources), "step": (step, steps)}


CASES = [(row.model_type, part) for row in list_architectures() for part in parts_of(row.model_type)]


def of_positions(name: str, tensor: Tensor) -> bool:
    return tensor.ndim > 1 and name not in ("decoder_input_ids", "summary", "final_hidden", "final_cell")


def open_shapes(given: Inputs, positions: bool) -> tuple[Any, ...]:
    """Any number of rows and, if wanted, of positions, too, as `dynamic_shapes` take it."""
    length = torch.export.Dim("length", min=2, max=64)
    return (
        tuple(
            {0: ROWS, **({1: length} if positions and of_positions(name, tensor) else {})}
            for name, tensor in given.items()
        ),
    )


def at_tokens(tensors: Sequence[Tensor], given: Inputs) -> list[Tensor]:
    """Tensors without what stands at pads."""
    mask = given.get("attention_mask")
    return [
        tensor[mask.bool()] if mask is not None and tensor.shape[:2] == mask.shape else tensor for tensor in tensors
    ]


def check_same(graph: Any, part: Part, given: Inputs) -> None:
    with torch.no_grad():
        found, wanted = graph(*given.values()), part(*given.values())
    found = [found] if isinstance(found, Tensor) else found
    for made, known in zip(at_tokens(found, given), at_tokens(wanted, given), strict=True):
        torch.testing.assert_close(made, known, rtol=1e-4, atol=1e-4, check_dtype=False)


def exported(part: Part, given: Inputs, positions: bool) -> Any:
    with torch.no_grad():
        return torch.export.export(
            part, tuple(given.values()), dynamic_shapes=open_shapes(given, positions), strict=False
        )


@pytest.mark.parametrize(("model_type", "name"), CASES)
def test_a_trace_follows_other_rows_or_is_refused(model_type: str, name: str) -> None:
    part, given = parts_of(model_type)[name]

    def traced() -> Any:
        with torch.no_grad():
            return torch.jit.trace(part, tuple(given[EXAMPLE].values()), strict=False, check_trace=False)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if model_type in PACKED:
            with pytest.raises(GraphError, match="run this model by PyTorch"):
                traced()
            return
        graph = traced()
    looped = model_type not in OPEN_TRACES and name != "step"
    assert any("5 steps of a recurrent loop: pad to 5" in str(one.message) for one in said) == looped
    check_same(graph, part, given[AS_LONG])
    if not looped:
        check_same(graph, part, given[OTHER])


@pytest.mark.parametrize(("model_type", "name"), CASES)
def test_an_exported_graph_follows_other_rows_or_is_refused(model_type: str, name: str) -> None:
    part, given = parts_of(model_type)[name]
    if model_type in PACKED:
        with pytest.raises(GraphError, match="run this model by PyTorch"):
            exported(part, given[EXAMPLE], True)
    elif model_type not in OPEN and name != "step":
        with pytest.raises(GraphError, match="leave that dimension out of dynamic_shapes, pad"):
            exported(part, given[EXAMPLE], True)
    else:
        check_same(exported(part, given[EXAMPLE], True).module(), part, given[OTHER])


@pytest.mark.slow
@pytest.mark.parametrize(("model_type", "name"), [case for case in CASES if case[0] not in PACKED])
def test_an_onnx_graph_follows_other_rows(model_type: str, name: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    part, given = parts_of(model_type)[name]
    looped = model_type not in OPEN and name != "step"
    program = exported(part, given[EXAMPLE], not looped)
    if looped:  # as the refusal above advises
        check_same(program.module(), part, given[AS_LONG])
    torch.onnx.export(program, dynamo=True, verbose=False).save(tmp_path / "graph.onnx")
    session = runtime.InferenceSession(tmp_path / "graph.onnx")

    def graph(*tensors: Tensor) -> list[Tensor]:
        names = [entry.name for entry in session.get_inputs()]
        assert len(names) == len(tensors)
        feed = dict(zip(names, (tensor.numpy() for tensor in tensors), strict=True))
        return [torch.from_numpy(made) for made in session.run(None, feed)]

    check_same(graph, part, given[AS_LONG if looped else OTHER])


@pytest.mark.slow
@pytest.mark.parametrize("model_type", PACKED)
def test_what_no_graph_records_runs_under_a_compiler(model_type: str) -> None:
    part, given = parts_of(model_type)["whole"]
    check_same(torch.compile(part, backend="eager"), part, given[OTHER])


@pytest.mark.parametrize("model_type", ["self_attentive", "bert2018"])
def test_a_loss_that_leaves_labels_out_is_no_part_of_a_graph(model_type: str) -> None:
    (head,) = (
        one for one in EVERY_HEAD if one.model_type == model_type and one.auto == "AutoModelForSequenceClassification"
    )
    model, given = head.model(), head.batch(EXAMPLE)
    with pytest.raises(GraphError, match="leave labels out"):
        torch.jit.trace(model, example_kwarg_inputs=given, strict=False, check_trace=False)
    given.pop("labels")
    assert torch.jit.trace(model, example_kwarg_inputs=given, strict=False, check_trace=False)
