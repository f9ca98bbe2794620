"""E4: bags of words cannot tell what is negated; bags of bigrams can."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure

from hf_attention_zoo import FastTextConfig, FastTextForSequenceClassification
from hf_attention_zoo.history.claim import Alike, Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.training import parameters_of, train
from hf_attention_zoo.tokenization.hashed_ngram_tokenizer import HashedNGramTokenizer

GOOD = ("good", "fine", "great", "clever", "fresh", "bright")
BAD = ("bad", "poor", "awful", "dull", "stale", "dim")
NEVER_NEGATED = {"bright", "dim"}  # in training
FILLERS = tuple(f"w{number}" for number in range(30))
STEPS, BATCH, HELD_OUT = 400, 64, 400
Row = tuple[list[str], int]


def plain(random: np.random.Generator) -> Row:
    """Words and one judgement; the label is its side."""
    label = int(random.integers(2))
    return [*some(random), str(random.choice(GOOD if label else BAD)), *some(random)], label


def negated(random: np.random.Generator, known: bool) -> Row:
    """ "not" with a judgement of the other side, and a judgement: the same bag of words has both labels.

    Args:
        known: whether the word behind "not" is one that training negates.
    """
    label = int(random.integers(2))
    meant, denied = (GOOD, BAD) if label else (BAD, GOOD)
    deniable = [word for word in denied if (word not in NEVER_NEGATED) == known]
    first, second = ["not", str(random.choice(deniable))], [str(random.choice(meant))]
    parts = [first, second] if random.integers(2) else [second, first]
    return [*some(random), *parts[0], *some(random), *parts[1], *some(random)], label


def some(random: np.random.Generator) -> list[str]:
    """One to three words without a meaning."""
    return [str(word) for word in random.choice(FILLERS, int(random.integers(1, 4)))]


def trial(ngrams: int, seed: int, budget: Budget) -> Measures:
    """Train on texts of both kinds, score each kind apart."""
    words = (*GOOD, *BAD, "not", *FILLERS)
    tokenizer = HashedNGramTokenizer.from_words(words, word_ngrams=ngrams, num_buckets=20_000)
    model = FastTextForSequenceClassification(
        FastTextConfig(
            vocab_size=len(tokenizer),
            embedding_size=10,
            pad_token_id=tokenizer.pad_token_id,
        )
    )

    def batch(rows: list[Row]) -> dict[str, torch.Tensor]:
        texts = tokenizer([" ".join(row) for row, _ in rows], padding=True, return_tensors="pt")
        return {**texts, "labels": torch.tensor([label for _, label in rows])}

    def endless() -> Iterator[dict[str, torch.Tensor]]:
        random = training_draws(seed)
        while True:
            yield batch([plain(random) if random.integers(2) else negated(random, True) for _ in range(BATCH)])

    train(model, endless(), budget.steps(STEPS), rate=2e-2)
    random = held_out_draws(seed)
    kinds = {
        "plain": [plain(random) for _ in range(HELD_OUT)],
        "negated": [negated(random, True) for _ in range(HELD_OUT)],
        "unseen": [negated(random, False) for _ in range(HELD_OUT)],
    }
    measures: Measures = {"parameters": parameters_of(model)}
    for name, rows in kinds.items():
        scored = batch(rows)
        labels = scored.pop("labels")
        with torch.no_grad():
            measures[name] = float((model(**scored).logits.argmax(-1) == labels).float().mean())
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Accuracy on each kind of text."""
    figure.set_size_inches(8, 3)
    names = {"words": "words", "bigrams": "and bigrams"}
    kinds = {
        "plain": "… good …",
        "negated": "… not good … bad …",
        "unseen": "… not bright … bad …\n(never negated in training)",
    }
    for axes, (kind, title) in zip(figure.subplots(1, 3, sharey=True), kinds.items(), strict=True):
        draw_bars(axes, {name: results.of(f"{arm}/{kind}") for arm, name in names.items()}, "labels right")
        axes.axhline(0.5, color="grey", linestyle="--", linewidth=0.8)
        axes.set_title(title, fontsize=9)
        axes.set_ylim(0, 1.04)


CLAIM = Claim(
    number="E4",
    title=Text("Bigrams know what is negated", "바이그램은 무엇이 부정되는지 안다"),
    statement=Text(
        "A linear classifier on bags of words needs bigrams where the order of words decides.",
        "단어 가방 위의 선형 분류기는 어순이 답을 정하는 곳에서 바이그램이 있어야 한다.",
    ),
    paper="Joulin, Grave, Bojanowski and Mikolov 2016",
    year=2016,
    printed=("Table 1, accuracy, words -> and bigrams: AG 91.5 -> 92.5, Sogou 93.9 -> 96.8, Yelp F. 60.4 -> 63.9",),
    data=f"texts with one judgement, and texts with a negated one and another ('not good … bad', 'good … not bad'), "
    f"so that one bag of words has both labels; {HELD_OUT} held out of each kind, and of one more: words that are "
    "never negated in training",
    models=("fasttext",),
    equal="steps, texts and their order, vectors of 10 numbers; rows of bigrams come on top",
    metric="labels right",
    refuted_by="bigrams are not ahead by more than 0.3 where something is negated, or they lose where nothing is",
    parts=(
        Difference("negated: bigrams over words", "bigrams/negated", "words/negated", least=0.3),
        Alike("nothing negated: no difference", "bigrams/plain", "words/plain", margin=0.03),
    ),
    arms={"words": partial(trial, 1), "bigrams": partial(trial, 2)},
    draw=draw,
    seen=Text(
        "Where one word judges, words alone are enough: {words/plain:.2f} of the labels right. Where one bag "
        "of words has both labels they get {words/negated:.2f}, and with bigrams {bigrams/negated:.2f}. What "
        "bigrams know they know of the pairs in training: behind two words that are never negated there they "
        "fall to {bigrams/unseen:.2f}, while words alone take the judgement that is denied for the one that "
        "is meant, {words/unseen:.2f}.",
        "평가하는 단어가 하나뿐이면 단어만으로도 충분해서, 맞힌 비율이 {words/plain:.2f}입니다. 같은 단어 "
        "가방이 두 레이블을 모두 가질 때는 {words/negated:.2f}에 그치고, 바이그램을 더하면 "
        "{bigrams/negated:.2f}이 됩니다. 다만 바이그램은 학습에서 본 쌍만 압니다. 학습에서 한 번도 부정되지 "
        "않은 두 단어에서는 {bigrams/unseen:.2f}로 떨어지고, 단어만 보는 모델은 부정된 평가를 그대로 믿어 "
        "{words/unseen:.2f}입니다.",
    ),
    minutes=0.15,
)
