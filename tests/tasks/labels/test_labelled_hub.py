"""load_labelled on data sets of the Hub, the download replaced: class names, columns, and rows without a label."""

import datasets
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from hf_attention_zoo.tasks.labels.rows import load_labelled


@pytest.fixture
def rows(monkeypatch) -> Dataset:
    features = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"]), "n": Value("int64")})
    made = Dataset.from_dict({"text": ["a b", "c", "", "d"], "label": [1, 0, 1, 0], "n": [1, 2, 3, 4]}, features)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: DatasetDict({"train": made, "dev": made}))
    return made


def test_the_data_sets_own_class_names_are_the_labels(rows: Dataset) -> None:
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        splits, info = load_labelled("owner/reviews")
    assert list(info.names) == ["neg", "pos"] and set(splits) == {"train", "validation"}
    assert (splits["train"]["text"], splits["train"]["label"]) == (["a b", "c", "d"], [1, 0, 0])


def test_numbers_of_another_column_are_read(rows: Dataset) -> None:
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        splits, info = load_labelled("owner/reviews", columns={"label": "n"}, problem_type="regression")
    assert info.problem_type == "regression" and splits["train"]["label"] == [1.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="owner/reviews"):
        load_labelled("owner/reviews", columns={"label": "stars"})
