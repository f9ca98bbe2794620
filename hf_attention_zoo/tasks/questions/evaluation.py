"""Score a saved model that answers questions on a split and write metrics.json: exact match and F1 as SQuAD's."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hf_attention_zoo.evaluation.evaluation_command import (
    base_metrics,
    run_command,
)
from hf_attention_zoo.evaluation.metrics_file import rows_of_split, write_metrics, write_predictions
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.metrics.answer_scoring import answer_scores, best_null_threshold, normal_answer
from hf_attention_zoo.tasks.questions.evaluation_flags import build_parser
from hf_attention_zoo.tasks.questions.examples import padded_windows, question_windows
from hf_attention_zoo.tasks.questions.rows import load_questions
from hf_attention_zoo.tasks.questions.span_search import MAX_ANSWER_TOKENS, Span, best_spans
from hf_attention_zoo.training.scored_data import chosen_data

DEFAULT_STRIDE = 128


@dataclass(frozen=True)
class Answer:
    """The best span of a question (None where the context has no token), its text, and the empty answer's score."""

    span: Span | None
    text: str
    null: float
    others: tuple[Span, ...] = ()

    @property
    def margin(self) -> float:
        """Score of the empty answer less that of the best other one."""
        return self.null - self.span.logit if self.span is not None else float("inf")


@torch.no_grad()
def answer_questions(
    model: Any,
    tokenizer: Any,
    questions: Sequence[str],
    contexts: Sequence[str],
    *,
    batch_size: int = 16,
    stride: int = DEFAULT_STRIDE,
    max_length: int | None = None,
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
) -> list[Answer]:
    """The best answer to each question that is not empty, whatever the score of the empty one.

    Args:
        stride, max_length: see `question_windows`; as many tokens as the model has positions if not given.
    """
    longest = min(384, getattr(model.config, "max_position_embeddings", 384))
    windows = question_windows(tokenizer, questions, contexts, max_length=max_length or longest, stride=stride)
    order = sorted(range(len(windows)), key=lambda number: -len(windows[number].spans))
    logits: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for first in range(0, len(order), batch_size):
        numbers = order[first : first + batch_size]
        batch = padded_windows(tokenizer, [windows[number].columns for number in numbers])
        output = model(**batch.to(model.device))
        starts, ends = output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()
        logits.update({number: (starts[row], ends[row]) for row, number in enumerate(numbers)})
    by_question: dict[int, list[int]] = {}
    for number, window in enumerate(windows):
        by_question.setdefault(window.example, []).append(number)
    answers = []
    for question, context in enumerate(contexts):
        mine = by_question[question]
        spans, null = best_spans(
            [windows[number] for number in mine],
            [logits[number][0] for number in mine],
            [logits[number][1] for number in mine],
            max_answer_tokens=max_answer_tokens,
        )
        best = spans[0] if spans else None
        answers.append(Answer(best, context[best.start : best.end] if best else "", null, tuple(spans)))
    return answers


def score_answers(
    answers: Sequence[Answer], right: Sequence[Sequence[str]], threshold: float | None = None
) -> dict[str, float]:
    """Exact match and F1; where some questions have no answer, the empty one is given above the threshold (0)."""
    if all(right):
        return answer_scores([answer.text for answer in answers], right)
    above = 0.0 if threshold is None else threshold
    return answer_scores(["" if answer.margin > above else answer.text for answer in answers], right)


def evaluate_answerer(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    question_column: str | None = None,
    context_column: str | None = None,
    answers_column: str | None = None,
    doc_stride: int | None = None,
    max_samples: int | None = None,
    batch_size: int = 16,
    baselines: bool = True,
    output: str | Path | None = None,
    predictions: str | Path | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Answer and score the questions of a split; writes and returns the metrics.

    Where questions without answers occur, the threshold of the empty answer is chosen on the validation split, if
    there is one. The model is not changed: the pipeline takes the threshold as `null_threshold`.

    Args:
        folder: saved model with tokenizer.
        dataset, split, ...: as for `load_questions`; without a dataset those of the training are taken.
        doc_stride: see `question_windows`; as in the training, or 128.
        max_samples: score only the first questions.
        baselines: score the sentence with the most words of the question, too.
        output: file to write, by default metrics.json in the folder.
        predictions: file for the answers, a JSON line each.

    Raises:
        ValueError: no such folder, data set or split.
    """
    given = {
        "dataset": dataset,
        "dataset_config": dataset_config,
        "question_column": question_column,
        "context_column": context_column,
        "answers_column": answers_column,
        "doc_stride": doc_stride,
    }
    model, tokenizer = load_checkpoint(folder)
    chosen = chosen_data(folder, given)
    data = chosen.arguments
    splits = data.read(
        load_questions,
        question=data.question_column,
        context=data.context_column,
        answers=data.answers_column,
        needed=[split],
    )
    settings = {"batch_size": batch_size, "stride": data.doc_stride}
    splits = chosen.rows(splits)
    rows = rows_of_split(splits, split, max_samples)
    started = time.monotonic()
    answers = answer_questions(model, tokenizer, rows["question"], rows["context"], **settings)
    seconds = time.monotonic() - started
    right = list(rows["answers"])
    threshold = None
    if not all(right) and "validation" in splits and split != "validation":
        held_out = splits["validation"]
        guesses = answer_questions(model, tokenizer, held_out["question"], held_out["context"], **settings)
        threshold, _ = best_null_threshold(
            [guess.text for guess in guesses], [guess.margin for guess in guesses], list(held_out["answers"])
        )
    metrics = base_metrics("question-answering", model, chosen.name, split, len(rows), seconds, command)
    metrics["results"] |= {name: round(value, 2) for name, value in score_answers(answers, right, threshold).items()}
    if threshold is not None:
        metrics["results"]["null_threshold"] = round(threshold, 4)
    if baselines:
        guessed = [likely_sentence(q, c) for q, c in zip(rows["question"], rows["context"], strict=True)]
        metrics["baselines"]["likely_sentence"] = {
            name: round(value, 2) for name, value in answer_scores(guessed, right).items()
        }
    write_metrics(metrics, folder, output)
    entries = (
        {"id": row["id"], "question": row["question"], "answer": answer.text, "right": row["answers"]}
        for row, answer in zip(rows, answers, strict=True)
    )
    write_predictions(predictions, entries)
    return metrics


def likely_sentence(question: str, context: str) -> str:
    """The sentence of the context that shares the most words with the question: what is to be beaten."""
    asked = set(normal_answer(question).split())
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", context) if part]
    return max(sentences, key=lambda part: len(asked & set(normal_answer(part).split())), default=context)


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them."""
    results, data = metrics["results"], metrics["dataset"]
    lines = [f"{data['name']}, {data['split']} split, {data['rows']:,} questions"]
    simple = metrics["baselines"].get("likely_sentence", {})
    for name in ("exact_match", "f1", "answerable_f1", "unanswerable_f1"):
        if name in results:
            beside = f"   the likeliest sentence {simple[name]:6.2f}" if name in simple else ""
            lines.append(f"  {name:<16} {results[name]:6.2f}{beside}")
    if "null_threshold" in results:
        chosen = results["null_threshold"]
        lines.append(f"  for the pipeline: handle_impossible_answer=True, null_threshold={chosen}")
    return "\n".join(lines)


def main(argv: Sequence[str], program: str = "attention-zoo evaluate") -> int:
    """The command line. Returns the exit code."""
    return run_command(build_parser(program), evaluate_answerer, summary, argv, program)
