"""D5: a task that weighs all layers of a language model does better than one that reads the last layer alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional

from hf_attention_zoo import ELMoConfig, ELMoForPreTraining
from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.probing import Labelled, Probe, learnt_and_asked, probe_accuracy
from hf_attention_zoo.history.synthetic import training_draws
from hf_attention_zoo.history.training import train
from hf_attention_zoo.models.elmo.layers_elmo import BEGIN_WORD, CHARACTER_PAD, END_WORD

LAYERS, PRETRAINING, PROBING, BATCH, LABELLED, HELD_OUT = 2, 1500, 500, 64, 512, 500
FIRST_WORD, END_OF_TEXT = 3, 1  # in the softmax, behind <S>, </S> and <UNK>
TASKS = {"next": 2, "previous": 2, "topics": planted.TOPICS}  # task -> labels


def configuration() -> ELMoConfig:
    """A small ELMo without dropout; a word is one letter."""
    return ELMoConfig(
        vocab_size=FIRST_WORD + planted.SYMBOLS,
        filters=[[1, 16], [2, 32]],
        num_highway_layers=1,
        projection_size=32,
        cell_size=64,
        num_layers=LAYERS,
        num_negative_samples=0,
        dropout=0.0,
    )


def letters(texts: np.ndarray) -> Tensor:
    """Symbols (N, T) as the characters of words of one letter, (N, T, 4)."""
    rows = torch.full((*texts.shape, 4), CHARACTER_PAD)
    rows[..., 0], rows[..., 2] = BEGIN_WORD, END_WORD
    rows[..., 1] = torch.from_numpy(texts) + 1 + ord("a")
    return rows


def text_batches(random: np.random.Generator) -> Iterator[dict[str, Tensor]]:
    """Endless batches of unlabelled texts."""
    while True:
        texts, _ = planted.topical_texts(random, BATCH)
        labels = functional.pad(torch.from_numpy(texts) + FIRST_WORD, (0, 1), value=END_OF_TEXT)
        yield {"character_ids": letters(texts), "labels": labels}


def states_of(language: ELMoForPreTraining, read: Labelled) -> Tensor:
    """Frozen states of each symbol, both directions side by side, (1 + LAYERS, N, LENGTH, H)."""
    with torch.no_grad():
        found = language.model(character_ids=letters(read.texts), output_hidden_states=True).hidden_states
    return torch.stack(found)


def trial(seed: int, budget: Budget) -> Measures:
    """Pre-train once; then a linear layer on frozen states learns each task, on one layer or on a mix of all."""
    random = training_draws(seed)
    language = ELMoForPreTraining(configuration())
    losses = train(language, text_batches(random), budget.steps(PRETRAINING), rate=3e-3)
    learnt, asked = learnt_and_asked(random, seed, LABELLED, HELD_OUT)
    states = states_of(language, learnt), states_of(language, asked)
    width, every = language.config.hidden_size, range(LAYERS + 1)
    measures: Measures = {"loss": sum(losses[-50:]) / len(losses[-50:])}
    for task, labels in TASKS.items():
        both = learnt.labels[task], asked.labels[task]
        for layer in every:
            probe = Probe(1, width, labels)
            measures[f"layer_{layer}_{task}"] = probe_accuracy(
                probe, states, both, (layer,), seed, budget.steps(PROBING)
            )
        for name, penalty in (("near_mean", 1.0), ("free", 0.001)):
            probe = Probe(LAYERS + 1, width, labels)
            measures[f"{name}_{task}"] = probe_accuracy(
                probe, states, both, every, seed, budget.steps(PROBING), penalty
            )
            assert probe.mix is not None
            measures[f"weights_{name}_{task}"] = probe.mix.layer_weights.tolist()
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Each task: every layer alone and both mixes, and below where the free mix puts its weight."""
    figure.set_size_inches(10, 3.6)
    names = {
        "layer_0": "words",
        "layer_1": "layer 1",
        "layer_2": "layer 2",
        "near_mean": "mean of all",
        "free": "learnt mix",
    }
    said = {"previous": "previous symbol high", "next": "next symbol high", "topics": "topic of the text"}
    for axes, (task, what) in zip(figure.subplots(1, 3), said.items(), strict=True):
        draw_bars(axes, {name: results.of(f"frozen/{arm}_{task}") for arm, name in names.items()}, "right")
        weights = np.mean(results.of(f"frozen/weights_free_{task}"), axis=0)
        axes.set_title(f"{what}\nlearnt weights {' '.join(f'{weight:.2f}' for weight in weights)}", fontsize=9)
        axes.axhline(1 / TASKS[task], color="#888888", linewidth=0.8, linestyle=":")


