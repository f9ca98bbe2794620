"""`pipeline("question-answering", ...)`, which transformers 5 dropped, for models that mark answers in a context."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from transformers import AutoModelForQuestionAnswering
from transformers.pipelines.base import ChunkPipeline

from hf_attention_zoo.tasks.pipeline_table import restore
from hf_attention_zoo.tasks.questions.examples import padded_windows, question_windows
from hf_attention_zoo.tasks.questions.span_search import CANDIDATES, MAX_ANSWER_TOKENS, best_spans, null_probability
from hf_attention_zoo.tasks.task_pipeline import TaskPipeline

LONGEST = 384


class QuestionAnsweringPipeline(TaskPipeline, ChunkPipeline):
    """A question and a context to the part of the context that answers it.

    ```python
    import hf_attention_zoo
    from transformers import pipeline

    answerer = pipeline("question-answering", model="folder")
    answerer(question="Who came?", context="It rained. Nobody came.")   # {"score", "start", "end", "answer"}
    answerer("Who came?", "It rained. Nobody came.")                     # the same
    answerer([{"question": ..., "context": ...}, ...], top_k=3)          # a list for each question
    ```

    `context[start:end]` is the answer, to the character.

    Keywords of the constructor or of a call:
        top_k: so many answers, as a list, in place of the best one.
        handle_impossible_answer: the empty answer, start and end 0, may be the best (SQuAD 2.0).
        null_threshold: by how much the score of the empty answer must exceed that of the best other one, as
            `attention-zoo evaluate` chooses it on the validation split (`null_threshold` of its results); if not
            given, that of the model's config, if it has one, or 0. Scores are probabilities after it is taken off.
        align_to_words: an answer is extended to the whole words, runs of letters and digits, that it begins and ends
            in (False). transformers 4 did so if not told otherwise; in languages without spaces it takes too much.
        doc_stride: tokens by which the windows on a long context move on (128).
        max_seq_len: tokens of a window with its question (384, or what the model has positions for).
        max_question_len: tokens of the question that count (half of a window, 64 at most).
        max_answer_len: tokens of an answer at most (30).
    """

    _load_tokenizer: Any = True
    default_input_names: Any = "question,context"

    def _sanitize_parameters(
        self,
        top_k: int | None = None,
        handle_impossible_answer: bool | None = None,
        null_threshold: float | None = None,
        align_to_words: bool | None = None,
        doc_stride: int | None = None,
        max_seq_len: int | None = None,
        max_question_len: int | None = None,
        max_answer_len: int | None = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if kwargs:
            raise ValueError(
                f"question-answering has no setting {', '.join(sorted(kwargs))}; it has top_k, doc_stride, "
                "handle_impossible_answer, null_threshold, align_to_words, max_seq_len, max_question_len and "
                "max_answer_len"
            )
        named = {
            "top_k": top_k,
            "doc_stride": doc_stride,
            "max_seq_len": max_seq_len,
            "max_question_len": max_question_len,
            "max_answer_len": max_answer_len,
        }
        for name, value in named.items():
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}; give at least 1, or leave it out")
        if null_threshold is not None and not math.isfinite(null_threshold):
            raise ValueError(f"null_threshold={null_threshold}; give a finite number, or leave it out")
        before = {name: named[name] for name in ("doc_stride", "max_seq_len", "max_question_len")}
        after = {
            "top_k": top_k,
            "max_answer_len": max_answer_len,
            "may_be_empty": handle_impossible_answer,
            "null_threshold": null_threshold,
            "align_to_words": align_to_words,
        }
        return (
            {name: value for name, value in before.items() if value is not None},
            {},
            {name: value for name, value in after.items() if value is not None},
        )

    def __call__(
        self,
        *given: Any,
        question: str | Sequence[str] | None = None,
        context: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> Any:
        """Answers to one question or to a list of them.

        Args:
            given: a mapping with "question" and "context", or a list of them, or the two as strings.
            question, context: the two by name, each a string or a list.

        Raises:
            ValueError: a question or a context is missing or empty, or there are not as many of one as of the other.
        """
        if given and (question is not None or context is not None):
            raise ValueError(
                "give the questions by name (question=, context=) or as a list of mappings, not both ways"
            )
        if given and isinstance(given[0], str):
            if len(given) > 2:
                raise ValueError(f"{len(given)} texts; give a question and a context, or lists by name")
            inputs = paired(given[0], given[1] if len(given) == 2 else None)
        else:
            inputs = given[0] if len(given) == 1 else list(given) if given else paired(question, context)
        rows = [inputs] if isinstance(inputs, Mapping) else list(inputs)
        for number, row in enumerate(rows):
            for name in ("question", "context"):
                text = row.get(name) if isinstance(row, Mapping) else None
                if not isinstance(text, str) or not text.strip():
                    raise ValueError(f"{name} {number} is {text!r:.60}; a text with something in it is wanted")
        if isinstance(inputs, Mapping):
            return super().__call__(rows[0], **settings)
        return super().__call__(rows, **settings)

    # The steps of a pipeline have arguments of their own; transformers' types ask for any keyword.

    def preprocess(  # type: ignore[override]
        self,
        row: Mapping[str, str],
        doc_stride: int = 128,
        max_seq_len: int | None = None,
        max_question_len: int | None = None,
    ) -> Any:
        """One window after the other, with what is needed to find its characters."""
        positions = getattr(self.model.config, "max_position_embeddings", None) or LONGEST
        windows = question_windows(
            self.tokenizer,
            [row["question"]],
            [row["context"]],
            max_length=min(max_seq_len or LONGEST, positions),
            stride=doc_stride,
            max_question_tokens=max_question_len,
        )
        for number, window in enumerate(windows, 1):
            yield {"window": window, "row": row, "is_last": number == len(windows)}

    def _forward(self, inputs: dict[str, Any]) -> Any:  # type: ignore[override]
        windows = inputs["window"] if isinstance(inputs["window"], list) else [inputs["window"]]
        # Padded here: a batch of transformers would be padded on the tokenizer's side.
        batch = padded_windows(self.tokenizer, [window.columns for window in windows])
        output = self.model(**batch.to(self.device))
        return {**inputs, "start": output.start_logits, "end": output.end_logits}

    def postprocess(  # type: ignore[override]
        self,
        outputs: list[dict[str, Any]],
        top_k: int | None = None,
        max_answer_len: int = MAX_ANSWER_TOKENS,
        may_be_empty: bool = False,
        null_threshold: float | None = None,
        align_to_words: bool = False,
    ) -> Any:
        """The answers of one question from all of its windows."""
        row = outputs[0]["row"]
        threshold = 0.0
        if may_be_empty:
            kept = getattr(self.model.config, "null_threshold", 0.0)
            threshold = float(kept if null_threshold is None else null_threshold)
        starts, ends = (
            [output[name].float().cpu().numpy().reshape(-1) for output in outputs] for name in ("start", "end")
        )
        spans, null = best_spans(
            [output["window"] for output in outputs],
            starts,
            ends,
            candidates=max(CANDIDATES, top_k or 1),
            max_answer_tokens=max_answer_len,
            null_threshold=threshold,
        )
        found: dict[tuple[int, int], float] = {}
        for span in spans:
            place = span.start, span.end
            place = whole_words(row["context"], *place) if align_to_words else place
            found[place] = found.get(place, 0.0) + span.probability
        answers = [
            {"score": score, "start": start, "end": end, "answer": row["context"][start:end]}
            for (start, end), score in found.items()
        ]
        if may_be_empty:
            answers.append({"score": null_probability(spans, null - threshold), "start": 0, "end": 0, "answer": ""})
        elif answers:
            total = float(np.sum([answer["score"] for answer in answers]))
            answers = [{**answer, "score": answer["score"] / total if total else 0.0} for answer in answers]
        answers.sort(key=lambda answer: -answer["score"])
        if not answers:
            raise ValueError(
                f"the context {row['context']!r:.60} gives no token, so no part of it is an answer; give a text, or "
                "allow the empty answer with handle_impossible_answer=True"
            )
        if top_k is None:
            return answers[0]
        return answers[:top_k]


def paired(question: str | Sequence[str] | None, context: str | Sequence[str] | None) -> Any:
    """Mappings of questions and contexts given by name.

    Raises:
        ValueError: one is missing, or their numbers differ.
    """
    if question is None or context is None:
        raise ValueError("give a question and a context: answerer(question=..., context=...)")
    if isinstance(question, str) and isinstance(context, str):
        return {"question": question, "context": context}
    questions = [question] * len(context) if isinstance(question, str) else list(question)
    contexts = [context] * len(questions) if isinstance(context, str) else list(context)
    if len(questions) != len(contexts):
        raise ValueError(f"{len(questions)} questions and {len(contexts)} contexts; give as many of both")
    return [{"question": one, "context": other} for one, other in zip(questions, contexts, strict=True)]


def whole_words(context: str, start: int, end: int) -> tuple[int, int]:
    """`start` and `end` of characters, moved outwards where they part letters, digits or the marks on them."""

    def parts_word(place: int) -> bool:
        return 0 < place < len(context) and all(
            unicodedata.category(character)[0] in "LMN" for character in context[place - 1 : place + 1]
        )

    while parts_word(start):
        start -= 1
    while parts_word(end):
        end += 1
    return start, end


restore("question-answering", QuestionAnsweringPipeline, AutoModelForQuestionAnswering)
