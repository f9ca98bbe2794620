"""The held-out rows that a card shows, chosen by rule: the first that the model gets right, and two that it does not.

The rows of the validation split are taken in an order that a seed draws, those of too many words left out, until one
is right and two are wrong. What was found stands in `judged.json`, beside the pictures of models that see; the right
one is the card's example.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.evaluation.judged_rows import HeldOut, JudgedRow
from hf_attention_zoo.folders.card_text import one_line, table
from hf_attention_zoo.folders.written_files import note_files
from hf_attention_zoo.tasks.table import task_for
from hf_attention_zoo.whole_files import write_json

JUDGED_FILE = "judged.json"
WRONG = 2  # that are shown
AT_ONCE = 16
PICTURES = ("example.png", "wrong-1.png", "wrong-2.png")


def drawn_order(rows: int, seed: int) -> list[int]:
    """The numbers of the rows in the order in which they are looked at."""
    return random.Random(seed).sample(range(rows), rows)


def choose_examples(
    folder: str | Path, *, split: str = "validation", dataset: str | None = None, seed: int = 0
) -> dict[str, Any] | None:
    """Ask the model for held-out rows until a right and two wrong ones are found; writes and returns what was found.

    Args:
        split: of the data; not the one that is scored.
        dataset: where the data lie; default: those of the training.
        seed: of the order of the rows.

    Returns:
        What `judged.json` holds; None, and no file, for a model whose answers are neither right nor wrong.

    Raises:
        ValueError: no such folder, data set or split.
    """
    folder = Path(folder)
    task = task_for(folder)
    held_out = task.held_out(folder, split=split, dataset=dataset)
    if held_out is None:
        return None
    fewest, most = task.card.example_words
    right, wrong, judged = first_ones(held_out, fewest, most, drawn_order(len(held_out.words), seed))
    for name in PICTURES:
        (folder / name).unlink(missing_ok=True)
    record = {
        "split": split,
        "rows": len(held_out.words),
        "seed": seed,
        "words": [fewest, most],
        "judged": judged,
        "right": None if right is None else entry(folder, PICTURES[0], *right),
        "wrong": [entry(folder, name, *row) for name, row in zip(PICTURES[1:], wrong, strict=False)],
    }
    write_json(folder / JUDGED_FILE, record)
    note_files(folder, JUDGED_FILE, *(name for name in PICTURES if (folder / name).is_file()))
    return record


def first_ones(
    held_out: HeldOut, fewest: int, most: int, order: Sequence[int]
) -> tuple[tuple[int, JudgedRow] | None, list[tuple[int, JudgedRow]], int]:
    """The first right row (of at least `fewest` words, if there is one), the first wrong ones, how many were asked.

    Rows of more than `most` words are passed over.
    """
    short = [row for row in order if held_out.words[row] <= most]
    right: list[tuple[int, JudgedRow]] = []
    wrong: list[tuple[int, JudgedRow]] = []
    long_enough = None
    asked = 0
    for start in range(0, len(short), AT_ONCE):
        rows = short[start : start + AT_ONCE]
        asked += len(rows)
        for row, judged in zip(rows, held_out.judge(rows), strict=True):
            if judged.right is not None:
                (right if judged.right else wrong).append((row, judged))
        long_enough = next((found for found in right if held_out.words[found[0]] >= fewest), None)
        if long_enough is not None and len(wrong) >= WRONG:
            break
    return long_enough or next(iter(right), None), wrong[:WRONG], asked


def entry(folder: Path, picture: str, row: int, judged: JudgedRow) -> dict[str, Any]:
    """One row as `judged.json` has it; its picture is saved under the name `picture`."""
    found: dict[str, Any] = {"row": row, "given": judged.given}
    if judged.picture is not None:
        judged.picture.save(folder / picture)
        found["given"] = picture
    if judged.pair is not None:
        found["pair"] = judged.pair
    return {**found, "said": judged.said, "expected": judged.expected}


def right_and_wrong(record: Mapping[str, Any], right_means: str) -> str:
    """The section of a card; nothing without a record.

    Args:
        right_means: what makes an answer right, in words.
    """
    if not record:
        return ""
    right, wrong = record.get("right"), record.get("wrong") or []
    fewest, most = record["words"]
    said = (
        f"Rows of the {record['split']} split, in an order drawn with seed {record['seed']}: the first of {fewest} to "
        f"{most} words that the model gets right, which is the example of this card, and the first {WRONG} of at most "
        f"{most} words that it gets wrong. Right means that {right_means}."
    )
    if right is None:
        said += f" None of the {record['judged']:,} rows that are short enough is right."
    if len(wrong) < WRONG:
        some = "none is" if not wrong else "no other is"
        said += f" Of the {record['judged']:,} rows that are short enough {some} wrong."
    rows = [
        [verdict, shown(one["given"]), *([one["pair"]] if "pair" in one else []), one["said"], one["expected"]]
        for verdict, one in [("right", right), *(("wrong", one) for one in wrong)]
        if one is not None
    ]
    head = ["", "given", *(["and"] if any(len(row) == 5 for row in rows) else []), "the model says", "the data say"]
    return "\n\n".join(["## Right and wrong", said, *([table(head, rows)] if rows else [])])


def shown(given: str) -> str:
    """What was given, in a cell of a table: a text, or the picture of this name."""
    return f"![a held-out picture]({given})" if given in PICTURES else one_line(given)
