"""A3: layers on top of one another lower the perplexity of an LSTM that translates."""

from __future__ import annotations

import math
from functools import partial

import torch
from matplotlib.figure import Figure

from hf_attention_zoo import Seq2SeqLSTMConfig, Seq2SeqLSTMForConditionalGeneration
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars, draw_lines
from hf_attention_zoo.history.synthetic import FIRST, held_out_draws, pair_batches, training_draws, word_table
from hf_attention_zoo.history.training import parameters_of, thinned, train

SYMBOLS = 20
LENGTHS = (4, 10)
STEPS, BATCH, HELD_OUT = 800, 64, 400


def trial(layers: int, seed: int, budget: Budget) -> Measures:
    """Train, and measure perplexity on sentences of all lengths."""
    model = Seq2SeqLSTMForConditionalGeneration(
        Seq2SeqLSTMConfig(
            vocab_size=FIRST + SYMBOLS,
            decoder_vocab_size=FIRST + SYMBOLS,
            embedding_size=64,
            hidden_size=64,
            num_hidden_layers=layers,
        )
    )
    table = word_table(SYMBOLS)
    batches = pair_batches(training_draws(seed), BATCH, LENGTHS, SYMBOLS, target=lambda row: table[row])
    losses = train(model, batches, budget.steps(STEPS), rate=2e-3)
    count = budget.steps(HELD_OUT, 8)
    scored = next(pair_batches(held_out_draws(seed), count, LENGTHS, SYMBOLS, target=lambda row: table[row]))
    with torch.no_grad():
        loss = float(model(**scored).loss)
    return {
        "parameters": parameters_of(model),
        "loss": loss,
        "perplexity": math.exp(loss),
        "curve": thinned(losses, 40) if len(losses) > 40 else losses,
    }


def draw(figure: Figure, results: Results) -> None:
    """Losses of training, and perplexity on what is held out."""
    figure.set_size_inches(8, 3.2)
    left, right = figure.subplots(1, 2)
    names = {"one": "1 layer", "two": "2 layers", "four": "4 layers"}
    curves = {name: results.of(f"{arm}/curve") for arm, name in names.items()}
    points = len(next(iter(curves.values()))[0])
    draw_lines(left, [(point + 0.5) * STEPS / points for point in range(points)], curves, "step", "nats a word")
    draw_bars(right, {name: results.of(f"{arm}/perplexity") for arm, name in names.items()}, "perplexity, held out")


CLAIM = Claim(
    number="A3",
    title=Text("Depth helps an LSTM", "LSTM은 깊을수록 낫다"),
    statement=Text(
        "Of LSTMs of equal width that translate, each layer more lowers the perplexity.",
        "너비가 같은 번역 LSTM에서는 층을 하나 더할 때마다 퍼플렉시티가 낮아진다.",
    ),
    paper="Sutskever, Vinyals and Le 2014",
    year=2014,
    printed=("Section 3.4: each additional layer reduced perplexity by nearly 10 %",),
    data=f"sentences of {SYMBOLS} symbols drawn alike, {LENGTHS[0]} to {LENGTHS[1]} words, translated word by word "
    f"with one dictionary, the source reversed; {HELD_OUT} held out",
    models=("seq2seq_lstm",),
    equal="width (64 cells a layer), steps, learning rate, batches and their order; parameters grow with depth",
    metric="cross entropy of a word, in nats, on what is held out; its exponential is the perplexity",
    refuted_by="two layers are not below one, or four not below two",
    parts=(
        Difference("nats a word, one layer over two", "one/loss", "two/loss"),
        Difference("nats a word, two layers over four", "two/loss", "four/loss"),
    ),
    arms={"one": partial(trial, 1), "two": partial(trial, 2), "four": partial(trial, 4)},
    draw=draw,
    seen=Text(
        "After the same 800 steps one layer has a perplexity of {one/perplexity:.2f} on what is held out, two "
        "{two/perplexity:.2f} and four {four/perplexity:.2f}: here each layer more is behind, and seeds differ "
        "much. Deeper stacks start later, as the curves show; the paper trained for ten days. Longer runs were not "
        "made, so this tells how fast they learn and not how far they get.",
        "똑같이 800 스텝 학습한 뒤 검증 문장의 퍼플렉시티는 한 층이 {one/perplexity:.2f}, 두 층이 "
        "{two/perplexity:.2f}, 네 층이 {four/perplexity:.2f}이다. 여기서는 층을 더할수록 뒤처지고 시드마다 차이가 "
        "크다. 곡선에서 보듯 깊은 모델은 늦게 배우기 시작한다. 논문은 열흘 동안 학습했다. 더 긴 실행은 하지 "
        "않았으므로, 이것은 얼마나 빨리 배우는지를 말할 뿐 어디까지 가는지를 말하지는 않는다.",
    ),
    minutes=1.0,
)
