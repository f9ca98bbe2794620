"""C10: the length penalty of beam search lengthens what is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import END, FIRST, PAD, held_out_draws, pair_batches, training_draws
from hf_attention_zoo.history.training import parameters_of, train

SYMBOLS = 20
LENGTHS = (4, 10)
ALPHAS = (0.0, 0.3, 0.6, 1.0)
PARTICLE = FIRST + SYMBOLS  # a word that may follow any other
STEPS, BATCH, HELD_OUT, BEAMS = 400, 64, 100, 4


def with_particles(random: np.random.Generator, row: np.ndarray) -> np.ndarray:
    """The same words, some followed by a particle: by chance, 0.1 for the first symbol up to 0.9 for the last."""
    chances = np.linspace(0.1, 0.9, SYMBOLS)[row - FIRST]
    kept = random.random(len(row)) < chances
    return np.concatenate([[word, PARTICLE] if more else [word] for word, more in zip(row, kept, strict=True)])


def trial(seed: int, budget: Budget) -> Measures:
    """Train one model, then search with each alpha."""
    model = Transformer2017ForConditionalGeneration(
        Transformer2017Config(
            vocab_size=PARTICLE + 1,
            decoder_vocab_size=PARTICLE + 1,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            dropout=0.0,
        )
    )
    drawn = training_draws(seed)
    batches = pair_batches(drawn, BATCH, LENGTHS, SYMBOLS, target=lambda row: with_particles(drawn, row))
    losses = train(model, batches, budget.steps(STEPS), rate=1e-3, warmup=50)
    drawn = held_out_draws(seed)
    count = budget.steps(HELD_OUT, 8)
    scored: dict[str, Any] = next(
        pair_batches(drawn, count, LENGTHS, SYMBOLS, target=lambda row: with_particles(drawn, row))
    )
    labels = scored.pop("labels")
    expected = float((labels >= FIRST).sum()) / count
    measures: Measures = {
        "parameters": parameters_of(model),
        "loss": sum(losses[-20:]) / len(losses[-20:]),
        "expected": expected,
    }
    lengths = []
    for alpha in ALPHAS:
        with torch.no_grad():
            written = model.generate(
                **scored,
                num_beams=BEAMS,
                do_sample=False,
                gnmt_length_penalty=alpha,
                max_new_tokens=2 * LENGTHS[1] + 5,
            )[:, 1:]
        lengths.append(float(((written != PAD) & (written != END)).sum()) / count)
        measures[f"length_{round(10 * alpha)}"] = lengths[-1]
    return {**measures, "lengths": lengths}


def draw(figure: Figure, results: Results) -> None:
    """How many words more than without a penalty."""
    figure.set_size_inches(5, 3.2)
    axes = figure.subplots()
    more = [[length - lengths[0] for length in lengths] for lengths in results.of("transformer/lengths")]
    draw_lines(axes, ALPHAS, {"mean and range of the seeds": more}, "alpha", "words more than with alpha 0")


CLAIM = Claim(
    number="C10",
    title=Text("The length penalty lengthens", "길이 페널티는 글을 늘인다"),
    statement=Text(
        "Beam search that divides scores by ((5 + length) / 6) to the power of alpha writes more, the larger alpha.",
        "점수를 ((5 + 길이) / 6)의 알파 제곱으로 나누는 빔 서치는 알파가 클수록 길게 쓴다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=("Section 6.1: beam size 4 and length penalty alpha = 0.6, chosen on the development set; no ablation",),
    data=f"sentences of {SYMBOLS} symbols drawn alike, {LENGTHS[0]} to {LENGTHS[1]} words, written down again; each "
    f"word may be followed by a particle, with a chance of 0.1 to 0.9 by the word; {HELD_OUT} held out",
    models=("transformer2017",),
    equal="one model and one set of sentences for all alphas",
    metric=f"mean number of words that beam search with {BEAMS} beams writes, without the end symbol",
    refuted_by="from one alpha to a larger one the mean length falls or stays",
    parts=(
        Difference("alpha 0.6 over 0", "transformer/length_6", "transformer/length_0"),
        Difference("alpha 1 over 0.6", "transformer/length_10", "transformer/length_6"),
    ),
    arms={"transformer": trial},
    draw=draw,
    seen=Text(
        "Beam search writes {transformer/length_0:.2f} words without a penalty, {transformer/length_6:.2f} with an "
        "alpha of 0.6 and {transformer/length_10:.2f} with 1, where the references have "
        "{transformer/expected:.2f}. The growth is steady and small: in this task the length is mostly settled by "
        "the source.",
        "빔 서치가 쓰는 단어 수는 페널티가 없으면 {transformer/length_0:.2f}, 알파 0.6이면 "
        "{transformer/length_6:.2f}, 1이면 {transformer/length_10:.2f}이고, 참조 문장은 "
        "{transformer/expected:.2f}이다. 증가는 꾸준하지만 작다. 이 과제에서는 길이가 대부분 원문으로 정해지기 "
        "때문이다.",
    ),
    minutes=0.25,
)