CLAIM = Claim(
    number="D5",
    title=Text("All layers, weighed by the task", "과제가 가중하는 모든 층"),
    statement=Text(
        "A weighted sum of all layers of a bidirectional language model is better than its last layer alone; a lower "
        "layer knows more of neighbours, a higher one more of the whole text.",
        "양방향 언어 모델의 모든 층을 가중합하면 마지막 층만 쓸 때보다 낫다. 아래층은 이웃을, 위층은 전체 텍스트를 "
        "더 잘 안다.",
    ),
    paper="Peters et al. 2018",
    year=2018,
    printed=(
        "Table 2, development sets, last layer, all layers with lambda 1 and with lambda 0.001: "
        "SNLI 89.1, 89.3, 89.5; SRL 84.1, 84.6, 84.8",
        "Tables 5 and 6, layers 1 and 2: word senses 67.4 and 69.0; parts of speech 97.3 and 96.8",
    ),
    data=f"as D1: texts of {planted.LENGTH} symbols with hidden topics; each symbol is asked whether the previous "
    f"and "
    f"whether the next one is in the upper half, and for the topic; {LABELLED} labelled texts, {HELD_OUT} held out",
    models=("elmo", "torch"),
    equal=f"one pre-trained language model of {LAYERS} layers a seed, labelled texts, steps; a mix has one weight a "
    "layer more than a single layer",
    metric="labels right with one linear layer on frozen states",
    refuted_by="the learnt mix is not ahead of the last layer in any task",
    parts=(
        Difference("topics: learnt mix over last layer", "frozen/free_topics", "frozen/layer_2_topics"),
        Difference("next: learnt mix over last layer", "frozen/free_next", "frozen/layer_2_next"),
        Difference("next: lambda 0.001 over lambda 1", "frozen/free_next", "frozen/near_mean_next"),
        Difference("previous: layer 1 over layer 2", "frozen/layer_1_previous", "frozen/layer_2_previous"),
        Difference("topics: layer 2 over layer 1", "frozen/layer_2_topics", "frozen/layer_1_topics"),
    ),
    arms={"frozen": trial},
    draw=draw,
    seen=Text(
        "Three seeds decide nothing: for the topic the learnt mix is ahead of the last layer with each of them "
        "({frozen/free_topics:.1%} against {frozen/layer_2_topics:.1%}), for the next symbol with two "
        "({frozen/free_next:.1%} and {frozen/layer_2_next:.1%}). The lower layer is not the one of neighbours: it "
        "knows the topic better ({frozen/layer_1_topics:.1%}), the previous symbol no better "
        "({frozen/layer_1_previous:.1%} and {frozen/layer_2_previous:.1%}), and the mix leans on it in all tasks. "
        "The "
        "words alone are far behind. In texts that are drawn from tables there is little that takes two layers.",
        "시드 세 개로는 아무것도 판정할 수 없다. 주제에서는 학습된 가중합이 세 시드 모두에서 마지막 층보다 "
        "앞서고({frozen/free_topics:.1%} 대 {frozen/layer_2_topics:.1%}), 다음 기호에서는 두 시드에서 "
        "앞선다({frozen/free_next:.1%}와 {frozen/layer_2_next:.1%}). 아래층이 이웃을 더 잘 아는 것은 아니다. "
        "아래층은 "
        "주제를 더 잘 알고({frozen/layer_1_topics:.1%}), 이전 기호는 더 잘 알지 "
        "못하며({frozen/layer_1_previous:.1%}와 {frozen/layer_2_previous:.1%}), 가중합은 모든 과제에서 아래층에 "
        "기댄다. "
        "단어 벡터만으로는 크게 뒤진다. 표에서 뽑은 텍스트에는 두 층이 필요한 것이 거의 없다.",
    ),
    minutes=1.2,
)
