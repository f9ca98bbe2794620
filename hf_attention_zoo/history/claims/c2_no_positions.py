"""C2: without positions self-attention sees a bag of words."""

from __future__ import annotations

from functools import partial

import torch
from matplotlib.figure import Figure
from torch import nn

from hf_attention_zoo.history.claim import Budget, Claim, Difference, Exact, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars, draw_lines
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.tagging import (
    Tagger,
    encoder_config,
    reversed_tags,
    tag_accuracy,
    tag_batches,
)
from hf_attention_zoo.history.training import thinned, train

SYMBOLS, LENGTH = 10, 8
STEPS, BATCH, HELD_OUT = 300, 64, 500
EXACTLY = 1e-10  # what float64 may be off by


def encoder(positions: bool) -> Tagger:
    """Two layers; without positions means a learned table that is zero and stays so."""
    if positions:
        return Tagger(encoder_config(SYMBOLS, num_hidden_layers=2), SYMBOLS)
    model = Tagger(
        encoder_config(SYMBOLS, num_hidden_layers=2, position_encoding="learned", max_position_embeddings=LENGTH),
        SYMBOLS,
    )
    table = model.encoder.positions.table.weight
    nn.init.zeros_(table)
    table.requires_grad_(False)
    return model


@torch.no_grad()
def change_by_order(model: Tagger, seed: int) -> float:
    """The largest |f(P x) - P f(x)| over 20 sentences, each in an order of its own, in float64."""
    random = held_out_draws(seed)
    exact = model.double().eval()
    largest = 0.0
    for _ in range(20):
        ids = torch.from_numpy(random.integers(0, SYMBOLS, (1, LENGTH)))
        order = torch.from_numpy(random.permutation(LENGTH))
        largest = max(largest, (exact(ids[:, order]).logits - exact(ids).logits[:, order]).abs().max().item())
    model.float()
    return largest


def trial(positions: bool, seed: int, budget: Budget) -> Measures:
    """Change the order of the words before training and after it; learn to write a sentence from its end."""
    model = encoder(positions)
    before = change_by_order(model, seed)
    batches = tag_batches(training_draws(seed), BATCH, (LENGTH, LENGTH), SYMBOLS, reversed_tags)
    losses = train(model, batches, budget.steps(STEPS))
    scored = next(tag_batches(held_out_draws(seed), HELD_OUT, (LENGTH, LENGTH), SYMBOLS, reversed_tags))
    after = change_by_order(model, seed)
    return {
        "equivariant": float(max(before, after) < EXACTLY),
        "order_counts": float(min(before, after) > 1e-3),
        "change_before": before,
        "change_after": after,
        "accuracy": tag_accuracy(model, scored),
        "curve": thinned(losses),
    }


def draw(figure: Figure, results: Results) -> None:
    """How far the outputs move when the words change places, and what can be learned."""
    figure.set_size_inches(8, 3.2)
    left, right = figure.subplots(1, 2)
    names = {"none": "no positions", "sinusoids": "sinusoids"}
    draw_bars(
        left, {name: results.of(f"{arm}/change_after") for arm, name in names.items()}, "largest |f(Px) − Pf(x)|"
    )
    left.set_yscale("log")
    left.axhline(EXACTLY, color="#888888", lw=0.8, ls=":")
    left.set_title("order of the words changed", fontsize=9)
    curves = {name: results.of(f"{arm}/curve") for arm, name in names.items()}
    points = len(curves["no positions"][0])
    draw_lines(right, [STEPS * (point + 0.5) / points for point in range(points)], curves, "step", "loss")
    right.set_title("writing a sentence from its end", fontsize=9)


CLAIM = Claim(
    number="C2",
    title=Text("Without positions, a bag of words", "위치가 없으면 단어 주머니"),
    statement=Text(
        "Self-attention without positions does not see the order of the words: if they change places, so do its "
        "outputs, and nothing else; positions break this.",
        "포지셔널 인코딩이 없는 셀프 어텐션은 단어의 순서를 보지 못한다. 단어의 자리를 바꾸면 출력도 "
        "똑같이 자리만 바뀐다. 포지셔널 인코딩이 이 대칭을 깬다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=("Section 3.5: without recurrence and convolution, positions must be put in; no number is printed",),
    data=f"sentences of {LENGTH} of {SYMBOLS} symbols drawn alike, to be written from their end; {HELD_OUT} held out",
    models=("transformer2017",),
    equal="layers, widths, steps, batches and their order. Without positions is a learned table held at zero",
    metric="the largest change of an output, 20 sentences in new orders, float64; labels right",
    refuted_by="an output without positions changes by more than rounding, or the task is learned without them",
    parts=(
        Exact("without positions f(Px) = Pf(x)", "none/equivariant"),
        Exact("with sinusoids f(Px) is not Pf(x)", "sinusoids/order_counts"),
        Difference("reversal: sinusoids over no positions", "sinusoids/accuracy", "none/accuracy", least=0.5),
    ),
    arms={"none": partial(trial, False), "sinusoids": partial(trial, True)},
    draw=draw,
    seen=Text(
        "Without positions the outputs moved with the words: the largest difference was "
        "{none/change_after:.0e} after training, which is rounding, and {sinusoids/change_after:.1f} with "
        "sinusoids. A sentence could then not be written from its end: {none/accuracy:.2f} of the labels "
        "right, as much as one gets from knowing which words there are, against {sinusoids/accuracy:.2f}. The "
        "loss without positions stood still after a few steps.",
        "포지셔널 인코딩이 없으면 출력은 단어를 따라 자리만 옮겼습니다. 학습 뒤 가장 큰 차이는 "
        "{none/change_after:.0e}로 반올림 오차이며, 사인 인코딩에서는 {sinusoids/change_after:.1f}였습니다. "
        "그래서 문장을 거꾸로 쓰는 과제를 배우지 못했습니다. 맞힌 비율은 {none/accuracy:.2f}로, 어떤 단어가 "
        "있는지만 알 때와 같고, 위치가 있으면 {sinusoids/accuracy:.2f}입니다.",
    ),
    minutes=0.1,
)
