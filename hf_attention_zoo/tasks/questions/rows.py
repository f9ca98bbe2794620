"""Questions on contexts and the places of their answers, from local files and data sets of the Hub."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from datasets import Dataset, DatasetDict, Features, Value
from datasets import Sequence as ListOf

from hf_attention_zoo.data.answer_rows import (
    CONTEXT_COLUMNS,
    PlacedRow,
    RowSource,
    answered_splits,
    column_of,
    row_sources,
    untold,
)
from hf_attention_zoo.data.columns import described_value, text_at, value_at
from hf_attention_zoo.data.sources import DataFiles

QUESTION_COLUMNS = ("question", "query")


ANSWER_COLUMNS = ("answers", "answer")


def load_questions(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    question: str | None = None,
    context: str | None = None,
    answers: str | None = None,
    needed: Collection[str] = ("train",),
) -> DatasetDict:
    """Questions on contexts: `id`, `question`, `context`, `answers` and `starts`, their first characters.

    A row is a question, its answers `{"text": [...], "answer_start": [...]}`, or a list of `{"text", "answer_start"}`,
    or one of these; or it is a whole file in SQuAD's own nesting. A question without answers has none in its context
    (SQuAD 2.0), nor has one whose answers are empty texts. Rows without a question or a context (null or blank) are
    dropped, with a warning that counts them; their answers are not looked at.

    Args:
        dataset, dataset_config, data_files: as for `load_data`.
        question, context, answers: the columns, with a dot into nested ones; left out, they are looked for.
        needed: splits whose answers must be told; others that tell none are left out, with a warning.

    Raises:
        ValueError: no such data or column, or an answer that does not stand where it is said to stand.
    """
    sources = {
        split: RowSource(partial(_rows_without_nesting, source))
        for split, source in row_sources(dataset, dataset_config, data_files).items()
    }
    splits = {}
    for split, asked in answered_splits(dataset, sources, answers, ANSWER_COLUMNS, untold, needed, "answers"):
        rows, empty = [], []
        for place, given in asked:
            row = _asked(given, question, context, answers, place)
            if row is None:
                empty.append(place)
            else:
                rows.append(row)
        if not rows:
            raise ValueError(f"{dataset}, split {split}: no row has both a question and a context")
        if empty:
            warnings.warn(
                f"{dataset}, split {split}: dropped {len(empty)} of {len(asked)} rows without a question or a context "
                f"(first: {empty[0]})",
                UserWarning,
                stacklevel=2,
            )
        for number, row in enumerate(rows):
            row["id"] = row["id"] or f"{split}-{number}"
        splits[split] = Dataset.from_list(
            rows,
            features=Features(
                {
                    "id": Value("string"),
                    "question": Value("string"),
                    "context": Value("string"),
                    "answers": ListOf(Value("string")),
                    "starts": ListOf(Value("int64")),
                }
            ),
        )
    return DatasetDict(splits)


def _without_nesting(rows: Iterator[PlacedRow]) -> Iterator[PlacedRow]:
    """The questions of rows: a row itself, or all of a file in the nesting of SQuAD (1, 2, KorQuAD 1) or KorQuAD 2.

    SQuAD has articles with paragraphs with questions; in KorQuAD 2 an article is one long context.

    Raises:
        ValueError: another nesting, such as CoQA's, whose questions are answered from those before them.
    """
    for place, row in rows:
        articles = row.get("data")
        if not isinstance(articles, list):
            yield place, row
            continue
        for number, article in enumerate(articles, 1):
            for paragraph in _parts(article, "paragraphs", f"{place}, article {number}", others=[article]):
                for asked in _parts(paragraph, "qas", f"{place}, article {number}"):
                    told: dict[str, Any] = {"answers": []} if asked.get("is_impossible") else {}
                    yield (
                        f"{place}, question {asked.get('id')!r}",
                        {**asked, "context": paragraph["context"], **told},
                    )


def _rows_without_nesting(source: RowSource) -> Iterator[PlacedRow]:
    return _without_nesting(source.rows())


def _parts(whole: Any, name: str, place: str, others: list[Any] | None = None) -> list[Any]:
    """The list of that name in a nested file; `others` where a text and its questions stand in the place of it.

    Raises:
        ValueError: there is no such list, or its parts are no objects.
    """
    found = whole.get(name) if isinstance(whole, Mapping) else None
    if found is None and others is not None and isinstance(whole, Mapping) and {"context", "qas"} <= set(whole):
        return others
    needs_context = name == "qas" and isinstance(whole, Mapping) and not isinstance(whole.get("context"), str)
    if not isinstance(found, list) or not all(isinstance(part, Mapping) for part in found) or needs_context:
        holds = ", ".join(map(str, whole)) if isinstance(whole, Mapping) else described_value(whole)
        kind = "; CoQA's dialogues are no questions on a text alone" if "story" in holds else ""
        raise ValueError(
            f"{place} holds {holds}, not the paragraphs with context and qas of SQuAD{kind}; write a JSON line for "
            'each question: {"question": ..., "context": ..., "answers": {"text": [...], "answer_start": [...]}}'
        )
    return found


def _asked(
    row: Mapping[str, Any], question: str | None, context: str | None, answers: str | None, place: str
) -> dict[str, Any] | None:
    """A question with its context and answers; None if it or its context is empty."""
    asked = _text_or_none(row, column_of(row, question, QUESTION_COLUMNS, "the question", place), place)
    text = _text_or_none(row, column_of(row, context, CONTEXT_COLUMNS, "the context", place), place)
    if asked is None or text is None:
        return None
    given = value_at(row, column_of(row, answers, ANSWER_COLUMNS, "the answers", place), place)
    texts, starts = _answers(given, place)
    for answer, start in zip(texts, starts, strict=True):
        if text[start : start + len(answer)] != answer:
            raise ValueError(
                f"{place}: the answer {answer!r} does not stand at character {start} of the context, where "
                f"{text[start : start + len(answer)]!r} stands"
            )
    name = row.get("id")
    return {
        "id": "" if name is None else str(name),
        "question": asked,
        "context": text,
        "answers": texts,
        "starts": starts,
    }


def _text_or_none(row: Mapping[str, Any], column: str, place: str) -> str | None:
    """The text of a column; None if it holds null or white space."""
    text = "" if value_at(row, column, place) is None else text_at(row, column, place)
    return text if text.strip() else None


def _answers(given: Any, place: str) -> tuple[list[str], list[int]]:
    """The answers of a question and their first characters, from any of the forms that `load_questions` reads.

    An answer of empty text is none, whatever its first character is.

    Raises:
        ValueError: it is none of these forms.
    """
    texts, starts = None, None
    if isinstance(given, Mapping):
        texts, starts = given.get("text", []), given.get("answer_start", [])
        if isinstance(texts, str):
            texts, starts = [texts], [starts]
    elif given is None or isinstance(given, list | tuple):
        ones = [one if isinstance(one, Mapping) else {} for one in given or []]
        texts, starts = [one.get("text") for one in ones], [one.get("answer_start") for one in ones]
    if (
        not isinstance(texts, list | tuple)
        or not isinstance(starts, list | tuple)
        or len(texts) != len(starts)
        or not all(isinstance(text, str) for text in texts)
        or not all(
            (type(start) is int and start >= 0) or not text.strip() for text, start in zip(texts, starts, strict=True)
        )
    ):
        raise ValueError(
            f'{place}: the answers are {described_value(given)} and not {{"text": [...], "answer_start": [...]}} with '
            "as many texts as numbers of their first characters, or a list with a text and a number for each answer"
        )
    told = [index for index, text in enumerate(texts) if text.strip()]
    return [texts[index] for index in told], [starts[index] for index in told]
