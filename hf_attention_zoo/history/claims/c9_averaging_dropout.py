"""C9: dropout helps where data is short, and the mean of the last checkpoints is better than the last one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.tagging import Tagger, encoder_config
from hf_attention_zoo.history.training import train

SYMBOLS, LENGTH = 10, 8
NOISE = 0.2  # how often a label is drawn alike
SENTENCES, HELD_OUT = 400, 1000
STEPS, BATCH, BETWEEN, CHECKPOINTS = 400, 32, 20, 5


def noisy(random: np.random.Generator, count: int) -> dict[str, Tensor]:
    """Sentences whose label is the sum of a symbol and the one before it, sometimes any label."""
    drawn = random.integers(0, SYMBOLS, (count, LENGTH))
    tags = (drawn + np.roll(drawn, 1, 1)) % SYMBOLS
    wrong = random.random(drawn.shape) < NOISE
    tags[wrong] = random.integers(0, SYMBOLS, wrong.sum())
    return {"input_ids": torch.from_numpy(drawn), "labels": torch.from_numpy(tags)}


def batches_of(random: np.random.Generator, examples: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """Endless batches drawn from a set."""
    while True:
        chosen = torch.from_numpy(random.integers(0, SENTENCES, BATCH))
        yield {name: rows[chosen] for name, rows in examples.items()}


@torch.no_grad()
def held_out_loss(model: Tagger, weights: dict[str, Tensor], scored: dict[str, Tensor]) -> float:
    """Of a model with these weights."""
    model.load_state_dict(weights)
    return model.eval()(**scored).loss.item()


def trial(dropout: float, seed: int, budget: Budget) -> Measures:
    """Train at a constant rate; keep five checkpoints at the end and their mean."""
    model = Tagger(encoder_config(SYMBOLS, num_hidden_layers=2, dropout=dropout), SYMBOLS)
    random = training_draws(seed)
    batches = batches_of(random, noisy(random, SENTENCES))
    losses = train(model, batches, budget.steps(STEPS - BETWEEN * CHECKPOINTS), rate=2e-3)
    kept: list[dict[str, Tensor]] = []
    for _ in range(CHECKPOINTS):
        losses += train(model, batches, budget.steps(BETWEEN, 2), rate=2e-3)
        kept.append(copy.deepcopy(model.state_dict()))
    mean = {name: torch.stack([weights[name] for weights in kept]).mean(0) for name in kept[0]}
    scored = noisy(held_out_draws(seed), HELD_OUT)
    each = [held_out_loss(model, weights, scored) for weights in kept]
    return {
        "last": each[-1],
        "mean_of_losses": sum(each) / len(each),
        "averaged": held_out_loss(model, mean, scored),
        "training": sum(losses[-20:]) / len(losses[-20:]),
    }


def draw(figure: Figure, results: Results) -> None:
    """Held-out loss with and without dropout, of the last checkpoint and of the mean of five."""
    figure.set_size_inches(6.5, 3.2)
    axes = figure.subplots()
    bars = {
        f"dropout {dropout}\n{said}": results.of(f"{arm}/{measure}")
        for arm, dropout in (("none", "0"), ("tenth", "0.1"))
        for measure, said in (("training", "training"), ("last", "last"), ("averaged", "mean of 5"))
    }
    draw_bars(axes, bars, "loss")


CLAIM = Claim(
    number="C9",
    title=Text("Dropout and the mean of checkpoints", "드롭아웃과 체크포인트 평균"),
    statement=Text(
        "Dropout makes the held-out loss smaller, and so does taking the mean of the last checkpoints' weights in "
        "place of the last one.",
        "드롭아웃을 쓰면, 그리고 마지막 체크포인트 대신 마지막 몇 개의 가중치를 평균하면 "
        "보지 못한 데이터의 손실이 줄어든다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=(
        "Table 3 D and base, perplexity and BLEU: dropout 0: 5.77, 24.6; 0.1: 4.92, 25.8; 0.2: 4.95, 25.5",
        "Section 6.1: the last 5 checkpoints are averaged; what it gains is not printed",
    ),
    data=f"{SENTENCES} sentences of {LENGTH} of {SYMBOLS} symbols; the label is the sum of a symbol and the one "
    f"before it modulo 10, with 2 in 10 drawn alike; {HELD_OUT} held out",
    models=("transformer2017",),
    equal=f"parameters, steps, batches and their order; a constant rate, {CHECKPOINTS} checkpoints {BETWEEN} steps "
    "apart. Each stretch between checkpoints starts Adam's averages anew, in all arms alike",
    metric="held-out cross entropy",
    refuted_by="the loss with dropout is not below that without, or the mean's is not below the last one's",
    parts=(
        Difference("last checkpoint: no dropout over 0.1", "none/last", "tenth/last"),
        Difference("without dropout: last over mean of five", "none/last", "none/averaged"),
        Difference("with dropout: last over mean of five", "tenth/last", "tenth/averaged"),
    ),
    arms={"none": partial(trial, 0.0), "tenth": partial(trial, 0.1)},
    draw=draw,
    seen=Text(
        "With few sentences the model without dropout learned their noise by heart, training loss "
        "{none/training:.2f} and held out {none/last:.2f}; with dropout of 0.1 the held-out loss was "
        "{tenth/last:.2f}. The mean of the last five checkpoints was better than the last one without "
        "dropout, {none/averaged:.2f}, and better than the mean of their losses. With dropout it was not: "
        "{tenth/averaged:.2f}, since with one seed the last checkpoint was better than the mean.",
        "문장이 적으면 드롭아웃이 없는 모델은 잡음까지 외웠습니다. 학습 손실 {none/training:.2f}, 보지 못한 "
        "데이터에서 {none/last:.2f}입니다. 드롭아웃 0.1에서는 {tenth/last:.2f}였습니다. 드롭아웃이 없을 때 "
        "마지막 체크포인트 다섯 개의 평균은 마지막 하나보다 나아 {none/averaged:.2f}였습니다. 드롭아웃이 "
        "있을 때는 {tenth/averaged:.2f}로 나아졌다고 할 수 없는데, 한 시드에서 마지막 체크포인트가 평균보다 "
        "좋았기 때문입니다.",
    ),
    minutes=0.2,
)
