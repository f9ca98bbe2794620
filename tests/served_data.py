"""The Hub as these tests see it: its download replaced."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict


def streamed(rows: Dataset) -> IterableDataset:
    if len(rows):
        return rows.to_iterable_dataset()
    return IterableDataset.from_generator(lambda: iter(()), features=rows.features)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[DatasetDict], list[tuple[Any, ...]]]:
    """Serve a DatasetDict for any id, streamed if asked, and record how it was asked for."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    calls: list[tuple[Any, ...]] = []

    def serve(data: DatasetDict) -> list[tuple[Any, ...]]:
        def load_dataset(
            name: str, config: str | None = None, *, data_files: Any = None, streaming: bool = False
        ) -> DatasetDict | IterableDatasetDict:
            calls.append((name, config, streaming))
            if not streaming:
                return data
            return IterableDatasetDict({split: streamed(rows) for split, rows in data.items()})

        monkeypatch.setattr(datasets, "load_dataset", load_dataset)
        return calls

    return serve
