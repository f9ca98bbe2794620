"""B8: the weight that HAN gives a word depends on its context."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from hf_attention_zoo import HANConfig, HANForSequenceClassification
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import FIRST, held_out_draws, training_draws
from hf_attention_zoo.history.training import train

KEY, NOT, GOOD, BAD = FIRST, FIRST + 1, FIRST + 2, FIRST + 3
OTHERS, SENTENCES, WORDS = 30, 4, 7
STEPS, BATCH, HELD_OUT = 400, 32, 600
VOCABULARY = FIRST + 4 + OTHERS


def documents(random: np.random.Generator, count: int) -> Iterator[dict[str, Tensor]]:
    """Endless documents whose every sentence says "good" or "bad", perhaps after "not".

    One sentence has the key word; what it says is the label, (B). `place` is where its opinion stands, (B, 2), and
    `negated` whether it is negated, (B).
    """
    while True:
        ids = FIRST + 4 + random.integers(0, OTHERS, (count, SENTENCES, WORDS))
        good, negated = random.integers(0, 2, (2, count, SENTENCES))
        at = random.integers(2, WORDS, (count, SENTENCES))
        key = random.integers(0, SENTENCES, count)
        for row, sentence in np.ndindex(count, SENTENCES):
            ids[row, sentence, at[row, sentence]] = GOOD if good[row, sentence] else BAD
            if negated[row, sentence]:
                ids[row, sentence, at[row, sentence] - 1] = NOT
        rows = np.arange(count)
        ids[rows, key, 0] = KEY
        yield {
            "input_ids": torch.from_numpy(ids),
            "labels": torch.from_numpy(good[rows, key] ^ negated[rows, key]),
            "place": torch.from_numpy(np.stack([key, at[rows, key]], 1)),
            "negated": torch.from_numpy(negated[rows, key] == 1),
        }


def asked(batches: Iterator[dict[str, Tensor]]) -> Iterator[dict[str, Tensor]]:
    """What the model is called with."""
    for batch in batches:
        yield {"input_ids": batch["input_ids"], "labels": batch["labels"]}


def trial(seed: int, budget: Budget) -> Measures:
    """Train HAN; the weight of the same words plain and negated, and what leaving a word out changes."""
    config = HANConfig(vocab_size=VOCABULARY, embedding_size=32, hidden_size=24, attention_size=32)  # two labels
    model = HANForSequenceClassification(config)
    train(model, asked(documents(training_draws(seed), BATCH)), budget.steps(STEPS), rate=3e-3)
    batch = next(documents(held_out_draws(seed), HELD_OUT))
    ids, negated = batch["input_ids"], batch["negated"]
    rows, key, at = torch.arange(len(ids)), batch["place"][:, 0], batch["place"][:, 1]
    with torch.no_grad():
        output = model(input_ids=ids, output_attentions=True)
        words, sentences = output.attentions
        weight = words[rows, key, at]
        said = output.logits.softmax(-1)
        changed = {}
        spoken = torch.where(negated, at - 1, at)  # the word that decides what the sentence says
        other = torch.where(at < WORDS - 1, at + 1, 1)
        for name, place in (("deciding", spoken), ("other", other)):
            without = ids.clone()
            without[rows, key, place] = 0  # a pad
            changed[name] = (model(input_ids=without).logits.softmax(-1) - said).abs().amax(-1)
    return {
        "right": (output.logits.argmax(-1) == batch["labels"]).float().mean().item(),
        "plain": weight[~negated].mean().item(),
        "negated": weight[negated].mean().item(),
        "of_not": words[rows, key, at - 1][negated].mean().item(),
        "key_sentence": sentences[rows, key].mean().item(),
        "other_sentences": ((1 - sentences[rows, key]) / (SENTENCES - 1)).mean().item(),
        "without_deciding": changed["deciding"].mean().item(),
        "without_other": changed["other"].mean().item(),
    }


def draw(figure: Figure, results: Results) -> None:
    """Weights of the opinion in both contexts, of sentences, and what leaving words out does."""
    figure.set_size_inches(9.5, 3.2)
    axes = figure.subplots(1, 3)
    named = (
        ({"plain": "good / bad", "negated": "not good / bad", "of_not": "its “not”"}, "weight in the sentence"),
        ({"key_sentence": "with the key", "other_sentences": "each other one"}, "weight of the sentence"),
        ({"without_deciding": "the deciding word", "without_other": "its neighbour"}, "change of p without it"),
    )
    for one, (names, up) in zip(axes, named, strict=True):
        draw_bars(one, {said: results.of(f"han/{name}") for name, said in names.items()}, up)


CLAIM = Claim(
    number="B8",
    title=Text("One word, two weights", "한 단어, 두 가지 가중치"),
    statement=Text(
        "The attention that a word gets in HAN depends on its context and not on the word alone.",
        "HAN에서 한 단어가 받는 어텐션은 그 단어만이 아니라 문맥에 따라 달라진다.",
    ),
    paper="Yang et al. 2016",
    year=2016,
    printed=("Figures 3 and 4: the weights of “good” and “bad” spread widely and shift with the rating; no numbers",),
    data=f"documents of {SENTENCES} sentences of {WORDS} words; each says “good” or “bad”, half of them after "
    f"“not”; the "
    f"sentence with the key word gives the label; {HELD_OUT} held out",
    models=("han",),
    equal="one model; the same words are compared in two contexts",
    metric="the weight of “good” and “bad” within the key sentence, plain and negated; the weight of the key "
    "sentence; the "
    "change of the label's probability when a word is taken out, since a weight alone is no proof of importance",
    refuted_by="the words get the same weight in both contexts, or another sentence gets as much as the key sentence",
    parts=(
        Difference("weight of the opinion: plain over negated", "han/plain", "han/negated"),
        Difference("weight of the sentence: key over others", "han/key_sentence", "han/other_sentences"),
        Difference(
            "change without the deciding word over without its neighbour", "han/without_deciding", "han/without_other"
        ),
    ),
    arms={"han": trial},
    draw=draw,
    seen=Text(
        "The weight of “good” and “bad” is {han/plain:.2f} where they stand alone and {han/negated:.2f} after "
        "“not”, but seeds disagree on which is larger: with some the opinion gets the weight, with others its "
        "neighbours, whose states know it, too. All labels are right ({han/right:.0%}), so a weight says where one "
        "model looks and not what must be looked at. Sentences are clear: the one with the key word gets "
        "{han/key_sentence:.2f}. Leaving out the deciding word changes the label's probability by "
        "{han/without_deciding:.2f}, its neighbour by {han/without_other:.2f}.",
        "“good”과 “bad”의 가중치는 홀로 쓰이면 {han/plain:.2f}, “not” 뒤에서는 {han/negated:.2f}이지만, 어느 쪽이 "
        "큰지는 시드마다 다르다. 어떤 시드에서는 그 단어가, 어떤 시드에서는 그 단어를 이미 알고 있는 옆 단어의 "
        "상태가 가중치를 받는다. 정확도는 모두 {han/right:.0%}이므로, 가중치는 한 모델이 어디를 보는지 말할 뿐 "
        "어디를 보아야 하는지 말하지 않는다. 문장 수준은 분명하다. 핵심 단어가 있는 문장이 "
        "{han/key_sentence:.2f}를 받는다. 결정하는 단어를 빼면 확률이 {han/without_deciding:.2f}, 옆 단어를 빼면 "
        "{han/without_other:.2f} 바뀐다.",
    ),
    minutes=0.1,
    seeds=5,
)
