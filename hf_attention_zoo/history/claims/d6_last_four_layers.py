"""D6: frozen states of several layers side by side say more than those of the last layer."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from hf_attention_zoo import BERT2018ForMaskedLM
from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.probing import Labelled, Probe, learnt_and_asked, probe_accuracy
from hf_attention_zoo.history.synthetic import training_draws
from hf_attention_zoo.history.training import train

LAYERS, PRETRAINING, PROBING, BATCH, LABELLED, HELD_OUT = 4, 1600, 500, 32, 512, 500
LAST_FOUR = tuple(range(LAYERS - 3, LAYERS + 1))  # state 0 is the embedding
TASKS = {"next": 2, "topics": planted.TOPICS}  # task -> labels


def states_of(language: BERT2018ForMaskedLM, read: Labelled) -> Tensor:
    """Frozen states of each symbol, (1 + LAYERS, N, LENGTH, H)."""
    with torch.no_grad():
        found = language.model(input_ids=planted.read_by_bert(read.texts), output_hidden_states=True).hidden_states
    return torch.stack(found)[:, :, 1:-1]


def trial(seed: int, budget: Budget) -> Measures:
    """Pre-train once; then a linear layer on frozen states learns each task, for each choice of layers."""
    random = training_draws(seed)
    config = planted.small_bert()
    config.num_hidden_layers = LAYERS
    language = BERT2018ForMaskedLM(config)
    losses = train(language, planted.masked_batches(random, BATCH, 0.8, 0.1), budget.steps(PRETRAINING), warmup=100)
    learnt, asked = learnt_and_asked(random, seed, LABELLED, HELD_OUT)
    states = states_of(language, learnt), states_of(language, asked)
    width = config.hidden_size
    measures: Measures = {"loss": sum(losses[-50:]) / len(losses[-50:])}
    for task, labels in TASKS.items():
        probes = {
            "embeddings": ((0,), Probe(1, width, labels)),
            "second_to_last": ((LAYERS - 1,), Probe(1, width, labels)),
            "last": ((LAYERS,), Probe(1, width, labels)),
            "weighted": (LAST_FOUR, Probe(4, width, labels)),
            "side_by_side": (LAST_FOUR, Probe(4, width, labels, side_by_side=True)),
            "last_hidden": ((LAYERS,), Probe(1, width, labels, hidden=4 * width)),
        }
        for name, (chosen, probe) in probes.items():
            both = learnt.labels[task], asked.labels[task]
            measures[f"{name}_{task}"] = probe_accuracy(probe, states, both, chosen, seed, budget.steps(PROBING))
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Both tasks, each choice of layers a bar."""
    figure.set_size_inches(10, 3.6)
    names = {
        "embeddings": "embeddings",
        "last": "last",
        "last_hidden": "last,\nhidden layer",
        "second_to_last": "second\nto last",
        "weighted": "four,\nweighted",
        "side_by_side": "four,\nside by side",
    }
    said = {"next": "next symbol high: right", "topics": "topic of the text: right"}
    for axes, (task, up) in zip(figure.subplots(1, 2), said.items(), strict=True):
        draw_bars(axes, {name: results.of(f"frozen/{arm}_{task}") for arm, name in names.items()}, up)
        axes.axhline(1 / TASKS[task], color="#888888", linewidth=0.8, linestyle=":")


CLAIM = Claim(
    number="D6",
    title=Text("The last four layers, side by side", "마지막 네 층을 나란히"),
    statement=Text(
        "As frozen features the last four layers side by side, or weighted, are better than the last layer, and the "
        "second to last is better, too.",
        "고정된 특징으로 쓸 때 마지막 네 층을 나란히 잇거나 가중합하면 마지막 층 하나보다 낫고, 끝에서 두 번째 층도 "
        "마지막 층보다 낫다.",
    ),
    paper="Devlin et al. 2018",
    year=2018,
    printed=(
        "Table 7, CoNLL-2003 development F1, frozen: embeddings 91.0, second to last 95.6, last 94.9, weighted sum "
        "of "
        "the last four 95.9, concatenation of the last four 96.1, weighted sum of all 95.5",
    ),
    data=f"as D1: texts of {planted.LENGTH} symbols with hidden topics; each symbol is asked whether the next one is "
    f"in the upper half, and for the topic; {LABELLED} labelled texts, {HELD_OUT} held out",
    models=("bert2018", "torch"),
    equal=f"one pre-trained body of {LAYERS} layers a seed, labelled texts, steps. Side by side has four times the "
    "weights of one layer; one hidden layer on the last one alone has more than that",
    metric="labels right with one linear layer on frozen states",
    refuted_by="the four side by side are not ahead of the last layer in either task",
    parts=(
        Difference("next: four side by side over last", "frozen/side_by_side_next", "frozen/last_next"),
        Difference("topics: four side by side over last", "frozen/side_by_side_topics", "frozen/last_topics"),
        Difference(
            "next: four side by side over a hidden layer on the last",
            "frozen/side_by_side_next",
            "frozen/last_hidden_next",
        ),
        Difference("next: four weighted over last", "frozen/weighted_next", "frozen/last_next"),
        Difference("next: second to last over last", "frozen/second_to_last_next", "frozen/last_next"),
    ),
    arms={"frozen": trial},
    draw=draw,
    seen=Text(
        "With one linear layer the four side by side are ahead of the last layer, in the next symbol "
        "{frozen/side_by_side_next:.1%} to {frozen/last_next:.1%} and in topics {frozen/side_by_side_topics:.1%} "
        "to {frozen/last_topics:.1%}. The rest of the paper's order does not show: weighted they are at "
        "{frozen/weighted_next:.1%}, and the second to last layer at {frozen/second_to_last_next:.1%}. Nor is it "
        "the layers that decide here: one hidden layer on the last alone gets {frozen/last_hidden_next:.1%} and "
        "{frozen/last_hidden_topics:.1%}, so that the last layer holds what is asked, in a form that one linear "
        "layer does not read.",
        "선형 층 하나로 읽으면 네 층을 나란히 이은 것이 마지막 층보다 낫다. 다음 기호는 "
        "{frozen/side_by_side_next:.1%} 대 {frozen/last_next:.1%}, 토픽은 {frozen/side_by_side_topics:.1%} 대 "
        "{frozen/last_topics:.1%}이다. 논문의 나머지 순서는 나타나지 않는다. 네 층의 가중합은 "
        "{frozen/weighted_next:.1%}, 끝에서 두 번째 층은 {frozen/second_to_last_next:.1%}이다. 여기서는 층의 수가 "
        "핵심도 아니다. 마지막 층 하나에 은닉층을 두면 {frozen/last_hidden_next:.1%}와 "
        "{frozen/last_hidden_topics:.1%}가 된다. 마지막 층은 답을 담고 있지만 선형 층 하나로는 읽을 수 없는 "
        "형태이다.",
    ),
    minutes=0.9,
)
