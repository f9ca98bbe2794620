"""`pipeline("question-answering")`: strings, lists, batches, long contexts, the empty answer, bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline

from hf_attention_zoo.evaluation.question_evaluation import answer_questions
from hf_attention_zoo.registry import get_architecture

CONTEXT = "Anna sees the dog. Bert hunts the cat. Carla likes the horse. " * 3 + "서울은 한국의 수도이다."
QUESTIONS = ["who sees the dog ?", "who hunts the cat ?", "서울은 ?"]


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("answerer")
    row = get_architecture("bert2018")
    tokenizer = row.tokenizer_class.train([CONTEXT, *QUESTIONS] * 3, vocab_size=120)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    config = row.config_class(vocab_size=len(tokenizer), max_position_embeddings=48, **sizes)
    model = row.model_classes["AutoModelForQuestionAnswering"](config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return pipeline("question-answering", model=str(folder), device="cpu")


def test_an_answer_is_a_part_of_the_context(answerer: Any) -> None:
    found = answerer(question=QUESTIONS[0], context=CONTEXT, doc_stride=10)
    assert set(found) == {"score", "start", "end", "answer"}
    assert CONTEXT[found["start"] : found["end"]] == found["answer"] and 0 < found["score"] <= 1


def test_lists_and_batches_give_what_single_questions_give(answerer: Any) -> None:
    rows = [{"question": question, "context": CONTEXT[: 60 + 40 * n]} for n, question in enumerate(QUESTIONS)]
    alone = [answerer(row, doc_stride=10) for row in rows]
    for found in (answerer(rows, doc_stride=10), answerer(rows, batch_size=3, doc_stride=10)):
        assert [one["answer"] for one in found] == [one["answer"] for one in alone]
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in alone], rel=1e-4)
    named = answerer(question=QUESTIONS, context=CONTEXT)
    assert len(named) == 3


def test_several_answers_and_the_empty_one(answerer: Any) -> None:
    several = answerer(question=QUESTIONS[1], context=CONTEXT, top_k=4, max_answer_len=3)
    assert len(several) == 4 and several == sorted(several, key=lambda one: -one["score"])
    all_of_them = answerer(question=QUESTIONS[1], context=CONTEXT, top_k=9999, handle_impossible_answer=True)
    assert sum(one["score"] for one in all_of_them) == pytest.approx(1.0)
    assert next(one for one in all_of_them if not one["answer"])["end"] == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda answerer: answerer(question="who ?"), "give a question and a context"),
        (lambda answerer: answerer({"question": " ", "context": "a"}), "question 0 is"),
        (lambda answerer: answerer(question=["a", "b"], context=["c"]), "2 questions and 1 contexts"),
        (lambda answerer: answerer(question="a", context="b", top_k=0), "top_k=0"),
        (lambda answerer: answerer(question="a", context="b", stride=3), "no setting stride"),
    ],
)
def test_bad_input_says_what_is_wanted(answerer: Any, call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(answerer)


def test_the_name_of_our_own_works_too(answerer: Any, tmp_path: Path) -> None:
    answerer.model.save_pretrained(tmp_path)
    answerer.tokenizer.save_pretrained(tmp_path)
    again = pipeline("zoo-question-answering", model=str(tmp_path))
    found = again(question=QUESTIONS[0], context=CONTEXT)
    assert json.dumps(found) == json.dumps(answerer(question=QUESTIONS[0], context=CONTEXT))


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_side_of_pads_changes_no_answer(answerer: Any, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"question": question, "context": CONTEXT[: 20 + 40 * n]} for n, question in enumerate(QUESTIONS)]
    alone = [answerer(row, doc_stride=10) for row in rows]
    monkeypatch.setattr(answerer.tokenizer, "padding_side", side)
    batched = answerer(rows, batch_size=3, doc_stride=10)
    questions, contexts = zip(*((row["question"], row["context"]) for row in rows), strict=True)
    scored = answer_questions(
        answerer.model, answerer.tokenizer, questions, contexts, batch_size=8, stride=10, max_length=48
    )
    for one, found, answer in zip(alone, batched, scored, strict=True):
        assert (found["start"], found["end"]) == (one["start"], one["end"]) == (answer.span.start, answer.span.end)
        assert found["score"] == pytest.approx(one["score"], rel=1e-4)


def test_a_context_without_tokens_is_named(answerer: Any) -> None:
    call = {"question": QUESTIONS[0], "context": "\u200b\u200b"}
    with pytest.raises(ValueError, match=r"the context '\\u200b\\u200b' gives no token"):
        answerer(call)
    assert answerer(call, handle_impossible_answer=True)["answer"] == ""
