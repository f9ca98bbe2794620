"""D3: to be asked whether one text follows another helps tasks on pairs of texts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from hf_attention_zoo import BERT2018Config, BERT2018ForPreTraining, BERT2018ForSequenceClassification
from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.claim import Alike, Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import END, FIRST, held_out_draws, training_draws
from hf_attention_zoo.history.training import train
from hf_attention_zoo.history.transfer import fine_tuned_accuracy
from hf_attention_zoo.losses.token_loss import IGNORED

PRETRAINING, TUNING, BATCH, LABELLED, HELD_OUT = 800, 200, 32, 128, 500
LENGTH = 8  # symbols of each text of a pair
OWN = planted.SYMBOLS // planted.TOPICS  # symbols that a topic calls its own
LOYAL = 0.8  # how often a symbol is drawn from its topic's own


def texts_of(random: np.random.Generator, topics: np.ndarray) -> np.ndarray:
    """A text of each topic, (N, LENGTH) symbols: most are drawn from the topic's own."""
    own = OWN * topics[:, None] + random.integers(0, OWN, (len(topics), LENGTH))
    drawn = random.integers(0, planted.SYMBOLS, own.shape)
    return np.where(random.random(own.shape) < LOYAL, own, drawn)


def pairs(random: np.random.Generator, count: int, shift: int) -> tuple[dict[str, Tensor], Tensor]:
    """`CLASSIFY A END B END` with its segments, and a label: 0 where the topic of B is that of A plus `shift`.

    Half of the pairs are such; the topic of the other B is drawn alike from the three others, so that A alone and B
    alone tell nothing.
    """
    first = random.integers(0, planted.TOPICS, count)
    other = random.random(count) < 0.5
    second = (first + shift + np.where(other, random.integers(1, planted.TOPICS, count), 0)) % planted.TOPICS
    sides = [texts_of(random, topics) + FIRST for topics in (first, second)]
    marks = [np.full((count, 1), mark) for mark in (planted.CLASSIFY, END)]
    ids = np.concatenate([marks[0], sides[0], marks[1], sides[1], marks[1]], 1)
    segments = np.repeat([[0] * (LENGTH + 2) + [1] * (LENGTH + 1)], count, 0)
    given = {"input_ids": torch.from_numpy(ids), "token_type_ids": torch.from_numpy(segments)}
    return given, torch.from_numpy(other.astype(np.int64))


def pretraining_batches(random: np.random.Generator, asked_next: bool) -> Iterator[dict[str, Tensor]]:
    """Endless pairs with hidden words, 15 % predicted, 80/10/10; B goes on with A's topic or with another."""
    while True:
        batch, other = pairs(random, BATCH, shift=0)
        ids = batch["input_ids"].numpy()
        symbols = (ids >= FIRST) & (ids < FIRST + planted.SYMBOLS)
        chosen = symbols & (random.random(ids.shape) < planted.CHOSEN)
        fate = random.random(ids.shape)
        seen = np.where(chosen & (fate < 0.8), planted.MASK, ids)
        drawn = random.integers(FIRST, FIRST + planted.SYMBOLS, ids.shape)
        seen = np.where(chosen & (fate >= 0.9), drawn, seen)
        batch |= {"input_ids": torch.from_numpy(seen), "labels": torch.from_numpy(np.where(chosen, ids, IGNORED))}
        yield batch | {"next_sentence_label": other} if asked_next else batch


def configuration(labels: int = 2) -> BERT2018Config:
    """The small BERT of the other claims of pre-training, with room for a pair."""
    config = planted.small_bert(labels=labels)
    config.max_position_embeddings = 2 * LENGTH + 3
    return config


def single_texts(random: np.random.Generator, count: int) -> dict[str, Tensor]:
    """Single texts and their topics."""
    topics = random.integers(0, planted.TOPICS, count)
    ids = np.pad(texts_of(random, topics) + FIRST, ((0, 0), (1, 1)), constant_values=((0, 0), (planted.CLASSIFY, END)))
    return {"input_ids": torch.from_numpy(ids), "labels": torch.from_numpy(topics)}


def shifted_pairs(random: np.random.Generator, count: int) -> dict[str, Tensor]:
    """Pairs for the task: whether B has the topic behind that of A, which pre-training never asked."""
    given, labels = pairs(random, count, shift=1)
    return {**given, "labels": labels}


