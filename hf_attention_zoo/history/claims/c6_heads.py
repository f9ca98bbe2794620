"""C6: several heads beat one where a word needs two others at once; not where it needs one."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.tagging import Tagger, encoder_config, reversed_tags, tag_accuracy, tag_batches
from hf_attention_zoo.history.training import parameters_of, train

SYMBOLS, LENGTH = 10, 12
STEPS = {"two": 1200, "one": 150}
BATCH, HELD_OUT = 64, 1000
HEADS = (1, 2, 4, 16)


def neighbours(symbols: np.ndarray) -> np.ndarray:
    """x_{t-1} + 2 x_{t+1} modulo 10, around the ends: a label needs two words at once."""
    return (np.roll(symbols, 1, 1) + 2 * np.roll(symbols, -1, 1)) % SYMBOLS


def trial(heads: int, seed: int, budget: Budget) -> Measures:
    """One layer with so many heads learns both tasks, each from the start."""
    measures: Measures = {"heads": heads}
    for task, tags in (("two", neighbours), ("one", reversed_tags)):
        model = Tagger(encoder_config(SYMBOLS, num_attention_heads=heads), SYMBOLS)
        measures["parameters"] = parameters_of(model)
        batches = tag_batches(training_draws(seed), BATCH, (LENGTH, LENGTH), SYMBOLS, tags)
        losses = train(model, batches, budget.steps(STEPS[task]))
        scored = next(tag_batches(held_out_draws(seed), HELD_OUT, (LENGTH, LENGTH), SYMBOLS, tags))
        measures[task] = tag_accuracy(model, scored)
        measures[f"{task}_loss"] = sum(losses[-20:]) / len(losses[-20:])
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Accuracy against the number of heads, of both tasks."""
    figure.set_size_inches(6, 3.4)
    axes = figure.subplots()
    curves = {
        name: np.transpose([results.of(f"heads_{heads}/{task}") for heads in HEADS]).tolist()
        for task, name in (
            ("two", "a word needs two others, 1200 steps"),
            ("one", "a word needs one other, 150 steps"),
        )
    }
    draw_lines(axes, HEADS, curves, "heads (one layer, equal parameters)", "labels right")
    axes.set_xscale("log", base=2)
    axes.set_xticks(HEADS, [str(heads) for heads in HEADS])
    axes.set_ylim(0, 1.03)


CLAIM = Claim(
    number="C6",
    title=Text("Several heads beat one", "헤드 여럿이 하나보다 낫다"),
    statement=Text(
        "Several heads beat one of the same size, because a word can then look at several others at once; "
        "too many are worse again.",
        "같은 크기라면 멀티헤드 어텐션이 헤드 하나보다 낫다. 한 단어가 여러 단어를 동시에 볼 수 있기 때문이다. "
        "헤드가 너무 많으면 다시 나빠진다.",
    ),
    paper="Vaswani et al. 2017",
    year=2017,
    printed=("Table 3 A, BLEU with 1, 4, 8, 16, 32 heads at equal compute: 24.9, 25.5, 25.8, 25.8, 25.4",),
    data=f"sentences of {LENGTH} of {SYMBOLS} symbols drawn alike. Two relations: label t is x[t-1] + 2 x[t+1] "
    f"modulo "
    f"10. One relation: the sentence from its end. {HELD_OUT} held out",
    models=("transformer2017",),
    equal="parameters, steps, batches and their order; the encoder has one layer of 64 units, so that what one head "
    "cannot do no second layer makes good",
    metric=f"labels right after {STEPS['two']} steps (two relations) and {STEPS['one']} steps (one relation)",
    refuted_by="with two relations four heads are not ahead of one, or sixteen are not behind four",
    parts=(
        Difference("two relations: 4 heads over 1", "heads_4/two", "heads_1/two"),
        Difference("two relations: 4 heads over 16", "heads_4/two", "heads_16/two"),
        Difference("one relation: 4 heads over 1", "heads_4/one", "heads_1/one"),
    ),
    arms={f"heads_{heads}": partial(trial, heads) for heads in HEADS},
    draw=draw,
    seen=Text(
        "A word that must look at two others gets {heads_1/two:.0%} right with one head, {heads_4/two:.0%} with "
        "four and {heads_16/two:.0%} with sixteen, whose keys have four numbers each. With one relation the order "
        "turns round: {heads_1/one:.0%} with one head, {heads_4/one:.0%} with four, {heads_16/one:.0%} with "
        "sixteen. Heads help where there is more than one thing to look at.",
        "두 단어를 동시에 보아야 하는 과제의 정확도는 헤드 하나 {heads_1/two:.0%}, 넷 {heads_4/two:.0%}, 열여섯 "
        "{heads_16/two:.0%}이다. 열여섯이면 헤드마다 키가 네 숫자뿐이다. 볼 곳이 하나뿐인 과제에서는 순서가 뒤집혀 "
        "{heads_1/one:.0%}, {heads_4/one:.0%}, {heads_16/one:.0%}이다. 헤드는 볼 곳이 여럿일 때 도움이 된다.",
    ),
    minutes=0.7,
)
