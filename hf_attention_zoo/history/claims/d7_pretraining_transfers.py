"""D7: generative pre-training transfers to a task with few labels."""

from __future__ import annotations

from functools import partial

import torch
from matplotlib.figure import Figure

from hf_attention_zoo import GPT2018Config, GPT2018ForCausalLM, GPT2018ForSequenceClassification
from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.training import train
from hf_attention_zoo.losses.token_loss import IGNORED

PRETRAINING, TUNING, BATCH, HELD_OUT = 2000, 200, 64, 500
LABELLED = (64, 256, 1024)


def configuration(auxiliary: float) -> GPT2018Config:
    """A small GPT."""
    config = GPT2018Config(
        vocab_size=planted.VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=planted.LENGTH + 2,
        residual_dropout=0.0,
        embedding_dropout=0.0,
        attention_dropout=0.0,
        classifier_dropout=0.0,
        auxiliary_loss_weight=auxiliary,
    )
    config.num_labels = planted.TOPICS
    return config


def trial(pretraining: int, tuning: int, auxiliary: float, seed: int, budget: Budget) -> Measures:
    """Pre-train, or not; then learn the topics from few labelled texts."""
    torch.manual_seed(seed)
    random = training_draws(seed)
    language = GPT2018ForCausalLM(configuration(auxiliary))
    measures: Measures = {}
    if pretraining:
        batches = (
            {"input_ids": ids, "labels": ids.masked_fill(ids == planted.CLASSIFY, IGNORED)}
            for ids in iter(lambda: planted.read_by_gpt(planted.topical_texts(random, BATCH)[0]), None)
        )
        losses = train(language, batches, budget.steps(pretraining), warmup=50)
        measures["loss"] = sum(losses[-50:]) / len(losses[-50:])
    asked, answers = planted.topical_texts(held_out_draws(seed), HELD_OUT)
    right = []
    for count in LABELLED:
        texts, topics = planted.topical_texts(training_draws(seed + 1000), count)
        model = GPT2018ForSequenceClassification(configuration(auxiliary))
        model.load_state_dict(language.state_dict(), strict=False)
        rows = planted.drawn_batches(
            training_draws(seed), BATCH, input_ids=planted.read_by_gpt(texts), labels=torch.from_numpy(topics)
        )
        train(model, rows, budget.steps(tuning), warmup=20)
        with torch.no_grad():
            said = model(input_ids=planted.read_by_gpt(asked)).logits.argmax(-1).numpy()
        right.append(float((said == answers).mean()))
        measures[f"right_{count}"] = right[-1]
    return {**measures, "right": right}


def draw(figure: Figure, results: Results) -> None:
    """Topics right against the number of labelled texts."""
    figure.set_size_inches(5.5, 3.4)
    axes = figure.subplots()
    names = {
        "pretrained": "pre-trained",
        "auxiliary": "pre-trained, with auxiliary loss",
        "longer": "from scratch, five times the steps",
        "scratch": "from scratch",
    }
    draw_lines(
        axes, LABELLED, {said: results.of(f"{arm}/right") for arm, said in names.items()}, "labelled", "topics right"
    )
    axes.set_xscale("log", base=2)
    axes.axhline(1 / planted.TOPICS, color="#888888", linewidth=0.8, linestyle=":")


CLAIM = Claim(
    number="D7",
    title=Text("Reading first, then answering", "먼저 읽고, 그다음에 답하기"),
    statement=Text(
        "A decoder that was pre-trained on unlabelled text learns a task from few labels better than one from "
        "scratch.",
        "레이블 없는 텍스트로 사전 학습한 디코더는 처음부터 학습한 디코더보다 적은 레이블로 과제를 더 잘 배운다.",
    ),
    paper="Radford et al. 2018",
    year=2018,
    printed=("Table 5, average of tasks: 74.7 with pre-training, 59.9 without it, 75.0 without the auxiliary loss",),
    data=f"texts of {planted.LENGTH} of {planted.SYMBOLS} symbols; a topic shows in what follows what alone, so "
    f"that a bag of words "
    f"is at chance; {', '.join(map(str, LABELLED))} labelled texts, {HELD_OUT} held out",
    models=("gpt2018",),
    equal="model, labelled texts, fine-tuning steps; one model from scratch has five times the steps, since it "
    "starts later",
    metric="topics right after fine-tuning",
    refuted_by="with 256 or 1024 labelled texts the pre-trained model is not ahead of both from scratch",
    parts=(
        Difference("256 labels: pre-trained over scratch", "pretrained/right_256", "scratch/right_256"),
        Difference("1024 labels: pre-trained over scratch", "pretrained/right_1024", "scratch/right_1024"),
        Difference("1024 labels: pre-trained over longer from scratch", "pretrained/right_1024", "longer/right_1024"),
        Difference(
            "256 labels: without the auxiliary loss over with it", "pretrained/right_256", "auxiliary/right_256"
        ),
    ),
    arms={
        "pretrained": partial(trial, PRETRAINING, TUNING, 0.0),
        "auxiliary": partial(trial, PRETRAINING, TUNING, 0.5),
        "scratch": partial(trial, 0, TUNING, 0.0),
        "longer": partial(trial, 0, 5 * TUNING, 0.0),
    },
    draw=draw,
    seen=Text(
        "With 256 labelled texts the pre-trained model is right for {pretrained/right_256:.0%}, from scratch for "
        "{scratch/right_256:.0%}, where chance is 25 %. With 1024 it is {pretrained/right_1024:.0%} and "
        "{scratch/right_1024:.0%}, and the model from scratch catches up with five times the steps, "
        "{longer/right_1024:.0%}; three seeds decide neither. The auxiliary loss makes no difference "
        "({auxiliary/right_256:.0%} of 256). The language model stands at {pretrained/loss:.2f} nats a token, "
        "where knowing the topic would give about 1.9: a better one may transfer more.",
        "레이블이 256개일 때 사전 학습한 모델의 정확도는 {pretrained/right_256:.0%}, 처음부터 학습한 모델은 "
        "{scratch/right_256:.0%}이고, 우연 수준은 25 %이다. 1024개에서는 {pretrained/right_1024:.0%}와 "
        "{scratch/right_1024:.0%}이며, 처음부터 학습한 모델도 다섯 배 오래 학습하면 {longer/right_1024:.0%}로 "
        "따라잡는다. 시드 셋으로는 어느 쪽도 판정할 수 없다. 보조 손실은 차이를 만들지 않는다(256개에서 "
        "{auxiliary/right_256:.0%}). 언어 모델의 손실은 토큰당 {pretrained/loss:.2f} nat이고, 토픽을 안다면 약 "
        "1.9이므로 더 잘 학습하면 더 많이 전이될 수 있다.",
    ),
    minutes=2.5,
)
