"""C11: one table for source, target and output saves two of them at a similar loss."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration
from hf_attention_zoo.history.claim import Alike, Budget, Claim, Exact, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars, draw_lines
from hf_attention_zoo.history.synthetic import (
    FIRST,
    PAD,
    START,
    held_out_draws,
    pair_batches,
    training_draws,
)
from hf_attention_zoo.history.training import parameters_of, thinned, train

SYMBOLS, UNITS = 60, 64
LENGTHS = (4, 10)
STEPS, BATCH, HELD_OUT = 500, 64, 500
VOCABULARY = FIRST + SYMBOLS


def translator(tied: bool) -> Transformer2017ForConditionalGeneration:
    """One layer a side; tables drawn with deviation D^-0.5 in both cases."""
    return Transformer2017ForConditionalGeneration(
        Transformer2017Config(
            vocab_size=VOCABULARY,
            hidden_size=UNITS,
            num_hidden_layers=1,
            num_attention_heads=4,
            intermediate_size=2 * UNITS,
            dropout=0.0,
            share_encoder_decoder_embeddings=tied,
            tie_word_embeddings=tied,
            pad_token_id=PAD,
            decoder_start_token_id=START,
        )
    )


def mirrored(row: np.ndarray) -> np.ndarray:
    """The sentence from its end."""
    return row[::-1]


def trial(tied: bool, seed: int, budget: Budget) -> Measures:
    """Train, and score the loss on held-out pairs."""
    model = translator(tied)
    batches = pair_batches(training_draws(seed), BATCH, LENGTHS, SYMBOLS, mirrored)
    losses = train(model, batches, budget.steps(STEPS), rate=2e-3, warmup=50)
    scored = next(pair_batches(held_out_draws(seed), HELD_OUT, LENGTHS, SYMBOLS, mirrored))
    with torch.no_grad():
        loss = model(**scored).loss.item()
    saved = parameters_of(translator(False)) - parameters_of(translator(True))
    return {
        "parameters": parameters_of(model),
        "saves_two_tables": float(saved == 2 * VOCABULARY * UNITS),
        "loss": loss,
        "curve": thinned(losses),
    }


def draw(figure: Figure, results: Results) -> None:
    """Parameters, and the loss while learning."""
    figure.set_size_inches(8, 3)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
    names = {"tied": "one table", "untied": "three tables"}
    draw_bars(left, {name: results.of(f"{arm}/parameters") for arm, name in names.items()}, "parameters")
    curves = {name: results.of(f"{arm}/curve") for arm, name in names.items()}
    points = len(curves["one table"][0])
    draw_lines(right, [STEPS * (point + 0.5) / points for point in range(points)], curves, "step", "training loss")


CLAIM = Claim(
    number="C11",
    title=Text("One table for three", "표 하나를 세 곳에"),
    statement=Text(
        "One table for source, target and output saves 2VD parameters and costs nothing in loss.",
        "소스, 타깃, 출력이 임베딩 표 하나를 나누어 쓰면 매개변수 2VD개를 아끼고 손실은 거의 같다.",
    ),
    paper="Vaswani et al. 2017, after Press and Wolf 2017",
    year=2017,
    printed=("Section 3.4: the three share one matrix; no comparison is printed",),
    data=f"sentences of {LENGTHS[0]} to {LENGTHS[1]} of {SYMBOLS} symbols, to be written from their end; {HELD_OUT} "
    "held out",
    models=("transformer2017",),
    equal=f"layers of {UNITS} units, rate, steps, batches and their order; not the parameters, which are the claim",
    metric="parameters; held-out cross entropy",
    refuted_by="the parameters saved are not 2VD, or the losses differ by 0.1 nats or more",
    parts=(
        Exact("2VD parameters are saved", "tied/saves_two_tables"),
        Alike("held-out loss", "tied/loss", "untied/loss", margin=0.1),
    ),
    arms={"tied": partial(trial, True), "untied": partial(trial, False)},
    draw=draw,
    seen=Text(
        "One table has {tied/parameters:.0f} parameters, three have {untied/parameters:.0f}: the difference "
        "is two tables, exactly. After 500 steps the held-out loss was {tied/loss:.3f} with one table and "
        "{untied/loss:.3f} with three; one table learned somewhat more slowly with every seed, so that a "
        "similar loss is not shown here. The task gives source and target the same words, which is the best "
        "case for one table.",
        "표 하나일 때 매개변수는 {tied/parameters:.0f}개, 세 개일 때 {untied/parameters:.0f}개로, 차이는 "
        "정확히 표 두 개입니다. 500스텝 뒤 보지 못한 데이터의 손실은 표 하나가 {tied/loss:.3f}, 세 개가 "
        "{untied/loss:.3f}였습니다. 모든 시드에서 표 하나가 조금 느리게 배웠으므로 손실이 비슷하다는 것은 "
        "여기서 확인되지 않았습니다. 소스와 타깃의 단어가 같은 과제이므로 표 하나에 가장 유리한 경우입니다.",
    ),
    minutes=0.4,
)
