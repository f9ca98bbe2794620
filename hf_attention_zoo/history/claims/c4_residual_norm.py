"""C4: residuals make depth possible, layer normalisation makes it robust."""

from __future__ import annotations

import math
from functools import partial

from matplotlib.figure import Figure

from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.deep_encoder import DeepTagger
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.tagging import reversed_tags, tag_accuracy, tag_batches
from hf_attention_zoo.history.training import train

SYMBOLS, LENGTH = 10, 6
UNITS, HEADS, LAYERS = 32, 4, 6
STEPS, BATCH, HELD_OUT, WARMUP = 300, 64, 1000, 100
RATES = {"low": 1e-3, "high": 5e-3}


def trial(residual: bool, norm: str, seed: int, budget: Budget) -> Measures:
    """Learn to write a sentence from its end, at two rates."""
    measures: Measures = {}
    for name, rate in RATES.items():
        model = DeepTagger(SYMBOLS, UNITS, HEADS, LAYERS, residual, norm)
        batches = tag_batches(training_draws(seed), BATCH, (LENGTH, LENGTH), SYMBOLS, reversed_tags)
        losses = train(model, batches, budget.steps(STEPS), rate=rate, warmup=WARMUP)
        scored = next(tag_batches(held_out_draws(seed), HELD_OUT, (LENGTH, LENGTH), SYMBOLS, reversed_tags))
        measures[name] = tag_accuracy(model, scored) if math.isfinite(losses[-1]) else 0.0
    return measures


def draw(figure: Figure, results: Results) -> None:
    """What is learned at each rate."""
    figure.set_size_inches(8, 3)
    names = {"both": "both", "no_norm": "no norm", "no_residual": "no residual"}
    for axes, (name, rate) in zip(figure.subplots(1, 2, sharey=True), RATES.items(), strict=True):
        draw_bars(axes, {said: results.of(f"{arm}/{name}") for arm, said in names.items()}, "labels right")
        axes.set_title(f"rate {rate}", fontsize=9)
        axes.set_ylim(0, 1.03)


CLAIM = Claim(
    number="C4",
    title=Text("Residuals and norms make depth", "깊이를 가능하게 하는 잔차와 정규화"),
    statement=Text(
        "Six layers learn with residual connections and layer normalisation; without residuals they learn nothing, "
        "without norms only where the rate is small.",
        "여섯 층은 잔차 연결과 레이어 정규화가 있어야 학습된다. 잔차 연결이 없으면 배우지 못하고, 정규화가 없으면 "
        "학습률이 작을 때만 배운다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=(
        "Section 3.1: LayerNorm(x + Sublayer(x)) around every sub-layer; leaving it out is not tried",
        "Table 3 C, BLEU with 2, 4, 6, 8 layers: 23.7, 25.3, 25.8, 25.5",
    ),
    data=f"sentences of {LENGTH} of {SYMBOLS} symbols, to be written from their end; {HELD_OUT} held out",
    models=("torch",),
    equal=f"{LAYERS} layers of {UNITS} units of plain torch layers, since the zoo's Transformer always has both; "
    f"steps, batches and their order, rates of {RATES['low']} and {RATES['high']} after {WARMUP} steps of warm-up",
    metric=f"labels right after {STEPS} steps",
    refuted_by="without residuals as much is learned as with them, or without norms as much at the high rate",
    parts=(
        Difference("low rate: both over no residual", "both/low", "no_residual/low", least=0.3),
        Difference("high rate: both over no norm", "both/high", "no_norm/high", least=0.1),
        Difference("no norm: low rate over high rate", "no_norm/low", "no_norm/high", least=0.1),
    ),
    arms={
        "both": partial(trial, True, "behind"),
        "no_norm": partial(trial, True, "none"),
        "no_residual": partial(trial, False, "behind"),
    },
    draw=draw,
    seen=Text(
        "Without residual connections six layers get {no_residual/low:.0%} of the labels right, with them "
        "{both/low:.0%}. Without normalisation they learn as well here, {no_norm/low:.0%} at the low rate and "
        "{no_norm/high:.0%} at the high one: at this width, with clipped gradients and rates of at most 0.005, the "
        "norm is not needed. Larger rates were not tried.",
        "잔차 연결이 없으면 여섯 층은 레이블의 {no_residual/low:.0%}만 맞히고, 있으면 {both/low:.0%}를 맞힌다. "
        "정규화 없이도 여기서는 똑같이 배운다. 낮은 학습률에서 {no_norm/low:.0%}, 높은 학습률에서 "
        "{no_norm/high:.0%}이다. 이 폭과 기울기 클리핑, 0.005 이하의 학습률에서는 정규화가 필요하지 않다. 더 큰 "
        "학습률은 시험하지 않았다.",
    ),
    minutes=0.5,
)