def trial(asked_next: bool, seed: int, budget: Budget) -> Measures:
    """Pre-train with or without the question, then fine-tune on pairs and on single texts."""
    language = BERT2018ForPreTraining(configuration())
    batches = pretraining_batches(training_draws(seed), asked_next)
    losses = train(language, batches, budget.steps(PRETRAINING), warmup=50)
    with torch.no_grad():
        given, other = pairs(held_out_draws(seed), HELD_OUT, shift=0)
        said = language(**given).seq_relationship_logits.argmax(-1)
    measures: Measures = {
        "loss": sum(losses[-50:]) / len(losses[-50:]),
        "follows": (said == other).float().mean().item(),
    }
    for task, draw_rows, labels in (("pairs", shifted_pairs, 2), ("topics", single_texts, planted.TOPICS)):
        learnt = draw_rows(training_draws(seed + 1000), LABELLED)
        asked = draw_rows(held_out_draws(seed + 1000), HELD_OUT)
        model = BERT2018ForSequenceClassification(configuration(labels))
        measures[task] = fine_tuned_accuracy(
            model, language, learnt, asked, training_draws(seed), budget.steps(TUNING), BATCH
        )
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Both tasks, with the question and without."""
    figure.set_size_inches(7, 3.2)
    names = {"asked": "hidden words and\nnext sentence", "masked": "hidden words"}
    said = {"pairs": ("topic of B is the one behind A's: right", 0.5), "topics": ("topic of one text: right", 0.25)}
    for axes, (task, (up, chance)) in zip(figure.subplots(1, 2), said.items(), strict=True):
        draw_bars(axes, {name: results.of(f"{arm}/{task}") for arm, name in names.items()}, up)
        axes.axhline(chance, color="#888888", linewidth=0.8, linestyle=":")


CLAIM = Claim(
    number="D3",
    title=Text("Does this sentence follow?", "이 문장이 이어지는가"),
    statement=Text(
        "Pre-training that is also asked whether the second text follows the first helps tasks on pairs of texts, "
        "and changes little for single texts.",
        "두 번째 텍스트가 첫 번째에 이어지는지도 묻는 사전 학습은 텍스트 쌍을 다루는 과제에 도움이 되고, 텍스트 "
        "하나를 다루는 과제에는 별 차이가 없다.",
    ),
    paper="Devlin et al. 2018",
    year=2018,
    printed=(
        "Table 5, development sets, with next sentence and without: QNLI 88.4 and 84.9, MNLI 84.4 and 83.9, MRPC "
        "86.7 "
        "and 86.5, SST-2 92.7 and 92.6",
    ),
    data=f"pairs of texts of {LENGTH} symbols; each of {planted.TOPICS} topics has {OWN} symbols of its own, "
    f"from which {LOYAL:.0%} of its texts are drawn. In pre-training B has the topic of A or another; the task asks "
    f"what was never asked, whether B has the one behind it; {LABELLED} labelled pairs or texts, {HELD_OUT} held out",
    models=("bert2018",),
    equal="model, steps, batches, texts, hidden words, fine-tuning",
    metric="right after fine-tuning: pairs (chance 50 %) and topics of single texts (chance 25 %)",
    refuted_by="pairs are not better with the question. Topics of texts are all that tells whether B follows, as "
    "they "
    "often are where the other B comes from another document: nothing finer is tried",
    parts=(
        Difference("pairs right: with next sentence over without", "asked/pairs", "masked/pairs"),
        Alike("topics of single texts: with and without", "asked/topics", "masked/topics", margin=0.05),
    ),
    arms={"asked": partial(trial, True), "masked": partial(trial, False)},
    draw=draw,
    seen=Text(
        "With the question {asked/pairs:.1%} of the pairs are right, without it {masked/pairs:.1%}: ahead with all "
        "three seeds, and the interval just includes zero. Single texts are as good either way "
        "({asked/topics:.1%} and {masked/topics:.1%}), near the ceiling. Here topics tell whether a text follows, "
        "which the question asks and the task asks in a finer way; where that is not so, nothing was tried.",
        "다음 문장 질문과 함께 학습하면 텍스트 쌍의 {asked/pairs:.1%}를 맞히고, 질문 없이 학습하면 "
        "{masked/pairs:.1%}를 맞힌다. 세 시드 모두에서 앞서지만 구간이 0을 간신히 포함한다. 텍스트 하나를 다루는 "
        "과제는 "
        "차이가 없으며({asked/topics:.1%}와 {masked/topics:.1%}) 거의 다 맞힌다. 여기서는 주제가 이어짐을 알려 주며, "
        "과제도 주제를 더 자세히 묻는다. 그렇지 않은 경우는 시험하지 않았다.",
    ),
    minutes=0.7,
)
