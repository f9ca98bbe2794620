"""A row that is thousands of times longer than the others is said."""

from types import SimpleNamespace

import pytest
from datasets import Dataset

from hf_attention_zoo.data.long_rows import characters_of, said_of_long_rows

LONG = "a" * 60_000


@pytest.mark.parametrize(
    "columns",
    [
        {"source": ["some words"] * 4 + [LONG], "target": ["others"] * 5},
        {"text": ["some words"] * 4 + [LONG], "label": [0, 1, 0, 1, 1]},
        {"text": [["some words", "and more"]] * 4 + [["short", LONG]], "label": [0.5] * 5},
        {"words": [["some", "words"]] * 4 + [["a"] * 60_000], "tags": [[0, 1]] * 5},
        {"question": ["which?"] * 5, "context": ["some words"] * 4 + [LONG]},
        {"context": ["some"] * 5, "choices": [["a", "b"]] * 4 + [["a", LONG]]},
    ],
)
def test_a_row_far_longer_than_the_others_is_said_with_its_number(columns: dict) -> None:
    rows = Dataset.from_dict(columns)
    said = said_of_long_rows(rows, "training")
    assert said is not None and said.startswith("row 5 of the training rows has 60,0")
    chosen = said_of_long_rows(rows.select([4, 0, 1]), "training")
    assert chosen is not None and chosen.startswith("row 1 of")
    assert said_of_long_rows(rows.select(range(4)), "training") is None


def test_captions_are_counted_and_streams_are_not() -> None:
    captions = SimpleNamespace(captions=[["a cat", "a dog"]] * 3 + [["a", LONG]])
    assert said_of_long_rows(captions, "validation").startswith("row 4 of the validation rows")
    assert characters_of(iter(())) is None and said_of_long_rows(None, "training") is None


def test_rows_of_many_lengths_are_no_matter() -> None:
    assert said_of_long_rows(Dataset.from_dict({"text": ["a" * 2**n for n in range(12)]}), "training") is None
    both = said_of_long_rows(Dataset.from_dict({"text": ["ab"] * 9 + [LONG, LONG]}), "training")
    assert "(1 more are like it)" in both
