"""Rows of tasks whose answers are no label of a text: tags of words, spans of a context, one of several endings.

All read the same places as `load_labelled`: local files and folders by split, and data sets of the Hub. Test splits
are often given out without their answers; one that nobody needs is left out, with a warning.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from datasets import Sequence as ListOf

from hf_attention_zoo.data.columns import column_names, described_value, has_column, text_at, value_at
from hf_attention_zoo.data.record_files import canonical_split, read_rows
from hf_attention_zoo.tasks.translation.rows import DataFiles, fetch_from_hub, local_files, refuse_arguments

WORD_COLUMNS = ("tokens", "words", "text")
TAG_COLUMNS = ("tags", "ner_tags", "pos_tags", "upos", "labels", "label")
QUESTION_COLUMNS = ("question", "query")
CONTEXT_COLUMNS = ("context", "passage", "text", "sent1", "startphrase", "sentence")
ANSWER_COLUMNS = ("answers", "answer")
CHOICE_COLUMNS = ("choices", "endings", "answers")
RIGHT_COLUMNS = ("label", "labels", "answer", "right")

# What stands where the answer is not told; for a number (of a choice, of a tag) -1 does, too, as on the Hub.
UNTOLD = (None, "")
UNTOLD_NUMBER = (*UNTOLD, -1, "-1")

PlacedRow = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class TagInfo:
    """The tags of a data set in the order of their numbers."""

    names: tuple[str, ...]

    def config_fields(self) -> dict[str, Any]:
        """`num_labels`, `id2label` and `label2id` of a config."""
        return {
            "num_labels": len(self.names),
            "id2label": dict(enumerate(self.names)),
            "label2id": {name: number for number, name in enumerate(self.names)},
        }


def load_tagged(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    words: str | None = None,
    tags: str | None = None,
    tag_names: Sequence[str] | None = None,
    needed: Collection[str] = ("train",),
) -> tuple[DatasetDict, TagInfo]:
    """Words with a tag each, as a `DatasetDict` with the columns `words` and `tags` (numbers), and the tags.

    Args:
        dataset, dataset_config, data_files: as for `load_data`.
        words, tags: the columns, with a dot into nested ones; left out, they are looked for.
        tag_names: the tags in the order of their numbers; left out: those of the Hub's data set, or all that occur,
            sorted ("O" first).
        needed: splits that must have tags; others without any (column missing, empty, or nothing but -1 and empty
            tags) are left out, with a warning.

    Raises:
        ValueError: no such data or column, lists of different lengths, or a tag that is not told or not among
            `tag_names`.
    """
    sources = row_sources(dataset, dataset_config, data_files)
    listed = next(filter(None, (source.class_names(tags, TAG_COLUMNS) for source in sources.values())), None)
    read: dict[str, list[tuple[list[str], list[Any], str]]] = {
        split: [_tagged(row, words, tags, place) for place, row in rows]
        for split, rows in _answered_splits(dataset, sources, tags, TAG_COLUMNS, _untold_tags, needed, "tags")
    }
    names = list(tag_names or listed or _all_tags(read))
    number = {name: index for index, name in enumerate(names)}

    def numbered(tag: Any, place: str) -> int:
        if isinstance(tag, int) and not isinstance(tag, bool) and 0 <= tag < len(names):
            return tag
        if str(tag) not in number:
            raise ValueError(f"{place}: the tag is {tag!r}; the tags are {', '.join(names)}")
        return number[str(tag)]

    features = Features({"words": ListOf(Value("string")), "tags": ListOf(Value("int64"))})
    splits = {
        split: Dataset.from_dict(
            {
                "words": [words_read for words_read, _, _ in rows],
                "tags": [[numbered(tag, place) for tag in tags_read] for _, tags_read, place in rows],
            },
            features=features,
        )
        for split, rows in read.items()
    }
    return DatasetDict(splits), TagInfo(tuple(names))


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
        split: RowSource(lambda source=source: _without_nesting(source.rows()))
        for split, source in row_sources(dataset, dataset_config, data_files).items()
    }
    splits = {}
    for split, asked in _answered_splits(dataset, sources, answers, ANSWER_COLUMNS, _untold, needed, "answers"):
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


def load_choices(
    dataset: str | os.PathLike,
    *,
    dataset_config: str | None = None,
    data_files: DataFiles | None = None,
    context: str | None = None,
    choices: str | None = None,
    right: str | None = None,
    needed: Collection[str] = ("train",),
) -> DatasetDict:
    """Contexts with endings of which one is right: `context`, `choices` and `label` in a `DatasetDict`.

    The endings are a list in one column, or stand in columns `ending0`, `ending1`, ... as SWAG's; `right` numbers them
    from 0. What SWAG puts before every ending (`sent2`) goes there.

    Args:
        dataset, dataset_config, data_files: as for `load_data`.
        context, choices, right: the columns, with a dot into nested ones; left out, they are looked for.
        needed: splits that must say which choice is right; others that never do (column missing, empty or -1) are
            left out, with a warning.

    Raises:
        ValueError: no such data or column, a number that no ending has, or rows with different numbers of endings.
    """
    sources, what = row_sources(dataset, dataset_config, data_files), "right choices"
    splits = {}
    width = None
    for split, given in _answered_splits(dataset, sources, right, RIGHT_COLUMNS, _untold_number, needed, what):
        rows = []
        for place, row in given:
            read = _chosen(row, context, choices, right, place)
            width = width or len(read["choices"])
            if len(read["choices"]) != width:
                raise ValueError(f"{place} has {len(read['choices'])} choices, the rows before have {width}")
            rows.append(read)
        splits[split] = Dataset.from_list(rows)
    return DatasetDict(splits)


class RowSource:
    """Rows of a split, with their places; may be read again."""

    def __init__(self, rows: Callable[[], Iterator[PlacedRow]], features: Any = None) -> None:
        self.rows = rows
        self.features = features or {}

    def class_names(self, column: str | None, usual: Sequence[str]) -> list[str] | None:
        """The classes that a data set of the Hub itself lists for a column."""
        for name in (column,) if column is not None else usual:
            feature = self.features.get(name)
            feature = getattr(feature, "feature", feature)
            if isinstance(feature, ClassLabel):
                return list(feature.names)
        return None


def row_sources(
    dataset: str | os.PathLike, dataset_config: str | None, data_files: DataFiles | None
) -> dict[str, RowSource]:
    """The splits of a local data set or one of the Hub.

    Raises:
        ValueError: there is no such place.
    """
    name = os.fspath(dataset)
    files = local_files(name, data_files, None, None)
    if files is not None:
        refuse_arguments(name, "a local data set", dataset_config=dataset_config)
        return {
            split: RowSource(lambda paths=paths: (row for path in paths for row in read_rows(path)))
            for split, paths in files.items()
        }
    found = {}
    for split, data in fetch_from_hub(name, dataset_config, data_files, streaming=False).items():

        def rows(data: Any = data, split: str = split) -> Iterator[PlacedRow]:
            for number, row in enumerate(data, 1):
                yield f"row {number} of {name}, split {split}", row

        found[canonical_split(split)] = RowSource(rows, data.features)
    return found


def column_of(row: Mapping[str, Any], named: str | None, usual: Sequence[str], what: str, place: str) -> str:
    """The column that was named, or the first of the usual ones that is there.

    Raises:
        ValueError: none is; the message lists those that are.
    """
    if named is not None:
        if not has_column(row, named):
            raise ValueError(f"{place} has no column '{named}'; it has {column_names(row)}")
        return named
    for name in usual:
        if has_column(row, name):
            return name
    raise ValueError(f"{place} has no column with {what} ({', '.join(usual)}); it has {column_names(row)}; name it")


def _answered_splits(
    dataset: str | os.PathLike,
    sources: Mapping[str, RowSource],
    named: str | None,
    usual: Sequence[str],
    untold: Callable[[Any], bool],
    needed: Collection[str],
    what: str,
) -> Iterator[tuple[str, list[PlacedRow]]]:
    """The splits with their rows; those that tell no answer and are not needed are left out, with a warning.

    Args:
        named, usual: the column of the answers, as for `column_of`.
        untold: whether this stands where an answer is not told.

    Raises:
        ValueError: a split has no rows, or none has answers.
    """
    columns = usual if named is None else (named,)
    read, rows = 0, []
    for split, source in sources.items():
        rows = list(source.rows())
        if not rows:
            raise ValueError(f"{dataset}, split {split}: no rows")
        if split in needed or not all(untold(_first_of(row, columns)) for _, row in rows):
            read += 1
            yield split, rows
        else:
            warnings.warn(f"{dataset}, split {split}: left out, its rows have no {what}", UserWarning, stacklevel=3)
    if not read:
        raise ValueError(
            f"{dataset} has no {what} in a column {', '.join(columns)}; its rows have {column_names(rows[0][1])}"
        )


def _first_of(row: Mapping[str, Any], columns: Sequence[str]) -> Any:
    """What the first of the columns that is there holds; None without one."""
    return next((value_at(row, name, "") for name in columns if has_column(row, name)), None)


def _untold(answer: Any) -> bool:
    return answer in UNTOLD


def _untold_number(answer: Any) -> bool:
    return answer in UNTOLD_NUMBER


def _untold_tags(tags: Any) -> bool:
    """Whether none of the tags of a row is told; there may be none."""
    tags = _parted(tags)
    return all(map(_untold_number, tags)) if isinstance(tags, list | tuple) else _untold_number(tags)


def _parted(given: Any) -> Any:
    """A text as the list of what stands between white space; anything else as it is."""
    return given.split() if isinstance(given, str) else given


def _tagged(row: Mapping[str, Any], words: str | None, tags: str | None, place: str) -> tuple[list[str], list, str]:
    word_column = column_of(row, words, WORD_COLUMNS, "words", place)
    tag_column = column_of(row, tags, TAG_COLUMNS, "tags", place)
    found, marks = (_parted(value_at(row, column, place)) for column in (word_column, tag_column))
    if not isinstance(found, list | tuple) or not all(isinstance(word, str) for word in found):
        raise ValueError(f"{place}: column '{word_column}' holds {described_value(found)}; a list of words is wanted")
    if not isinstance(marks, list | tuple) or len(marks) != len(found):
        raise ValueError(
            f"{place}: {len(found)} words in '{word_column}' and {described_value(marks)} in '{tag_column}'; a tag "
            "for each word is wanted"
        )
    for word, mark in zip(found, marks, strict=True):
        if mark in (*UNTOLD, -1):
            raise ValueError(
                f"{place}: the tag of {word!r} is {mark!r}, which says that it is not told; name a split whose tags "
                "are, or give each word a tag"
            )
    return list(found), list(marks), place


def _all_tags(read: Mapping[str, list[tuple[list[str], list[Any], str]]]) -> list[str]:
    seen = {tag for rows in read.values() for _, tags, _ in rows for tag in tags}
    if all(isinstance(tag, int) for tag in seen):
        return [str(number) for number in range(max(seen) + 1)]
    return sorted(map(str, seen), key=lambda tag: (tag != "O", tag))


def _without_nesting(rows: Iterator[PlacedRow]) -> Iterator[PlacedRow]:
    """The questions of rows: a row itself, or all of a file in SQuAD's nesting of articles and paragraphs."""
    for place, row in rows:
        articles = row.get("data")
        if not isinstance(articles, list):
            yield place, row
            continue
        for article in articles:
            for paragraph in article["paragraphs"]:
                for asked in paragraph["qas"]:
                    told = {"answers": []} if asked.get("is_impossible") else {}
                    yield (
                        f"{place}, question {asked.get('id')!r}",
                        {**asked, "context": paragraph["context"], **told},
                    )


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


