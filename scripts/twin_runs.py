"""What is run of each fast twin and of its formula; `twin_table.py` says which belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor, nn

from hf_attention_zoo import get_architecture
from hf_attention_zoo.attention.attention_base import Attention
from hf_attention_zoo.attention.local_window import PredictiveLocalAttention
from hf_attention_zoo.attention.packing import Packing
from hf_attention_zoo.loops.decoder_loop import unroll
from hf_attention_zoo.loops.gated_loop import (
    project_context,
    project_inputs,
)
from hf_attention_zoo.loops.lstm_backward import project_first_layer
from hf_attention_zoo.loops.lstm_backward import project_inputs as project_lstm_inputs
from hf_attention_zoo.loops.may_run import formulas_only
from hf_attention_zoo.loops.moving_rows import _Pick, _Place, pick_rows
from hf_attention_zoo.loops.weight_tape import WeightTape, in_loop
from hf_attention_zoo.losses.sampled_softmax import sampled_cross_entropy
from hf_attention_zoo.models.rnn_encoder_decoder.modeling_rnn_encoder_decoder import SummarisedSource
from hf_attention_zoo.recurrent.bidirectional import BidirectionalGatedEncoder, inverse_of
from hf_attention_zoo.recurrent.context_lstm import ContextLSTM
from hf_attention_zoo.recurrent.gated_unit import GatedUnit, read_states
from hf_attention_zoo.recurrent.packed_reading import PackedBidirectionalEncoder, pack_rows
from hf_attention_zoo.recurrent.projected_lstm import ProjectedLSTMPair, ProjectedState
from hf_attention_zoo.recurrent.stacked_lstm import StackedLSTM
from hf_attention_zoo.seq2seq.decoding_state import DecodingState

Made = Tensor | tuple[Tensor, ...]
Run = Callable[..., Made]  # (module, mask (B, S), the inputs by name) -> what is compared


class Sizes(NamedTuple):
    """B sources or rows, S positions, T steps, K hypotheses, I inputs, H units, A further units, V words."""

    rows: int = 16
    source: int = 20
    steps: int = 20
    beams: int = 1
    inputs: int = 64
    hidden: int = 64
    further: int = 64
    words: int = 2000


SMALL = Sizes()


class Twin(NamedTuple):
    """A formula and what may run in its place.

    Attributes:
        name: what it is, in a few words.
        asked: where the package asks whether the twin may run, "module:qualified name"; None where it never asks.
        twin: the function that runs then.
        build: sizes -> the module that is run; `Free` for functions without one.
        inputs: sizes -> shapes of the inputs by name.
        run: the formula or the twin, whichever is in force.
        formula: runs the formula where nothing is asked; None for `run` with `formulas_only`.
        alone: turns off this twin and no other, where `run` uses several.
        trains_only: whether evaluation knows no twin.
        paper: sizes of the paper that it was written for, with a batch that is soon over.
    """

    name: str
    asked: str | None
    twin: Callable[..., Any]
    build: Callable[[Sizes], nn.Module]
    inputs: Callable[[Sizes], dict[str, tuple[int, ...]]]
    run: Run
    formula: Run | None = None
    alone: Callable[[nn.Module], AbstractContextManager[Any]] = lambda module: formulas_only()
    trains_only: bool = False
    paper: Sizes = SMALL


class Free(nn.Module):
    """No module: what is compared are functions of their inputs."""


def mask_of(sizes: Sizes) -> Tensor:
    """(B, S), true at real positions: more and more pads from row to row, on the left of every second one."""
    pads = torch.arange(sizes.rows)[:, None] * sizes.source // (2 * sizes.rows)
    real = torch.arange(sizes.source)[None] >= pads
    return torch.where(torch.arange(sizes.rows)[:, None] % 2 == 1, real, real.flip(1))


def filled(module: nn.Module) -> nn.Module:
    """Weights and biases that are far from zero, so that no term is left out unseen."""
    with torch.no_grad():
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=min(0.7, 1.5 / parameter.shape[-1] ** 0.5))
    return module


def inputs_of(twin: Twin, sizes: Sizes, dtype: torch.dtype = torch.float32, wanted: bool = True) -> dict[str, Tensor]:
    """Random inputs, whose gradients are `wanted` or not."""
    return {name: torch.randn(shape, dtype=dtype, requires_grad=wanted) for name, shape in twin.inputs(sizes).items()}


# Attention, each query of the steps of a loop, and all at once


def attention_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    return {
        "queries": (sizes.rows, sizes.steps * sizes.beams, sizes.hidden),
        "values": (sizes.rows, sizes.source, sizes.further),
    }


def dot_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    return attention_inputs(sizes._replace(further=sizes.hidden))


def run_attention_loop(module: Attention, mask: Tensor, queries: Tensor, values: Tensor) -> Made:
    """As many queries a step as there are hypotheses, two if their number is even."""
    source = module.prepare(values, mask)
    attend = module.in_loop(source, WeightTape.start())
    beams = 2 if queries.shape[1] % 2 == 0 else 1
    made = [attend(now, source) for now in queries.split(beams, 1)]
    contexts, alignments = zip(*made, strict=True)
    return torch.cat(contexts, 1), torch.cat(alignments, 1)


def run_window_loop(module: PredictiveLocalAttention, mask: Tensor, queries: Tensor, values: Tensor) -> Made:
    source = module.prepare(values, mask)
    attend = module.in_loop(source, WeightTape.start())
    made = [attend(now, source, torch.full((1, 1), time)) for time, now in enumerate(queries.split(1, 1))]
    contexts, alignments = zip(*made, strict=True)
    return torch.cat(contexts, 1), torch.cat(alignments, 1)


def run_all_queries(module: Attention, mask: Tensor, queries: Tensor, values: Tensor) -> Made:
    return module(queries, module.prepare(values, mask))


def run_linear_loop(module: nn.Linear, mask: Tensor, vectors: Tensor) -> Made:
    project = in_loop(module, WeightTape.start())
    return torch.stack([torch.tanh(project(now)) for now in vectors.unbind(1)], 1)


# Cells


def by_name(state: dict[str, Tensor]) -> list[Tensor]:
    return [state[name] for name in sorted(state)]


def run_stack(module: StackedLSTM, mask: Tensor, inputs: Tensor, hidden: Tensor, cell: Tensor) -> Made:
    """All steps, of which the pads leave the state as it is."""
    layers = range(module.num_layers)
    state = {f"hidden_{k}": hidden[k] for k in layers} | {f"cell_{k}": cell[k] for k in layers}
    outputs, state = module.unrolled(inputs, state, mask)
    return outputs, *by_name(state)


def run_fed_stack(module: StackedLSTM, mask: Tensor, inputs: Tensor, hidden: Tensor, cell: Tensor) -> Made:
    """A step's result is fed back into the next, as with attention in between."""
    layers = range(module.num_layers)
    state = {f"hidden_{k}": hidden[k] for k in layers} | {f"cell_{k}": cell[k] for k in layers}
    lstm = module.in_loop(WeightTape.start())
    read = inputs if lstm is module else project_first_layer(module, inputs)

    def step(now: tuple[Tensor, ...], state: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        fed = state["fed"]
        top, following = lstm(now[0], {name: one for name, one in state.items() if name != "fed"}, fed)
        return {"top": top}, following | {"fed": torch.sin(top)}

    made, state = unroll(step, (read,), state | {"fed": torch.zeros_like(hidden[0])})
    return made["top"], *by_name(state)


def stack_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    state = (2, sizes.rows, sizes.hidden)
    return {"inputs": (sizes.rows, sizes.source, sizes.inputs), "hidden": state, "cell": state}


def run_context_lstm(
    module: ContextLSTM, mask: Tensor, inputs: Tensor, contexts: Tensor, hidden: Tensor, cell: Tensor
) -> Made:
    unit = module.in_loop(WeightTape.start())
    read = inputs if unit is module else project_lstm_inputs(module, inputs)
    states = []
    for now, context in zip(read.unbind(1), contexts.unbind(1), strict=True):
        hidden, cell = unit(now, context, hidden, cell)
        states.append(hidden)
    return torch.stack(states, 1), cell


def gated_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    return {
        "inputs": (sizes.rows, sizes.steps, sizes.inputs),
        "contexts": (sizes.rows, sizes.steps, sizes.further),
        "hidden": (sizes.rows, sizes.hidden),
    }


def run_gated_loop(module: GatedUnit, mask: Tensor, inputs: Tensor, contexts: Tensor, hidden: Tensor) -> Made:
    unit = module.in_loop(WeightTape.start())
    if unit is not module:
        inputs, contexts = project_inputs(module, inputs), project_context(module, contexts)
    states = []
    for now, context in zip(inputs.unbind(1), contexts.unbind(1), strict=True):
        hidden = unit(now, hidden, context)
        states.append(hidden)
    return torch.stack(states, 1)


def run_gated_reading(module: GatedUnit, mask: Tensor, inputs: Tensor, contexts: Tensor, hidden: Tensor) -> Made:
    return read_states(module, inputs, hidden, contexts[:, 0])


# Readers of whole sequences


def reader_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    return {"vectors": (sizes.rows, sizes.source, sizes.inputs)}


def run_reader(module: BidirectionalGatedEncoder, mask: Tensor, vectors: Tensor) -> Made:
    return module(vectors, mask)


def two_units(sizes: Sizes, **form: Any) -> tuple[GatedUnit, GatedUnit]:
    return GatedUnit(sizes.inputs, sizes.hidden, **form), GatedUnit(sizes.inputs, sizes.hidden, **form)


def run_packed(module: PackedBidirectionalEncoder, mask: Tensor, vectors: Tensor) -> Made:
    return module(vectors[mask], pack_rows(mask.sum(1)))


def run_packed_distinct(module: PackedBidirectionalEncoder, mask: Tensor, vectors: Tensor) -> Made:
    """Of distinct vectors, most of which occur several times."""
    tokens = int(mask.sum())
    return module(vectors.flatten(0, 1), pack_rows(mask.sum(1)), torch.arange(tokens) % (tokens // 2 + 1))


def projected_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    return {
        "vectors": (sizes.rows, sizes.source, sizes.inputs),
        "hidden": (2, sizes.rows, sizes.further),
        "cell": (2, sizes.rows, sizes.hidden),
    }


def run_projected_pair(module: ProjectedLSTMPair, mask: Tensor, vectors: Tensor, hidden: Tensor, cell: Tensor) -> Made:
    rows = pack_rows(mask.sum(1))
    states, last = module(vectors[mask][rows.orders], rows, ProjectedState(hidden, cell))
    return states, last.hidden, last.cell


def run_projected_distinct(
    module: ProjectedLSTMPair, mask: Tensor, vectors: Tensor, hidden: Tensor, cell: Tensor
) -> Made:
    rows = pack_rows(mask.sum(1))
    which = (rows.orders * 3) % (rows.orders.shape[1] // 2 + 1)
    states, last = module(vectors.flatten(0, 1), rows, ProjectedState(hidden, cell), which)
    return states, last.hidden, last.cell


# Losses


def labels_of(mask: Tensor, words: int) -> Tensor:
    """(B S), a pad has none."""
    return (torch.arange(mask.numel()) % words).masked_fill(~mask.flatten(), -100)


def run_sampled(module: nn.Linear, mask: Tensor, vectors: Tensor) -> Made:
    """The same quarter of the words is drawn each time."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(3)
        words = module.out_features
        return sampled_cross_entropy(vectors.flatten(0, 1), module, labels_of(mask, words), words // 4)


def logit_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    return {"logits": (sizes.rows * sizes.source, sizes.words)}


# Decoders


def rnnsearch_decoder(sizes: Sizes) -> nn.Module:
    row = get_architecture("rnnsearch")
    widths = {"embedding_size": sizes.inputs, "hidden_size": sizes.hidden, "attention_size": sizes.further}
    config = row.config_class(**widths, maxout_size=max(2, sizes.hidden // 2), decoder_vocab_size=8, vocab_size=8)
    return row.model_classes["AutoModelForSeq2SeqLM"](config).model.decoder


def run_rnnsearch_decoder(module: nn.Module, mask: Tensor, words: Tensor, annotations: Tensor) -> Made:
    given = {"encoder_hidden_states": annotations, "encoder_attention_mask": mask}
    copies = words.shape[0] // annotations.shape[0]
    return module(inputs_embeds=words, hypotheses_per_source=copies, **given).last_hidden_state


@contextmanager
def readout_alone(module: nn.Module) -> Iterator[None]:
    """A hook round the layer that reads contexts: the twins of attention and unit stay."""
    with module.readout.projections[2].register_forward_hook(lambda *_: None):
        yield


def phrase_decoder(sizes: Sizes) -> nn.Module:
    row = get_architecture("rnn_encoder_decoder")
    widths = {"embedding_size": sizes.inputs, "hidden_size": sizes.hidden, "maxout_size": max(2, sizes.hidden // 2)}
    config = row.config_class(**widths, output_rank=None, decoder_vocab_size=8, vocab_size=8)
    return row.model_classes["AutoModelForSeq2SeqLM"](config).model.decoder


def run_phrase_decoder(module: nn.Module, mask: Tensor, words: Tensor, summary: Tensor) -> Made:
    """One word after the other, as in generation: what stands still is formed once."""
    source = SummarisedSource(last_hidden_state=summary[:, None], summary=summary)
    given = {"encoder_states": source, "hypotheses_per_source": words.shape[0] // summary.shape[0]}
    cache, made = DecodingState(), []
    for now in words.split(1, 1):
        made.append(module(inputs_embeds=now, cache=cache, use_cache=True, **given).last_hidden_state)
    return torch.cat(made, 1)


def terms_alone(module: nn.Module) -> AbstractContextManager[Any]:
    """Without the context's part of the gates, which every step then forms again."""
    terms = module.source_terms
    return patch.object(
        module, "source_terms", lambda summary: {k: v for k, v in terms(summary).items() if k != "gates"}
    )


def decoder_inputs(source: str) -> Callable[[Sizes], dict[str, tuple[int, ...]]]:
    """Words of all hypotheses, and annotations or a summary."""

    def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
        words = (sizes.rows * sizes.beams, sizes.steps, sizes.inputs)
        if source == "summary":
            return {"words": words, "summary": (sizes.rows, sizes.hidden)}
        return {"words": words, "annotations": (sizes.rows, sizes.source, 2 * sizes.hidden)}

    return shapes


# Rows that move


def order_of(count: int) -> Tensor:
    """A permutation (N) that is the same each time."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(0))


def moved(module: nn.Module, mask: Tensor, vectors: Tensor) -> Made:
    flat = vectors.flatten(0, 1)
    order = order_of(len(flat))
    return pick_rows(flat, order, inverse_of(order))


def moved_by_index(module: nn.Module, mask: Tensor, vectors: Tensor) -> Made:
    flat = vectors.flatten(0, 1)
    return flat[order_of(len(flat))]


def picked_and_placed(module: nn.Module, mask: Tensor, vectors: Tensor) -> Made:
    flat = vectors.flatten(0, 1)
    some = order_of(len(flat))[: len(flat) // 2]
    return _Place.apply(_Pick.apply(flat, some) ** 2, some, len(flat))


def picked_and_placed_by_index(module: nn.Module, mask: Tensor, vectors: Tensor) -> Made:
    flat = vectors.flatten(0, 1)
    some = order_of(len(flat))[: len(flat) // 2]
    return torch.zeros_like(flat).index_put((some,), flat[some] ** 2)


def packed(module: nn.Module, mask: Tensor, vectors: Tensor) -> Made:
    packing = Packing.of(mask)
    return packing.unpack(packing.pack(vectors) ** 2)


def packed_by_index(module: nn.Module, mask: Tensor, vectors: Tensor) -> Made:
    return torch.zeros_like(vectors).index_put((mask,), vectors[mask] ** 2)


def query_key_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    queries, keys = (sizes.rows, sizes.steps, sizes.hidden), (sizes.rows, sizes.source, sizes.hidden)
    return {"queries": queries, "keys": keys, "vector": (sizes.hidden,)}
