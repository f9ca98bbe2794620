"""B7: words and sentences are better pooled by attention than by their average or their maximum."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from hf_attention_zoo import HANConfig, HANForSequenceClassification
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars, draw_lines
from hf_attention_zoo.history.planted_text import drawn_batches
from hf_attention_zoo.history.synthetic import FIRST, held_out_draws, training_draws
from hf_attention_zoo.history.training import parameters_of, train

KEY, NOT, OPINIONS, OTHERS = FIRST, FIRST + 1, FIRST + 2, 20
SENTENCES, WORDS = 4, 6
LABELLED = (150, 300, 600)
STEPS, BATCH, HELD_OUT = 400, 32, 600
# Widths that make both baselines as large as HAN, which has the attention's weights besides.
UNITS, WITHOUT_ATTENTION = 24, 27
VOCABULARY = OPINIONS + 2 + OTHERS


def documents(random: np.random.Generator, count: int) -> dict[str, Tensor]:
    """Documents (count, SENTENCES, WORDS) whose every sentence has an opinion, half of them after "not".

    The sentence that begins with the key word says the label, (count): the others contradict it as often as not.
    """
    ids = OPINIONS + 2 + random.integers(0, OTHERS, (count, SENTENCES, WORDS))
    good, negated = random.integers(0, 2, (2, count, SENTENCES))
    at = random.integers(2, WORDS, (count, SENTENCES))
    rows, sentences = np.indices((count, SENTENCES))
    ids[rows, sentences, at] = OPINIONS + good
    ids[rows, sentences, at - 1] = np.where(negated == 1, NOT, ids[rows, sentences, at - 1])
    key = random.integers(0, SENTENCES, count)
    ids[rows[:, 0], key, 0] = KEY
    return {"input_ids": torch.from_numpy(ids), "labels": torch.from_numpy((good ^ negated)[rows[:, 0], key])}


def trial(pooling: str, units: int, seed: int, budget: Budget) -> Measures:
    """Train HAN with one way of pooling on few and on more documents, and ask it about others."""
    random = training_draws(seed)
    asked = documents(held_out_draws(seed), HELD_OUT)
    measures: Measures = {}
    right = []
    for count in LABELLED:
        model = HANForSequenceClassification(
            HANConfig(vocab_size=VOCABULARY, embedding_size=32, hidden_size=units, attention_size=32, pooling=pooling)
        )
        losses = train(model, drawn_batches(random, BATCH, **documents(random, count)), budget.steps(STEPS), rate=3e-3)
        with torch.no_grad():
            said = model(**asked).logits.argmax(-1)
        right.append((said == asked["labels"]).float().mean().item())
        measures |= {f"right_{count}": right[-1], f"loss_{count}": sum(losses[-20:]) / len(losses[-20:])}
    return {**measures, "right": right, "parameters": parameters_of(model)}


def draw(figure: Figure, results: Results) -> None:
    """Labels right against the number of documents to learn from, with every seed as a point."""
    figure.set_size_inches(9, 3.4)
    lines, points = figure.subplots(1, 2, sharey=True)
    names = {"attention": "attention", "average": "average", "maximum": "maximum"}
    draw_lines(
        lines,
        LABELLED,
        {said: results.of(f"{arm}/right") for arm, said in names.items()},
        "documents to learn from",
        "labels right",
    )
    lines.set_xticks(LABELLED)
    lines.axhline(0.5, color="#888888", linewidth=0.8, linestyle=":")
    draw_bars(points, {said: results.of(f"{arm}/right_300") for arm, said in names.items()}, "")
    points.set_title("300 documents, every seed", fontsize=9)


CLAIM = Claim(
    number="B7",
    title=Text("Attention pools better than the average", "평균보다 나은 어텐션 풀링"),
    statement=Text(
        "A document is labelled better if its words and sentences are pooled by attention than by their average or "
        "their maximum.",
        "단어와 문장을 평균이나 최댓값이 아니라 어텐션으로 모으면 문서를 더 잘 분류한다.",
    ),
    paper="Yang et al. 2016",
    year=2016,
    printed=(
        "Table 2, accuracy of HN-AVE, HN-MAX and HN-ATT: Yelp 2013 67.0, 66.9, 68.2; Yelp 2014 69.3, 69.3, 70.5; "
        "Yelp 2015 69.9, 70.1, 71.0; IMDB 47.8, 48.2, 49.4; Yahoo 75.2, 75.2, 75.8; Amazon 62.9, 62.9, 63.6",
    ),
    data=f"documents of {SENTENCES} sentences of {WORDS} words; each says “good” or “bad”, half of them after “not”; "
    f"the sentence that begins with the key word gives the label; {', '.join(map(str, LABELLED))} to learn from, "
    f"{HELD_OUT} held out",
    models=("han",),
    equal="steps, batches and their order. Both models without attention have more units, so that they have as many "
    "parameters as the one with it, and a few more",
    metric="labels right on documents that were held out",
    refuted_by="with 300 or 600 documents attention is not ahead of both the average and the maximum",
    parts=tuple(
        Difference(f"{count} documents: attention over {other}", f"attention/right_{count}", f"{other}/right_{count}")
        for count in LABELLED[1:]
        for other in ("average", "maximum")
    ),
    arms={
        "attention": partial(trial, "attention", UNITS),
        "average": partial(trial, "average", WITHOUT_ATTENTION),
        "maximum": partial(trial, "max", WITHOUT_ATTENTION),
    },
    draw=draw,
    seen=Text(
        "With 600 documents all three solve the task ({attention/right_600:.0%}, {average/right_600:.0%}, "
        "{maximum/right_600:.0%}). With 300, attention has {attention/right_300:.0%} of the labels right and the "
        "average {average/right_300:.0%}; seeds differ so much that neither leads. The "
        "maximum has {maximum/right_300:.0%}; the paper has it level with the average. One key word decides these "
        "labels, which is what a maximum picks out; a real review rarely has one.",
        "문서 600개에서는 셋 다 과제를 푼다({attention/right_600:.0%}, {average/right_600:.0%}, "
        "{maximum/right_600:.0%}). 300개에서는 어텐션이 {attention/right_300:.0%}, 평균이 "
        "{average/right_300:.0%}를 맞히는데, 시드마다 크게 달라 어느 쪽도 앞서지 않는다. 최댓값은 "
        "{maximum/right_300:.0%}로, 평균과 비슷했던 논문과 다르다. 이 과제의 레이블은 핵심 단어 하나가 정하고, "
        "최댓값은 바로 그런 단어를 골라낸다. 실제 리뷰에는 그런 단어가 드물다.",
    ),
    minutes=0.6,
    seeds=5,
)
