"""C1: self-attention needs as many steps in a row for a long sentence as for a short one, recurrence one a word."""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hf_attention_zoo import (
    ElmanConfig,
    ElmanModel,
    RNNsearchConfig,
    RNNsearchModel,
    Transformer2017Config,
    Transformer2017Model,
)
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Exact, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines

UNITS, SYMBOLS, ROWS = 64, 10, 4
LENGTHS = (8, 16, 32, 64, 128)
TIMED = (16, 64, 256, 1024)


class StepsInARow(TorchDispatchMode):
    """Counts how many operations must wait for each other: the longest chain from data to data.

    An operation comes one step after the latest of what it reads; views of a tensor are no operations. Every call of
    torch's own kernels passes here, also those inside autograd functions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.longest, self.calls = 0, 0
        self._depth: dict[int, int] = {}
        self._alive: list[Tensor] = []  # a storage that is freed could be taken for another

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        read = [self._place(tensor) for tensor in tree_leaves((args, kwargs)) if isinstance(tensor, Tensor)]
        written = [tensor for tensor in tree_leaves(made) if isinstance(tensor, Tensor)]
        depth = max((self._depth.get(place, 0) for place in read), default=0)
        if not all(self._place(tensor) in read for tensor in written) or func._schema.is_mutable:
            depth += 1
            self.calls += 1
        for tensor in written:
            self._alive.append(tensor)
            place = self._place(tensor)
            self._depth[place] = max(depth, self._depth.get(place, 0))
        self.longest = max(self.longest, depth)
        return made

    @staticmethod
    def _place(tensor: Tensor) -> int:
        return tensor.untyped_storage()._cdata


def made(kind: str) -> nn.Module:
    """One layer that reads a sentence."""
    if kind == "self_attention":
        sizes: dict[str, Any] = {"hidden_size": UNITS, "intermediate_size": 2 * UNITS, "num_attention_heads": 4}
        plain: dict[str, Any] = {"vocab_size": SYMBOLS, "dropout": 0.0, "attn_implementation": "eager"}
        return Transformer2017Model(Transformer2017Config(num_hidden_layers=1, **sizes, **plain)).encoder
    if kind == "gru":
        return RNNsearchModel(
            RNNsearchConfig(vocab_size=SYMBOLS, embedding_size=UNITS, hidden_size=UNITS, attention_size=UNITS)
        ).get_encoder()
    return ElmanModel(ElmanConfig(vocab_size=SYMBOLS, hidden_size=UNITS))


def read(model: Any, ids: Tensor) -> Tensor:
    """States (N, T, D)."""
    return model(ids).last_hidden_state


def seconds(model: nn.Module, length: int, times: int) -> float:
    """Processor time of a forward and backward pass of one thread: the least of some."""
    ids = torch.randint(0, SYMBOLS, (ROWS, length))
    found = []
    for _ in range(times):
        begin = time.process_time()
        read(model, ids).square().mean().backward()
        found.append(time.process_time() - begin)
    return min(found)


def trial(kind: str, seed: int, budget: Budget) -> Measures:
    """Count, and take the time; nothing is learned."""
    model = made(kind).train()
    chains, calls = [], []
    for length in LENGTHS:
        with StepsInARow() as steps:
            read(model, torch.randint(0, SYMBOLS, (ROWS, length)))
        chains.append(steps.longest)
        calls.append(steps.calls)
    grown = [later - earlier for earlier, later in pairwise(chains)]
    words = [later - earlier for earlier, later in pairwise(LENGTHS)]
    measures: Measures = {
        "constant": float(len(set(chains)) == 1),
        "a_word": grown[-1] / words[-1],
        "linear": float(grown[-1] > 0 and len({chain / word for chain, word in zip(grown, words, strict=True)}) == 1),
        "chains": [float(chain) for chain in chains],
        "calls": [float(call) for call in calls],
    }
    times = [1000 * seconds(model, length, budget.steps(8, 1)) for length in TIMED]
    named = {f"ms_{length}": taken for length, taken in zip(TIMED, times, strict=True)}
    return {**measures, **named, "growth": times[-1] / times[-2], "ms": times}


def draw(figure: Figure, results: Results) -> None:
    """The longest chain of operations, and the time of one core."""
    figure.set_size_inches(9, 3.2)
    left, right = figure.subplots(1, 2)
    names = {"self_attention": "Transformer layer", "gru": "bidirectional GRU", "elman": "Elman"}
    chains = {name: results.of(f"{arm}/chains") for arm, name in names.items()}
    draw_lines(left, LENGTHS, chains, "words", "operations in a row")
    draw_lines(
        right, TIMED, {name: results.of(f"{arm}/ms") for arm, name in names.items()}, "words", "ms, forward and back"
    )
    for axes, words in ((left, LENGTHS), (right, TIMED)):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(words, [str(word) for word in words])
    right.set_title("one core, which does nothing at the same time", fontsize=9)


CLAIM = Claim(
    number="C1",
    title=Text("One step for all words", "모든 단어를 한 번에"),
    statement=Text(
        "A layer of self-attention needs equally many operations in a row for long and short sentences, a recurrent "
        "layer some for each word; but its work grows faster once a sentence is longer than a layer is wide.",
        "셀프 어텐션 층은 문장이 길어져도 차례로 해야 하는 연산의 수가 그대로이고, 순환 층은 단어마다 늘어난다. "
        "문장이 층의 너비보다 길어지면 셀프 어텐션의 계산량이 더 커진다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=(
        "Table 1, a layer: self-attention O(n^2 d) operations, O(1) in a row; recurrence O(n d^2), O(n) in a row",
    ),
    data=f"random sentences, {ROWS} at a time, of {LENGTHS[0]} to {LENGTHS[-1]} words (counted) and {TIMED[0]} to "
    f"{TIMED[-1]} (timed)",
    models=("transformer2017", "rnnsearch", "elman"),
    equal=f"one layer of {UNITS} units each; the Transformer's has its feed-forward layer, RNNsearch's has two "
    "directions, so that a few operations more or less say nothing; how they grow does",
    metric="the longest chain of operations that wait for each other, forward; processor time of one thread "
    "of a CPU, forward and backward. One thread does nothing at once: time does not show what "
    "is gained in parallel, it shows how the amount of work grows",
    refuted_by="the chain of self-attention grows with the sentence, a recurrent one does not; or from 256 "
    "to 1024 words, beyond the width, self-attention's time grows no faster than a GRU's",
    parts=(
        Exact("self-attention: the chain is the same for 8 and for 128 words", "self_attention/constant"),
        Exact("GRU: the chain grows by the same for every word", "gru/linear"),
        Exact("Elman: the chain grows by the same for every word", "elman/linear"),
        Difference("time, 1024 words over 256: self-attention over GRU", "self_attention/growth", "gru/growth"),
        Difference("time of 16 words: GRU over self-attention", "gru/ms_16", "self_attention/ms_16"),
    ),
    arms={kind: partial(trial, kind) for kind in ("self_attention", "gru", "elman")},
    draw=draw,
    seen=Text(
        "The chain of a Transformer layer is equally long for 8 and for 128 words; that of the bidirectional "
        "GRU grows by {gru/a_word:.0f} operations a word and Elman's by {elman/a_word:.0f}. On one core, "
        "which does nothing at the same time, this is no speed: from 256 to 1024 words self-attention takes "
        "{self_attention/growth:.0f} times as long, the GRU {gru/growth:.0f} times, as n²d and nd² say. At "
        "1024 words the layer takes {self_attention/ms_1024:.0f} ms, the GRU {gru/ms_1024:.0f} and Elman "
        "{elman/ms_1024:.0f}; the gain in time needs hardware with many cores, which was not tried.",
        "Transformer 층의 연산 사슬은 단어가 8개든 128개든 길이가 같고, 양방향 GRU는 단어마다 "
        "{gru/a_word:.0f}개, Elman은 {elman/a_word:.0f}개씩 길어집니다. 코어 하나는 아무것도 동시에 하지 "
        "못하므로 이것이 곧 속도는 아닙니다. 256단어에서 1024단어로 가면 셀프 어텐션은 "
        "{self_attention/growth:.0f}배, GRU는 {gru/growth:.0f}배 오래 걸려 n²d와 nd²에 가깝습니다. "
        "1024단어에서 {self_attention/ms_1024:.0f} ms, GRU {gru/ms_1024:.0f} ms, Elman {elman/ms_1024:.0f} "
        "ms입니다. 시간의 이득은 코어가 많은 장치에서만 나타나며 여기서는 재지 않았습니다.",
    ),
    minutes=0.1,
)
