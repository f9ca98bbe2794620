"""D1: a model that is pre-trained on both sides of a word is better than one that reads from left to right."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from hf_attention_zoo import (
    BERT2018ForMaskedLM,
    BERT2018ForSequenceClassification,
    BERT2018ForTokenClassification,
)
from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Exact, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars, draw_lines
from hf_attention_zoo.history.synthetic import held_out_draws, training_draws
from hf_attention_zoo.history.training import thinned, train
from hf_attention_zoo.history.transfer import fine_tuned_accuracy, topic_and_tag_rows

PRETRAINING, TUNING, BATCH, LABELLED, HELD_OUT = 800, 200, 64, 512, 500


def sees(model: BERT2018ForMaskedLM, seed: int) -> tuple[bool, bool]:
    """Whether the prediction at a middle place depends on a word before it, and on one after it."""
    ids = planted.read_by_bert(planted.topical_texts(held_out_draws(seed), 1)[0])
    embedded = model.get_input_embeddings()(ids).detach().requires_grad_()
    middle = ids.shape[1] // 2
    model(inputs_embeds=embedded).logits[0, middle].pow(2).sum().backward()
    assert embedded.grad is not None
    reached = embedded.grad[0].abs().sum(-1) > 0
    return bool(reached[middle - 1]), bool(reached[middle + 1])


def trial(left_to_right: bool, seed: int, budget: Budget) -> Measures:
    """Pre-train, then fine-tune on topics of texts and on tags of words, the mask kept."""
    random = training_draws(seed)
    language = BERT2018ForMaskedLM(planted.small_bert(left_to_right))
    batches = (
        planted.next_word_batches(random, BATCH) if left_to_right else planted.masked_batches(random, BATCH, 0.8, 0.1)
    )
    losses = train(language, batches, budget.steps(PRETRAINING), warmup=50)
    before, after = sees(language, seed)
    rows = topic_and_tag_rows(random, seed, LABELLED, HELD_OUT)
    measures: Measures = {"both_sides": float(before and after), "only_before": float(before and not after)}
    measures["losses"] = thinned(losses)
    heads = {
        "topics": BERT2018ForSequenceClassification(planted.small_bert(left_to_right, planted.TOPICS)),
        "tags": BERT2018ForTokenClassification(planted.small_bert(left_to_right)),
    }
    for name, model in heads.items():
        learnt, asked = rows[name]
        measures[name] = fine_tuned_accuracy(model, language, learnt, asked, random, budget.steps(TUNING), BATCH)
    return measures


def draw(figure: Figure, results: Results) -> None:
    """Accuracy of both tasks, and the losses of pre-training."""
    figure.set_size_inches(9, 3.2)
    topics, tags, losses = figure.subplots(1, 3)
    names = {"both": "both sides", "left": "left to right"}
    draw_bars(topics, {said: results.of(f"{arm}/topics") for arm, said in names.items()}, "topics right")
    draw_bars(tags, {said: results.of(f"{arm}/tags") for arm, said in names.items()}, "tags right")
    curves = {said: results.of(f"{arm}/losses") for arm, said in names.items()}
    points = len(next(iter(curves.values()))[0])
    losses.set_title("each asks its own question", fontsize=8)
    draw_lines(losses, [(place + 0.5) * PRETRAINING / points for place in range(points)], curves, "steps", "loss")


CLAIM = Claim(
    number="D1",
    title=Text("Both sides of a word", "단어의 양쪽"),
    statement=Text(
        "Pre-training that sees both sides of a word is better than left to right, little for texts and much where "
        "the "
        "answer stands to the right.",
        "단어의 양쪽을 보는 사전 학습이 왼쪽에서 오른쪽으로만 읽는 것보다 낫다. 텍스트 분류에서는 차이가 작고, "
        "답이 오른쪽에 있을 때는 크다.",
    ),
    paper="Devlin et al. 2018",
    year=2018,
    printed=(
        "Table 5, development sets, both directions without next sentence and left to right: MNLI 83.9 and 82.1, "
        "SST-2 92.6 and 92.1, MRPC 86.5 and 77.5, SQuAD 87.9 and 77.8",
    ),
    data=f"texts of {planted.LENGTH} of {planted.SYMBOLS} symbols; each of {planted.TOPICS} topics has its own "
    f"habit of what "
    f"follows what; {LABELLED} labelled texts for fine-tuning, {HELD_OUT} held out. Tags tell whether the next "
    f"symbol is in "
    "the upper half",
    models=("bert2018",),
    equal="model, steps, batches, texts. The masked model predicts 15 % of the tokens of a step, the other one all "
    "of them",
    metric="topics and tags right after fine-tuning with the mask of pre-training",
    refuted_by="tags are not better with both sides",
    parts=(
        Exact("both sides: words before and after reach the prediction", "both/both_sides"),
        Difference("tags right: both sides over left to right", "both/tags", "left/tags"),
        Difference("topics right: both sides over left to right", "both/topics", "left/topics"),
        Exact("left to right: no word after it reaches the prediction", "left/only_before"),
    ),
    arms={"both": partial(trial, False), "left": partial(trial, True)},
    draw=draw,
    seen=Text(
        "Tags, which the next symbol decides, are right for {both/tags:.0%} with both sides and {left/tags:.0%} "
        "from left to right, which can only guess by habit. Topics come out the other way: {both/topics:.0%} and "
        "{left/topics:.0%}. Only steps are equal: in as many of them the masked model was asked for 15 % of the "
        "tokens and the other one for all, so that this says nothing about reading itself; a run with equally many "
        "answers was not made.",
        "다음 기호가 결정하는 태그는 양쪽을 보면 {both/tags:.0%}, 왼쪽에서 오른쪽으로만 읽으면 {left/tags:.0%} "
        "맞는다. 후자는 습관으로 짐작할 수밖에 없다. 토픽은 반대로 {both/topics:.0%}와 {left/topics:.0%}이다. 같은 "
        "것은 스텝 수뿐이다. 마스크 모델은 토큰의 15 %만, 다른 모델은 모든 토큰을 예측했으므로 읽는 방향 자체에 "
        "대해서는 말해 주지 않는다. 예측한 토큰 수를 맞춘 실행은 하지 않았다.",
    ),
    minutes=0.7,
)
