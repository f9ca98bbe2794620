"""Every fast twin beside its formula: what the tests compare and what `benchmark_twins.py` measures.

A twin stands here once. The tests look for all places where the package asks whether a twin may run, and for all
backward passes written by hand: one that has no row fails them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from twin_runs import (
    Free,
    Sizes,
    Twin,
    attention_inputs,
    decoder_inputs,
    dot_inputs,
    gated_inputs,
    labels_of,
    logit_inputs,
    moved,
    moved_by_index,
    packed,
    packed_by_index,
    phrase_decoder,
    picked_and_placed,
    picked_and_placed_by_index,
    projected_inputs,
    query_key_inputs,
    reader_inputs,
    readout_alone,
    rnnsearch_decoder,
    run_all_queries,
    run_attention_loop,
    run_context_lstm,
    run_fed_stack,
    run_gated_loop,
    run_gated_reading,
    run_linear_loop,
    run_packed,
    run_packed_distinct,
    run_phrase_decoder,
    run_projected_distinct,
    run_projected_pair,
    run_reader,
    run_rnnsearch_decoder,
    run_sampled,
    run_stack,
    run_window_loop,
    stack_inputs,
    terms_alone,
    two_units,
)

from hf_attention_zoo.attention.additive import AdditiveAttention, additive_scores
from hf_attention_zoo.attention.concat import ConcatAttention
from hf_attention_zoo.attention.dot_product import DotProductAttention
from hf_attention_zoo.attention.general import GeneralAttention
from hf_attention_zoo.attention.local_window import PredictiveLocalAttention
from hf_attention_zoo.attention.packing import Packing
from hf_attention_zoo.attention.region_attention import RegionAttention
from hf_attention_zoo.loops.additive_scores import AdditiveLoop, recomputed_scores
from hf_attention_zoo.loops.chunked_scores import chunked_scores
from hf_attention_zoo.loops.gated_loop import (
    GatedLoop,
    project_context,
    read_sequence,
    read_side_by_side,
)
from hf_attention_zoo.loops.lstm_backward import ContextLoop, StackLoop
from hf_attention_zoo.loops.mixture import ProductLoop
from hf_attention_zoo.loops.moving_rows import _Pick, pick_rows
from hf_attention_zoo.loops.packed_gates import read_packed
from hf_attention_zoo.loops.projected_backward import run_projected
from hf_attention_zoo.loops.weight_tape import step_linear
from hf_attention_zoo.losses.sampled_softmax import sampled_scores
from hf_attention_zoo.losses.token_loss import (
    _SummedCrossEntropy,
    summed_cross_entropy,
    summed_cross_entropy_reference,
)
from hf_attention_zoo.recurrent.bidirectional import BidirectionalGatedEncoder
from hf_attention_zoo.recurrent.context_lstm import ContextLSTM
from hf_attention_zoo.recurrent.gated_unit import GatedUnit
from hf_attention_zoo.recurrent.packed_reading import PackedBidirectionalEncoder
from hf_attention_zoo.recurrent.projected_lstm import ProjectedLSTMPair
from hf_attention_zoo.recurrent.readout import MaxoutReadout
from hf_attention_zoo.recurrent.stacked_lstm import StackedLSTM

ATTENTION, RECURRENT, MODELS = (f"hf_attention_zoo.{room}" for room in ("attention", "recurrent", "models"))
RNNSEARCH = Sizes(steps=10, inputs=620, hidden=1000, further=2000)
LUONG = Sizes(source=10, steps=10, inputs=1000, hidden=1000, further=1000)
CAPTIONS = Sizes(rows=8, source=196, steps=10, inputs=512, hidden=1800, further=512)
HAN = Sizes(rows=64, inputs=200, hidden=50)
ELMO = Sizes(rows=8, source=10, inputs=512, hidden=4096, further=512, words=20_000)
CHO = Sizes(steps=10, inputs=100, hidden=1000, further=1000, beams=2)


def attention_twins() -> list[Twin]:
    additive = f"{ATTENTION}.additive:AdditiveAttention"
    product = f"{ATTENTION}.dot_product:DotProductAttention.in_loop"
    looped = (attention_inputs, run_attention_loop)

    def additive_of(sizes: Sizes) -> nn.Module:
        return AdditiveAttention(sizes.hidden, sizes.further, sizes.hidden)

    def window(sizes: Sizes) -> nn.Module:
        mechanism = GeneralAttention(sizes.hidden, sizes.further)
        return PredictiveLocalAttention(mechanism, 2, sizes.hidden, sizes.hidden)

    return [
        Twin("additive scores at once", f"{additive}.score", recomputed_scores, additive_of, attention_inputs,
             run_all_queries, paper=RNNSEARCH),
        Twin("additive attention in a loop", f"{additive}.in_loop", AdditiveLoop.__call__, additive_of, *looped,
             paper=RNNSEARCH),
        Twin("attention to regions in a loop", f"{additive}.in_loop", AdditiveLoop.__call__,
             lambda sizes: RegionAttention(sizes.hidden, sizes.further, num_layers=2), *looped, paper=CAPTIONS),
        Twin("concat attention in a loop", f"{additive}.in_loop", AdditiveLoop.__call__,
             lambda sizes: ConcatAttention(sizes.hidden, sizes.further, sizes.further, "identity"), *looped,
             paper=LUONG),
        Twin("dot product in a loop", product, ProductLoop.__call__, lambda sizes: DotProductAttention(), dot_inputs,
             run_attention_loop, trains_only=True, paper=LUONG),
        Twin("general attention in a loop", product, ProductLoop.__call__,
             lambda sizes: GeneralAttention(sizes.hidden, sizes.further), *looped, trains_only=True, paper=LUONG),
        Twin("local attention in a loop", product, ProductLoop.__call__, window, attention_inputs, run_window_loop,
             trains_only=True, paper=LUONG),
        Twin("linear layer in a loop", "hf_attention_zoo.loops.weight_tape:in_loop", step_linear,
             lambda sizes: nn.Linear(sizes.inputs, sizes.hidden), reader_inputs, run_linear_loop, trains_only=True,
             paper=LUONG._replace(inputs=2000)),
        Twin("additive scores in chunks", None, chunked_scores, lambda sizes: Free(), query_key_inputs,
             lambda _, mask, queries, keys, vector: chunked_scores(queries, keys, vector),
             formula=lambda _, mask, queries, keys, vector: additive_scores(queries, keys, vector), paper=RNNSEARCH),
    ]  # fmt: skip


def cell_twins() -> list[Twin]:
    unit, stack = f"{RECURRENT}.gated_unit:GatedUnit", f"{RECURRENT}.stacked_lstm:StackedLSTM.in_loop"
    made = []
    for reset, update, bias in (("before", "new", "all"), ("after", "keep", "candidate"), ("after", "new", "all")):

        def gated(sizes: Sizes, reset: Any = reset, update: Any = update, bias: Any = bias) -> nn.Module:
            return GatedUnit(sizes.inputs, sizes.hidden, sizes.further, bias=bias, reset=reset, update=update)

        form = f"reset {reset}, update {update}, bias {bias}"
        made += [
            Twin(f"gated unit in a loop, {form}", f"{unit}.in_loop", GatedLoop.__call__, gated, gated_inputs,
                 run_gated_loop, paper=RNNSEARCH),
            Twin(f"gated unit over a sequence, {form}", f"{RECURRENT}.gated_unit:read_states", read_sequence, gated,
                 gated_inputs, run_gated_reading, paper=RNNSEARCH),
        ]  # fmt: skip
    for biases in ("none", "one", "two"):

        def fed(sizes: Sizes, biases: Any = biases) -> nn.Module:
            return StackedLSTM(sizes.inputs, sizes.hidden, 2, biases, feed_size=sizes.hidden)

        def plain(sizes: Sizes, biases: Any = biases) -> nn.Module:
            return StackedLSTM(sizes.inputs, sizes.hidden, 2, biases)

        made += [
            Twin(f"LSTM stack fed back, biases {biases}", stack, StackLoop.__call__, fed, stack_inputs, run_fed_stack,
                 paper=LUONG),
            Twin(f"LSTM stack step by step, biases {biases}", stack, StackLoop.__call__, plain, stack_inputs,
                 run_stack, paper=LUONG),
        ]  # fmt: skip

    def context_lstm(sizes: Sizes) -> nn.Module:
        return ContextLSTM(sizes.inputs, sizes.hidden, sizes.further)

    def context_inputs(sizes: Sizes) -> dict[str, tuple[int, ...]]:
        return gated_inputs(sizes) | {"cell": (sizes.rows, sizes.hidden)}

    return [
        *made,
        Twin("LSTM with a context in a loop", f"{RECURRENT}.context_lstm:ContextLSTM.in_loop", ContextLoop.__call__,
             context_lstm, context_inputs, run_context_lstm, paper=CAPTIONS),
    ]  # fmt: skip


def reader_twins() -> list[Twin]:
    side_by_side = f"{RECURRENT}.bidirectional:BidirectionalGatedEncoder.forward"
    rows = f"{RECURRENT}.packed_reading:PackedBidirectionalEncoder.forward"
    pair = f"{RECURRENT}.projected_lstm:ProjectedLSTMPair.forward"
    made = []
    for reset, update, bias in (("before", "new", "all"), ("after", "keep", "all"), ("before", "keep", "candidate")):
        form = {"reset": reset, "update": update, "bias": bias}

        def encoder(sizes: Sizes, form: Any = form) -> nn.Module:
            return BidirectionalGatedEncoder(*two_units(sizes, **form))

        def packed_encoder(sizes: Sizes, form: Any = form) -> nn.Module:
            return PackedBidirectionalEncoder(*two_units(sizes, **form))

        name = f"reset {reset}, update {update}, bias {bias}"
        made += [
            Twin(f"two directions side by side, {name}", side_by_side, read_side_by_side, encoder, reader_inputs,
                 run_reader, paper=RNNSEARCH),
            Twin(f"packed rows, {name}", rows, read_packed, packed_encoder, reader_inputs, run_packed, paper=HAN),
            Twin(f"packed rows of distinct vectors, {name}", rows, read_packed, packed_encoder, reader_inputs,
                 run_packed_distinct, paper=HAN),
        ]  # fmt: skip

    def projected(clips: tuple[float | None, float | None]) -> Callable[[Sizes], nn.Module]:
        return lambda sizes: ProjectedLSTMPair(sizes.inputs, sizes.hidden, sizes.further, *clips)

    return [
        *made,
        Twin("projected LSTMs", pair, run_projected, projected((None, None)), projected_inputs, run_projected_pair,
             paper=ELMO),
        Twin("projected LSTMs of distinct vectors, clipped", pair, run_projected, projected((0.5, 0.2)),
             projected_inputs, run_projected_distinct, paper=ELMO),
    ]  # fmt: skip


def other_twins() -> list[Twin]:
    return [
        Twin("sampled softmax", "hf_attention_zoo.losses.sampled_softmax:sampled_cross_entropy", sampled_scores,
             lambda sizes: nn.Linear(sizes.inputs, sizes.words), reader_inputs, run_sampled, paper=ELMO),
        Twin("cross entropy", None, _SummedCrossEntropy.forward, lambda sizes: Free(), logit_inputs,
             lambda _, mask, logits: summed_cross_entropy(logits, labels_of(mask, logits.shape[1])),
             formula=lambda _, mask, logits: summed_cross_entropy_reference(logits, labels_of(mask, logits.shape[1])),
             trains_only=True, paper=Sizes(words=30_000)),
        Twin("cross entropy of smoothed labels", None, _SummedCrossEntropy.forward, lambda sizes: Free(), logit_inputs,
             lambda _, mask, logits: summed_cross_entropy(logits, labels_of(mask, logits.shape[1]), 0.1),
             formula=lambda _, mask, logits: summed_cross_entropy_reference(
                 logits, labels_of(mask, logits.shape[1]), 0.1
             ),
             trains_only=True, paper=Sizes(words=30_000)),
        Twin("contexts of RNNsearch's output, projected once",
             f"{MODELS}.rnnsearch.modeling_rnnsearch:RNNsearchDecoder.forward", MaxoutReadout.project,
             rnnsearch_decoder, decoder_inputs("annotations"), run_rnnsearch_decoder, alone=readout_alone,
             paper=RNNSEARCH._replace(further=1000)),
        Twin("context of Cho's unit, projected once",
             f"{MODELS}.rnn_encoder_decoder.modeling_rnn_encoder_decoder:RNNEncoderDecoderDecoder.source_terms",
             project_context, phrase_decoder, decoder_inputs("summary"), run_phrase_decoder, alone=terms_alone,
             paper=CHO),
        Twin("rows in another order", None, pick_rows, lambda sizes: Free(), reader_inputs, moved,
             formula=moved_by_index, paper=RNNSEARCH),
        Twin("rows picked and placed", None, _Pick.forward, lambda sizes: Free(), reader_inputs, picked_and_placed,
             formula=picked_and_placed_by_index, paper=RNNSEARCH),
        Twin("tokens without their pads", None, Packing.pack, lambda sizes: Free(), reader_inputs, packed,
             formula=packed_by_index, paper=RNNSEARCH),
    ]  # fmt: skip


TWINS = [*attention_twins(), *cell_twins(), *reader_twins(), *other_twins()]
