"""C8: label smoothing costs perplexity and gains accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional

from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.tagging import Tagger, encoder_config
from hf_attention_zoo.history.training import train
from hf_attention_zoo.training.label_smoothing import OtherClassesSmoother

SYMBOLS, LENGTH = 10, 8
HONEST = 0.7  # how often a label is the symbol's own; otherwise it is the next one's
STEPS, BATCH, HELD_OUT = 500, 32, 1000
SENTENCES = 1000  # to train on
BINS = 10


def ambiguous(random: np.random.Generator, count: int) -> dict[str, Tensor]:
    """Sentences whose label is the sum of a symbol and the one before it, or, less often, the number behind it."""
    drawn = random.integers(0, SYMBOLS, (count, LENGTH))
    tags = drawn + np.roll(drawn, 1, 1) + (random.random(drawn.shape) >= HONEST)
    return {"input_ids": torch.from_numpy(drawn), "labels": torch.from_numpy(tags % SYMBOLS)}


def batches_of(random: np.random.Generator, examples: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """Endless batches drawn from a set."""
    while True:
        chosen = torch.from_numpy(random.integers(0, SENTENCES, BATCH))
        yield {name: rows[chosen] for name, rows in examples.items()}


def calibration_error(probabilities: Tensor, labels: Tensor) -> float:
    """Mean gap between how sure a model is and how often it is right, in ten bins: (N, C) and (N)."""
    sure, said = probabilities.max(-1)
    right = (said == labels).float()
    error = 0.0
    for low in range(BINS):
        inside = (sure > low / BINS) & (sure <= (low + 1) / BINS)
        if inside.any():
            error += inside.float().mean().item() * abs((sure[inside].mean() - right[inside].mean()).item())
    return error


def trial(smoothing: float, seed: int, budget: Budget) -> Measures:
    """Train with smoothed labels; perplexity is that of labels as they are."""
    model = Tagger(encoder_config(SYMBOLS, num_hidden_layers=2), SYMBOLS)
    random, smoother = training_draws(seed), OtherClassesSmoother(smoothing)
    batches = batches_of(random, ambiguous(random, SENTENCES))
    train(
        model,
        batches,
        budget.steps(STEPS),
        rate=2e-3,
        loss_of=lambda tagger, batch: smoother({"logits": tagger(batch["input_ids"]).logits}, batch["labels"]),
    )
    scored = ambiguous(held_out_draws(seed), HELD_OUT)
    with torch.no_grad():
        logits = model(scored["input_ids"]).logits.flatten(0, 1)
    labels = scored["labels"].flatten()
    return {
        "perplexity": functional.cross_entropy(logits, labels).exp().item(),
        "accuracy": (logits.argmax(-1) == labels).float().mean().item(),
        "calibration": calibration_error(logits.softmax(-1), labels),
    }


def draw(figure: Figure, results: Results) -> None:
    """Perplexity, accuracy and calibration for each amount of smoothing."""
    figure.set_size_inches(9, 3)
    names = {"none": "0", "tenth": "0.1", "fifth": "0.2"}
    measures = {"perplexity": "perplexity", "accuracy": "labels right", "calibration": "calibration error"}
    for axes, (measure, said) in zip(figure.subplots(1, 3), measures.items(), strict=True):
        bars = {name: results.of(f"{arm}/{measure}") for arm, name in names.items()}
        draw_bars(axes, bars, said)
        every = [number for numbers in bars.values() for number in numbers]
        if measure != "calibration":
            axes.set_ylim(0.95 * min(every), 1.02 * max(every))
        axes.set_xlabel("label smoothing")


CLAIM = Claim(
    number="C8",
    title=Text("Label smoothing", "레이블 스무딩"),
    statement=Text(
        "Label smoothing makes the perplexity worse, since the model learns to be less sure, and accuracy better.",
        "레이블 스무딩은 모델이 덜 확신하게 하므로 퍼플렉시티는 나빠지고 정확도는 좋아진다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=(
        "Table 3 D and base, perplexity and BLEU: smoothing 0: 4.67, 25.3; 0.1: 4.92, 25.8; 0.2: 5.47, 25.7",
        "Section 5.4: it hurts perplexity, but improves accuracy and BLEU",
    ),
    data=f"{SENTENCES} sentences of {LENGTH} of {SYMBOLS} symbols; the label is the sum of a symbol and the one "
    f"before it modulo 10, or with 3 in 10 the number behind that; {HELD_OUT} held out",
    models=("transformer2017",),
    equal="parameters, steps, batches and their order",
    metric="held out: perplexity of the labels as they are, labels right, mean gap of sureness and correctness",
    refuted_by="perplexity falls with smoothing, or accuracy does not rise",
    parts=(
        Difference("perplexity: 0.1 over 0", "tenth/perplexity", "none/perplexity"),
        Difference("perplexity: 0.2 over 0.1", "fifth/perplexity", "tenth/perplexity"),
        Difference("labels right: 0.1 over 0", "tenth/accuracy", "none/accuracy"),
    ),
    arms={"none": partial(trial, 0.0), "tenth": partial(trial, 0.1), "fifth": partial(trial, 0.2)},
    draw=draw,
    seen=Text(
        "With more smoothing the perplexity rose, {none/perplexity:.2f}, {tenth/perplexity:.2f} and "
        "{fifth/perplexity:.2f} with 0, 0.1 and 0.2, though the first step is within what the seeds differ "
        "by; the labels right rose, too, {none/accuracy:.3f}, {tenth/accuracy:.3f} and "
        "{fifth/accuracy:.3f}. Both are the paper's directions. A model without smoothing was too sure of "
        "itself, by {none/calibration:.2f} in the mean, with 0.1 by {tenth/calibration:.2f}: here, with few "
        "sentences to learn from, smoothing also made its probabilities more honest.",
        "스무딩이 커질수록 퍼플렉시티가 올라갔습니다. 0, 0.1, 0.2에서 {none/perplexity:.2f}, "
        "{tenth/perplexity:.2f}, {fifth/perplexity:.2f}이지만 첫 단계의 차이는 시드 사이의 차이 안에 "
        "있습니다. 맞힌 비율도 {none/accuracy:.3f}, {tenth/accuracy:.3f}, {fifth/accuracy:.3f}로 올라가 둘 "
        "다 논문의 방향과 같습니다. 스무딩이 없으면 모델은 평균 {none/calibration:.2f}만큼 지나치게 "
        "확신했고, 0.1에서는 {tenth/calibration:.2f}였습니다. 학습 문장이 적은 여기서는 스무딩이 확률을 더 "
        "정직하게 만들기도 했습니다.",
    ),
    minutes=0.2,
)
