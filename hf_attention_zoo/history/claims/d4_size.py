"""D4: a larger pre-trained model predicts hidden words better and does its tasks better."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from hf_attention_zoo import (
    BERT2018Config,
    BERT2018ForMaskedLM,
    BERT2018ForSequenceClassification,
    BERT2018ForTokenClassification,
)
from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.synthetic import training_draws
from hf_attention_zoo.history.training import parameters_of, train
from hf_attention_zoo.history.transfer import fine_tuned_accuracy, topic_and_tag_rows

PRETRAINING, TUNING, BATCH, LABELLED, HELD_OUT = 1600, 200, 32, 512, 500
SCORED = 100  # the last steps of pre-training, on texts that are read once, so that their loss is a held-out one
SIZES = {"small": (1, 32), "middle": (2, 64), "large": (4, 64)}  # arm -> layers, width


def sized_bert(layers: int, width: int, labels: int = 2) -> BERT2018Config:
    """The small BERT of the texts with hidden topics, of another size; a head stays 16 wide."""
    config = planted.small_bert(labels=labels)
    config.num_hidden_layers, config.hidden_size = layers, width
    config.num_attention_heads, config.intermediate_size = width // 16, 2 * width
    return config


def trial(layers: int, width: int, seed: int, budget: Budget) -> Measures:
    """Pre-train on hidden words, then fine-tune on topics of texts and on tags of words."""
    random = training_draws(seed)
    rows = topic_and_tag_rows(training_draws(seed + 1000), seed, LABELLED, HELD_OUT)
    language = BERT2018ForMaskedLM(sized_bert(layers, width))
    steps = budget.steps(PRETRAINING)
    losses = train(language, planted.masked_batches(random, BATCH, 0.8, 0.1), steps, warmup=100)[-SCORED:]
    measures: Measures = {"loss": sum(losses) / len(losses), "parameters": float(parameters_of(language))}
    models = {
        "topics": BERT2018ForSequenceClassification(sized_bert(layers, width, planted.TOPICS)),
        "tags": BERT2018ForTokenClassification(sized_bert(layers, width)),
    }
    for task, model in models.items():
        learnt, asked = rows[task]
        measures[task] = fine_tuned_accuracy(
            model, language, learnt, asked, training_draws(seed), budget.steps(TUNING), BATCH
        )
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Loss and both tasks, a bar a size."""
    figure.set_size_inches(9, 3.2)
    said = {"loss": "loss of hidden words", "topics": "topics right", "tags": "tags right"}
    for axes, (measure, up) in zip(figure.subplots(1, 3), said.items(), strict=True):
        bars = {
            f"{layers} × {width}\n{results.mean(f'{arm}/parameters') / 1000:.0f}k": results.of(f"{arm}/{measure}")
            for arm, (layers, width) in SIZES.items()
        }
        draw_bars(axes, bars, up)
        axes.set_xlabel("layers × width, parameters", fontsize=8)


CLAIM = Claim(
    number="D4",
    title=Text("Larger is better", "클수록 낫다"),
    statement=Text(
        "A larger pre-trained model predicts hidden words better, and does better on tasks with few labels, too.",
        "사전 학습한 모델이 클수록 가린 단어를 더 잘 예측하고, 레이블이 적은 과제의 성적도 더 높다.",
    ),
    paper="Devlin et al. 2018",
    year=2018,
    printed=(
        "Table 6, layers and width, perplexity of hidden words, MNLI, MRPC, SST-2: 3 × 768 5.84, 77.9, 79.8, 88.4; "
        "6 × 768 4.68, 81.9, 84.8, 91.3; 12 × 768 3.99, 84.4, 86.7, 92.9; 24 × 1024 3.23, 86.6, 87.8, 93.7",
    ),
    data=f"as D1: texts of {planted.LENGTH} symbols with hidden topics; tags tell whether the next symbol is in the "
    f"upper half; {LABELLED} labelled texts, {HELD_OUT} held out",
    models=("bert2018",),
    equal="steps, rate, batches, texts. Parameters and compute are not equal: they are what is tried",
    metric="loss of hidden words in texts not read before; topics and tags right after fine-tuning",
    refuted_by="the loss does not fall, or neither task rises, with size",
    parts=(
        Difference("loss of hidden words: 1 × 32 over 2 × 64", "small/loss", "middle/loss"),
        Difference("loss of hidden words: 2 × 64 over 4 × 64", "middle/loss", "large/loss"),
        Difference("topics right: 4 × 64 over 1 × 32", "large/topics", "small/topics"),
        Difference("topics right: 4 × 64 over 2 × 64", "large/topics", "middle/topics"),
        Difference("tags right: 4 × 64 over 1 × 32", "large/tags", "small/tags"),
    ),
    arms={arm: partial(trial, *size) for arm, size in SIZES.items()},
    draw=draw,
    seen=Text(
        "The loss of hidden words falls with every size, {small/loss:.2f}, {middle/loss:.2f} and {large/loss:.2f} "
        "nats, and topics rise with it, {small/topics:.0%}, {middle/topics:.0%} and {large/topics:.0%}. Tags, "
        "which one neighbour decides, are right for {small/tags:.1%}, {middle/tags:.1%} and {large/tags:.1%}: "
        "there is little left to gain behind the second size. Every seed has the claimed order of loss and topics, "
        "but the step from the second size to the third is too uneven for three seeds to decide it. Steps are "
        "equal and compute is not; what each size would reach with more steps was not tried.",
        "가린 단어의 손실은 크기가 커질 때마다 줄어 {small/loss:.2f}, {middle/loss:.2f}, {large/loss:.2f} nat이고, "
        "토픽 정확도도 {small/topics:.0%}, {middle/topics:.0%}, {large/topics:.0%}로 오른다. 이웃 하나가 결정하는 "
        "태그는 {small/tags:.1%}, {middle/tags:.1%}, {large/tags:.1%}로, 두 번째 크기부터는 더 오를 여지가 거의 "
        "없다. 손실과 토픽의 순서는 모든 시드에서 주장대로이지만, 둘째와 셋째 크기의 차이는 고르지 않아 시드 "
        "셋으로는 판정할 수 없다. 스텝 수는 같지만 계산량은 같지 않으며, 더 오래 학습하면 각각 어디까지 가는지는 "
        "시험하지 않았다.",
    ),
    minutes=1.5,
)
