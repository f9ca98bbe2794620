"""load_data on data sets of the Hub, the download replaced: columns, types, empty rows, and failing to get there."""

import datasets
import pytest
from datasets import Dataset, DatasetDict, Features, Value
from datasets.exceptions import DatasetNotFoundError

from hf_attention_zoo.tasks.translation.rows import load_data

PAIRS = [{"de": "Hallo Welt", "en": "Hello world"}, {"de": "", "en": "empty"}, {"de": "ja", "en": "yes of course"}]


def fail_with(monkeypatch, error):
    def load_dataset(*_, **__):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_translation_column_is_read_and_empty_rows_are_counted(served, streaming):
    feature = datasets.Translation(languages=["de", "en"])
    rows = Dataset.from_dict(
        {"translation": PAIRS, "n": [1, 2, 3]}, Features({"translation": feature, "n": Value("int64")})
    )
    calls = served(DatasetDict({"train": rows, "dev": rows}))
    with pytest.warns(UserWarning, match=r"owner/pairs, split .*dropped 1 of 3 rows .*first: row 2"):
        data = load_data("owner/pairs", dataset_config="de-en", source_lang="en", streaming=streaming)
        found = {split: list(part) for split, part in data.items()}
    assert calls == [("owner/pairs", "de-en", streaming)]
    expected = [{"source": pair["en"], "target": pair["de"]} for pair in (PAIRS[0], PAIRS[2])]
    assert found == {"train": expected, "validation": expected}


@pytest.mark.parametrize("streaming", [False, True])
def test_max_words_splits_and_columns_hold_for_the_hub(served, streaming):
    rows = Dataset.from_dict({"a": ["x y", "x y z"], "b": ["u", "v"], "id": [5, 6]})
    served(DatasetDict({"train": rows, "test": rows}))
    columns = {"source": "a", "target": "b", "id": "id"}
    data = load_data("owner/pairs", columns=columns, max_words=2, splits=["test"], streaming=streaming)
    assert {split: list(part) for split, part in data.items()} == {
        "test": [{"id": "5", "source": "x y", "target": "u"}]
    }
    with pytest.raises(ValueError, match="has no split 'validation'; it has train, test"):
        load_data("owner/pairs", columns=columns, splits=["validation"], streaming=streaming)


@pytest.mark.parametrize("streaming", [False, True])
def test_wrong_types_and_missing_columns_are_named(served, streaming):
    served(DatasetDict({"train": Dataset.from_dict({"source": ["a", None], "target": ["b", "c"], "n": [1, 2]})}))
    with pytest.raises(ValueError, match=r"row 2 of owner/pairs, split train: column 'source' holds nothing"):
        list(load_data("owner/pairs", streaming=streaming)["train"])
    with pytest.raises(ValueError, match=r"column 'n' holds a number"):
        list(load_data("owner/pairs", columns={"source": "source", "target": "n"}, streaming=streaming)["train"])
    with pytest.raises(ValueError, match=r"no column 'm'; it has \['source', 'target', 'n'\]"):
        load_data("owner/pairs", columns={"source": "source", "target": "m"}, streaming=streaming)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_split_without_rows_is_an_error(served, streaming):
    served(DatasetDict({"train": Dataset.from_dict({"source": [], "target": []})}))
    with pytest.raises(ValueError, match="split train: no rows"):
        load_data("owner/pairs", streaming=streaming)


def test_offline_says_what_to_do():
    with pytest.raises(ConnectionError, match=r"HF_HUB_OFFLINE is set.*unset HF_HUB_OFFLINE.*translation_de_en"):
        load_data("owner/data-set-that-is-not-cached")


def test_no_network_says_what_to_do(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    fail_with(monkeypatch, ConnectionError("no route"))
    with pytest.raises(ConnectionError, match=r"the Hub cannot be reached.*pass their folder.*no route"):
        load_data("owner/pairs")


def test_an_unknown_id_says_where_was_looked(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    fail_with(monkeypatch, DatasetNotFoundError("not there"))
    with pytest.raises(ValueError, match=r"no embedded sample \(translation_emoji_names.*no file or folder"):
        load_data("owner/pairs")


def test_an_open_configuration_points_to_the_argument(monkeypatch):
    fail_with(monkeypatch, ValueError("Config name is missing"))
    with pytest.raises(ValueError, match="choose one with dataset_config=: Config name is missing"):
        load_data("owner/pairs")