def _chosen(
    row: Mapping[str, Any], context: str | None, choices: str | None, right: str | None, place: str
) -> dict[str, Any]:
    text = text_at(row, column_of(row, context, CONTEXT_COLUMNS, "the context", place), place)
    if choices is None and has_column(row, "ending0"):
        numbered = sorted(name for name in row if name.startswith("ending") and name[6:].isdigit())
        before = str(row.get("sent2") or "")
        endings = [f"{before} {text_at(row, name, place)}".strip() for name in numbered]
    else:
        endings = value_at(row, column_of(row, choices, CHOICE_COLUMNS, "the choices", place), place)
    if (
        not isinstance(endings, list | tuple)
        or len(endings) < 2
        or not all(isinstance(ending, str) for ending in endings)
    ):
        raise ValueError(f"{place}: the choices are {described_value(endings)}; a list of two texts or more is wanted")
    label = value_at(row, column_of(row, right, RIGHT_COLUMNS, "the right choice", place), place)
    if isinstance(label, str) and label.isdigit():
        label = int(label)
    if _untold_number(label):
        raise ValueError(
            f"{place}: the right choice is {label!r}, which says that it is not told; name a split whose right "
            f"choices are, or give a number from 0 to {len(endings) - 1}"
        )
    if not isinstance(label, int) or isinstance(label, bool) or not 0 <= label < len(endings):
        raise ValueError(f"{place}: the right choice is {label!r}; a number from 0 to {len(endings) - 1} is wanted")
    if not text.strip():
        warnings.warn(f"{place}: the context is empty", UserWarning, stacklevel=3)
    return {"context": text, "choices": list(endings), "label": label}
