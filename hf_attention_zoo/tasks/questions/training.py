"""Training of models that answer questions by a span of a context (Devlin et al. 2018, Sections 4.2 and 4.3)."""

from __future__ import annotations

from functools import partial
from typing import Any

from datasets import Dataset

from hf_attention_zoo.data.text_encoding import LENGTH, row_limit, symbols_as_text
from hf_attention_zoo.tasks.questions.evaluation import answer_questions, score_answers
from hf_attention_zoo.tasks.questions.examples import answer_positions, padded_windows, question_windows
from hf_attention_zoo.tasks.questions.rows import load_questions
from hf_attention_zoo.training.fine_tuned_task import FineTunedTask
from hf_attention_zoo.training.split_choice import needed_splits

LONGEST = 384


class QuestionTask(FineTunedTask):
    """Questions with windows on contexts; windows without the answer, and questions without one, point at [CLS]."""

    auto_class = "AutoModelForQuestionAnswering"
    rows_said = "questions"
    shown = ("exact_match", "f1")
    metrics = ("f1", "exact_match")

    def splits(self) -> Any:
        data = self.plan.data
        return data.read(
            load_questions,
            question=data.question_column,
            context=data.context_column,
            answers=data.answers_column,
            needed=needed_splits(data, self.plan.training),
        )

    def measures(self, validation: Dataset) -> tuple[str, ...]:
        kinds = {bool(answers) for answers in validation["answers"]}
        return (*self.metrics, "answerable_f1", "unanswerable_f1") if len(kinds) == 2 else self.metrics

    def texts(self, rows: Dataset) -> Any:
        return (text for row in rows for text in (row["question"], row["context"]))

    def prepare_model(self, model: Any, tokenizer: Any, rows: Any) -> None:
        super().prepare_model(model, tokenizer, rows)
        self.longest = min(LONGEST, row_limit(tokenizer) or LONGEST)

    def encoded(self, rows: Dataset, tokenizer: Any) -> Dataset:
        windows = question_windows(
            symbols_as_text(tokenizer),
            rows["question"],
            rows["context"],
            max_length=self.longest,
            stride=self.plan.data.doc_stride,
        )
        answers, starts = list(rows["answers"]), list(rows["starts"])
        features = []
        for window in windows:
            first, last = 0, 0
            if answers[window.example]:
                start = starts[window.example][0]
                first, last = answer_positions(window, start, start + len(answers[window.example][0]))
            features.append(
                {**window.columns, "start_positions": first, "end_positions": last, LENGTH: len(window.spans)}
            )
        return Dataset.from_list(features)

    def collator(self, tokenizer: Any) -> Any:
        return partial(padded_windows, tokenizer)

    def scores(self, model: Any, tokenizer: Any, rows: Dataset, batch_size: int) -> dict[str, float]:
        answers = answer_questions(
            model,
            symbols_as_text(tokenizer),
            rows["question"],
            rows["context"],
            batch_size=batch_size,
            stride=self.plan.data.doc_stride,
        )
        return score_answers(answers, list(rows["answers"]))
