"""`pipeline("question-answering")`: strings, lists, batches, long contexts, the empty answer, bad input."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import pipeline

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.questions.evaluation import answer_questions
from hf_attention_zoo.tasks.questions.pipeline import whole_words

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


def test_the_empty_answer_is_given_above_the_threshold_of_the_call_or_of_the_config(
    answerer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scored,) = answer_questions(answerer.model, answerer.tokenizer, [QUESTIONS[1]], [CONTEXT], max_length=48)
    call = {"question": QUESTIONS[1], "context": CONTEXT, "handle_impossible_answer": True}
    for threshold, text in ((scored.margin - 0.1, ""), (scored.margin + 0.1, scored.text)):
        found = answerer(**call, null_threshold=threshold, top_k=9999)
        assert found[0]["answer"] == text and sum(one["score"] for one in found) == pytest.approx(1.0)
        assert answerer(**{**call, "handle_impossible_answer": False}, null_threshold=threshold)["answer"]
        monkeypatch.setattr(answerer.model.config, "null_threshold", threshold, raising=False)
        assert answerer(**call, top_k=9999) == found
        assert answerer(**call, null_threshold=0.0)["answer"] == ("" if scored.margin > 0 else scored.text)


def test_two_strings_are_a_question_and_a_context(answerer: Any) -> None:
    assert answerer(QUESTIONS[0], CONTEXT) == answerer(question=QUESTIONS[0], context=CONTEXT)


@pytest.mark.parametrize(
    ("place", "whole"), [((1, 2), (0, 4)), ((4, 5), (4, 5)), ((6, 7), (5, 8)), ((6, 11), (5, 12)), ((0, 4), (0, 4))]
)
def test_answers_are_extended_to_whole_words(place: tuple[int, int], whole: tuple[int, int]) -> None:
    assert whole_words("Anna सते 2nd", *place) == whole


def test_extended_answers_are_whole_words_and_keep_their_scores(answerer: Any) -> None:
    context = CONTEXT.replace("dog", "doges")
    words = set(re.findall(r"\w+|[^\w ]", context))
    found = answerer(question=QUESTIONS[0], context=context, align_to_words=True, top_k=9999, max_answer_len=1)
    assert sum(one["score"] for one in found) == pytest.approx(1.0)
    assert len({(one["start"], one["end"]) for one in found}) == len(found)
    assert all(one["answer"] == context[one["start"] : one["end"]] in words for one in found)
    pieces = answerer(question=QUESTIONS[0], context=context, top_k=9999, max_answer_len=1)
    assert not {one["answer"] for one in pieces} <= words


def test_a_question_as_long_as_the_window_leaves_half_of_it_to_the_context(answerer: Any) -> None:
    found = answerer(question=QUESTIONS[0] * 20, context=CONTEXT)
    assert found["answer"]
    (scored,) = answer_questions(answerer.model, answerer.tokenizer, [QUESTIONS[0] * 20], [CONTEXT])
    assert (found["start"], found["end"]) == (scored.span.start, scored.span.end)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda answerer: answerer("who ?"), "give a question and a context"),
        (lambda answerer: answerer("who ?", "a", "b"), "3 texts; give a question and a context"),
        (lambda answerer: answerer("a", "b", null_threshold=float("nan")), "null_threshold=nan"),
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
