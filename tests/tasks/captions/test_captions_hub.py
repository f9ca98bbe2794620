"""load_captions on data sets of the Hub, the download replaced: undecoded pictures, columns, splits, failures."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import Dataset, DatasetDict, Features, Value
from datasets.exceptions import DatasetNotFoundError
from PIL import Image

from hf_attention_zoo.tasks.captions.rows import load_captions

TEXTS = {"en": Value("string"), "ko": datasets.List(Value("string"))}


def png(colour: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 3), colour).save(file, "PNG")
    return file.getvalue()


def rows(columns: dict[str, list[Any]], **features: Any) -> Dataset:
    return Dataset.from_dict(columns, Features({"image": datasets.Image(), **features}))


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[Any, ...]]]:
    """Serve a DatasetDict for any id, and record how it was asked for."""

    def serve(**splits: Dataset) -> list[tuple[Any, ...]]:
        calls: list[tuple[Any, ...]] = []
        monkeypatch.setattr(datasets, "load_dataset", lambda *asked: calls.append(asked) or DatasetDict(splits))
        return calls

    return serve


def test_pictures_come_as_they_are_stored_with_captions_of_the_language(served: Callable[..., list]) -> None:
    texts = [{"en": "a red one", "ko": ["빨강", "빨간 것"]}, {"en": "a blue one", "ko": ["파랑"]}]
    stored = [{"bytes": png("red"), "path": None}, {"bytes": png("blue"), "path": None}]
    made = rows({"image": stored, "captions": texts, "id": ["r", "b"]}, captions=TEXTS, id=Value("string"))
    calls = served(train=made, dev=made, extra=made)
    found = load_captions("owner/pictures", language="ko", dataset_config="all", splits=["train", "validation"])
    assert calls == [("owner/pictures", "all")] and set(found) == {"train", "validation"}
    train = found["train"]
    assert (train.names, train.captions) == (["r", "b"], [["빨강", "빨간 것"], ["파랑"]])
    assert train.sources[0] == png("red") and [p.getpixel((0, 0))[2] for p in train.pictures()] == [0, 255]
    assert train.rows == [{"captions": text, "id": name} for text, name in zip(texts, "rb", strict=True)]


def test_rows_of_one_picture_are_one_and_files_are_opened(served: Callable[..., list], tmp_path: Path) -> None:
    Image.new("RGB", (4, 3), "blue").save(tmp_path / "b.png")
    stored = [{"bytes": png("red"), "path": "r.png"}] * 2 + [{"bytes": None, "path": str(tmp_path / "b.png")}]
    served(train=rows({"image": stored, "sentences": ["a", "b", "c"]}, sentences=Value("string")))
    with pytest.raises(ValueError, match=r"row 2 of train names the file .*b.png' of this machine"):
        load_captions("owner/pictures")
    train = load_captions("owner/pictures", pictures_outside=True)["train"]
    assert train.captions == [["a", "b"], ["c"]]
    assert [picture.getpixel((0, 0))[2] for picture in train.pictures()] == [0, 255]


def test_unusual_columns_are_named_and_missing_ones_said(served: Callable[..., list]) -> None:
    stored = [{"bytes": png("red"), "path": None}]
    made = Dataset.from_dict(
        {"photo": stored, "said": ["a"]}, Features({"photo": datasets.Image(), "said": Value("string")})
    )
    served(train=made)
    named = load_captions("owner/pictures", picture_column="photo", caption_column="said")["train"]
    assert named.captions == [["a"]] and named.picture(0).size == (4, 3)
    with pytest.raises(ValueError, match=r"row 0 of train has no picture .*it has: photo, said"):
        load_captions("owner/pictures")


def test_what_the_hub_answers_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (
        DatasetNotFoundError("not there"),
        ConnectionError("no route"),
        ValueError("Config name is missing"),
    ):

        def fail(*asked: Any, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(datasets, "load_dataset", fail)
        with pytest.raises(ValueError, match=f"no embedded sample or folder, and the Hub gave: {error}"):
            load_captions("owner/pictures")
    for wrong in ("./nowhere", "a/b/c"):
        with pytest.raises(ValueError, match="no such folder"):
            load_captions(wrong)
