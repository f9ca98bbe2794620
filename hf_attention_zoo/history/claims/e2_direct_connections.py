"""E2: direct connections from the vectors of words to the outputs of a neural language model."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from hf_attention_zoo.history import real_text as text
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import held_out_draws
from hf_attention_zoo.history.training import parameters_of

STEPS, EVERY, RATE = 1200, 100, 3e-3


def trial(direct: bool, seed: int, budget: Budget) -> Measures:
    """Learn until it no longer validates better, and see after how many steps that was."""
    words = text.drawn_words(seed, budget)
    model = text.neural_model(5, direct)
    curve = text.learn(model, words, held_out_draws(seed), budget.steps(STEPS), EVERY, RATE)
    return {
        "parameters": parameters_of(model),
        "steps": float(EVERY * curve.index(min(curve))),
        "tested": -float(text.scored(model, words.tested).mean()),
        "learnt": -float(text.scored(model, words.learnt[: text.HELD_OUT]).mean()),
        "curve": curve,
    }


def draw(figure: Figure, results: Results) -> None:
    """Validation against the steps."""
    axes = figure.subplots()
    names = {"direct": "with direct connections", "hidden": "hidden units alone"}
    curves = {name: [row[1:] for row in results.of(f"{arm}/curve")] for arm, name in names.items()}
    steps = [EVERY * (place + 1) for place in range(len(next(iter(curves.values()))[0]))]
    draw_lines(axes, steps, curves, "steps", "nats a word, validation")


CLAIM = Claim(
    number="E2",
    title=Text("Straight from vectors to outputs", "벡터에서 출력으로 곧장"),
    statement=Text(
        "Direct connections from word vectors to the outputs make a neural language model learn in fewer steps, and "
        "generalise slightly worse.",
        "단어 벡터에서 출력으로 곧장 이어지는 연결이 있으면 신경망 언어 모델은 더 적은 스텝에 배우지만, 일반화는 "
        "조금 "
        "나빠진다.",
    ),
    paper="Bengio, Ducharme, Vincent and Jauvin 2003",
    year=2003,
    printed=(
        "Section 4.2: about 10 passes with direct connections, 20 without; the paper leaves open whether they help",
        "Table 1, perplexity on test: with 268 to 293, the best without 276",
    ),
    data=f"as in E1: {text.LEARNT:,} words of descriptions of software, drawn anew with each seed, "
    f"{text.VOCABULARY:,} words known; {text.HELD_OUT:,} words to stop by and as many to test on",
    models=("nnlm",),
    equal="words and their order, sizes of vectors and hidden units, the rate. Direct connections come on top: with "
    "them there are twice as many weights",
    metric=f"steps until the validation is best, looked at every {EVERY}; cross entropy of a word on test with those "
    "weights, in nats",
    refuted_by="with direct connections the best validation comes later, or the test is better",
    parts=(
        Difference("steps to the best validation: hidden units alone over direct", "hidden/steps", "direct/steps"),
        Difference("nats a word on test: direct over hidden units alone", "direct/tested", "hidden/tested"),
    ),
    arms={"direct": partial(trial, True), "hidden": partial(trial, False)},
    draw=draw,
    seen=Text(
        "With direct connections the best validation comes after {direct/steps:.0f} steps, without them after "
        "{hidden/steps:.0f}: sooner with every seed, as the paper says. It is no worse for it: on test they are "
        "ahead with every seed, by little ({direct/tested:.3f} and {hidden/tested:.3f} nats). They have twice as "
        "many "
        "weights, and lose their lead where training goes on: then they learn the training words by heart sooner.",
        "직접 연결이 있으면 {direct/steps:.0f}스텝 뒤에, 없으면 {hidden/steps:.0f}스텝 뒤에 검증 점수가 가장 좋다. "
        "논문이 "
        "말한 대로 모든 시드에서 더 빠르다. 그렇다고 더 나쁘지는 않다. 시험 데이터에서도 모든 시드에서 조금 "
        "앞선다({direct/tested:.3f}와 {hidden/tested:.3f}). 가중치는 두 배이고, 학습을 더 계속하면 앞선 것을 "
        "잃는다. 그때는 "
        "학습 단어를 먼저 외우기 때문이다.",
    ),
    minutes=1.7,
)
