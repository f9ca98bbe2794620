"""Pictures with captions: folders, archives, languages, several references, and rows that lack something."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import captioners
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tasks.captions import rows
from hf_attention_zoo.tasks.captions.examples import cached_features
from hf_attention_zoo.tasks.captions.grid_pictures import make_grid_picture, write_grid_pictures
from hf_attention_zoo.tasks.captions.rows import CaptionRows, PictureFolder, load_captions


def folder_of(path: Path, rows: list[dict[str, Any]], *, packed: bool = True, archive: bool = True) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    picture = path / "one.png"
    Image.new("RGB", (4, 4), "red").save(picture)
    if archive:
        with zipfile.ZipFile(path / "images.zip", "w") as file:
            file.write(picture, "in/one.png")
        picture.unlink()
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if packed:
        (path / "train.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (path / "train.jsonl").write_text(text, encoding="utf-8")
    return path


def test_an_archive_and_files_in_several_languages(tmp_path: Path) -> None:
    rows = [{"id": "a", "file_name": "in/one.png", "captions": {"en": "a red one", "ko": ["빨강", "빨간 것"]}}]
    folder = folder_of(tmp_path / "zip", rows)
    korean = load_captions(folder, language="ko")["train"]
    assert (korean.names, korean.captions) == (["a"], [["빨강", "빨간 것"]])
    assert korean.picture(0).getpixel((0, 0)) == (255, 0, 0)
    assert load_captions(folder, language="en")["train"].captions == [["a red one"]]
    with pytest.raises(ValueError, match="has captions in en, ko; say which"):
        load_captions(folder)
    with pytest.raises(ValueError, match="there are no captions in 'fr'"):
        load_captions(folder, language="fr")
    filled = [*rows, {"id": "b", "file_name": "in/one.png", "captions": {"en": "another", "ko": None}}]
    with pytest.warns(UserWarning, match="1 of 2"):  # tables fill what a row lacks with None
        half = load_captions(folder_of(tmp_path / "filled", filled), language="ko")["train"]
    assert half.names == ["a"]
    plain = folder_of(tmp_path / "files", [{"file_name": "one.png", "caption": "red"}], packed=False, archive=False)
    assert load_captions(plain)["train"].captions == [["red"]]
    assert load_captions(str(plain), splits="test") == {}


def test_columns_of_other_names(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, [{"photo": "in/one.png", "said": ["a", "b"]}])
    found = load_captions(folder, picture_column="photo", caption_column="said")["train"]
    assert found.captions == [["a", "b"]] and len(found.take(5)) == 1
    with pytest.raises(ValueError, match=r"has no picture \(column file_name, image"):
        load_captions(folder)


def test_rows_of_one_picture_are_one_picture_with_all_their_captions(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    (tmp_path / "train.csv").write_text("image,caption\na.png,one red\nb.png,blue\na.png,a red thing\nb.png,\n")
    with pytest.warns(UserWarning, match="left out 1 of 4 rows without captions"):
        found = load_captions(tmp_path)["train"]
    assert (found.names, found.captions) == (["a.png", "b.png"], [["one red", "a red thing"], ["blue"]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"file_name": "in/two.png", "caption": "x"}, "has no picture 'in/two.png'"),
        ({"file_name": "in/one.png"}, "has no caption"),
        ({"file_name": "in/one.png", "caption": 3}, "captions are of type int"),
        ({"file_name": "in/one.png", "caption": " "}, "there are no captions"),
    ],
)
def test_rows_that_lack_something_are_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_captions(folder_of(tmp_path, [row]))


def test_no_such_folder_and_a_broken_archive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such folder"):
        load_captions(tmp_path / "nothing")
    folder = folder_of(tmp_path / "broken", [{"file_name": "one.png", "caption": "x"}])
    (folder / "images.zip").write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="no whole archive"):
        load_captions(folder)


def test_grid_pictures_say_where_their_words_are(tmp_path: Path) -> None:
    folder = write_grid_pictures(tmp_path, {"train": 20, "test": 10}, seed=3)
    again = write_grid_pictures(tmp_path / "again", {"train": 20, "test": 10}, seed=3)
    splits, copies = load_captions(folder), load_captions(again)
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 20, "test": 10}
    assert splits["train"].captions == copies["train"].captions
    for index, row in enumerate(splits["train"].rows):
        words, pixels = splits["train"].captions[index][0].split(), np.asarray(splits["train"].picture(index))
        assert len(words) == len(row["boxes"]) and pixels.shape == (64, 64, 3)
        covered = np.zeros((64, 64), dtype=bool)
        for top, left, bottom, right in row["boxes"]:
            inside = (slice(round(64 * top), round(64 * bottom)), slice(round(64 * left), round(64 * right)))
            assert (pixels[inside] != 255).any()
            covered[inside] = True
        assert (pixels[~covered] == 255).all()
    with pytest.raises(ValueError, match="must be a cell for each shape"):
        make_grid_picture(np.random.default_rng(0), cells=1, fewest=2, most=2)


@pytest.mark.parametrize("way", ["above", "absolute", "linked file", "linked folder"])
def test_pictures_outside_the_folder_are_read_only_if_they_are_allowed(tmp_path: Path, way: str) -> None:
    folder, other = tmp_path / "data", tmp_path / "elsewhere"
    other.mkdir()
    Image.new("RGB", (4, 4), "blue").save(other / "private.png")
    folder.mkdir()
    (folder / "file.png").symlink_to(other / "private.png")
    (folder / "inner").symlink_to(other)
    names = {"above": "../elsewhere/private.png", "absolute": str(other / "private.png")}
    name = {**names, "linked file": "file.png", "linked folder": "inner/private.png"}[way]
    folder_of(folder, [{"file_name": name, "caption": "blue"}])
    with pytest.raises(ValueError, match=r"lies outside .*data; copy it there.*--pictures_outside"):
        load_captions(folder)
    allowed = load_captions(folder, pictures_outside=True)["train"]
    assert allowed.picture(0).getpixel((0, 0)) == (0, 0, 255)


def test_a_link_inside_the_folder_is_no_way_out(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, [{"file_name": "two.png", "caption": "red"}], archive=False)
    (folder / "two.png").symlink_to("one.png")
    assert load_captions(folder)["train"].picture(0).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize("name", ["no\0name.png", "a" * 5000, "in", "", 7, ["one.png"], "in\x1b[31m.png"])
def test_names_that_are_no_file_are_one_error_without_control_characters(
    tmp_path: Path, name: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(tmp_path / "data", [{"file_name": name, "caption": "red"}])
    with pytest.raises(ValueError, match=r"line 1 of .*(has no picture|is of type)"):
        load_captions(folder)
    assert main(["train", "show_attend_tell", "--dataset", str(folder), "--output_dir", str(tmp_path / "run")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable() and "picture" in line


def test_a_picture_of_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "LARGEST_FILE", 1 << 20)
    folder = folder_of(
        tmp_path, [{"file_name": name, "caption": "red"} for name in ("bomb.png", "in/one.png", "big.png")]
    )
    with zipfile.ZipFile(folder / "images.zip", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.png", bytes(50 << 20))
    (folder / "big.png").write_bytes(bytes(2 << 20))
    train = load_captions(folder)["train"]
    with pytest.raises(ValueError, match=r"'bomb.png' of .*images.zip unpacks to 52,428,800 bytes"):
        train.picture(0)
    with pytest.raises(ValueError, match=r"'big.png' has more than"):
        train.picture(2)
    assert train.picture(1).size == (4, 4)


def test_processes_read_an_archive_each_with_a_file_of_their_own(tmp_path: Path) -> None:
    names = [f"{number}.png" for number in range(40)]
    folder = folder_of(tmp_path, [{"file_name": name, "caption": "grey"} for name in names])
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for name in names:
            file = io.BytesIO()
            Image.effect_noise((64, 64), 40).save(file, "PNG")
            archive.writestr(name, file.getvalue())
    train = load_captions(folder)["train"]
    whole = [np.asarray(picture).sum() for picture in train.pictures()]  # the archive is open before the others start
    loader = DataLoader(Pixels(train), batch_size=1, num_workers=2, multiprocessing_context="fork")
    assert [int(value) for _ in range(2) for value in loader] == whole * 2


class Pixels(torch.utils.data.Dataset):
    def __init__(self, found: rows.CaptionRows) -> None:
        self.found = found

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> int:
        return int(np.asarray(self.found.picture(index)).sum())


def test_pictures_are_told_apart_by_what_they_show_however_they_are_given(tmp_path: Path) -> None:
    """Files beside the data, files anywhere, bytes in the rows, and pictures that are open."""
    picture = captioners.pictures(1)[0]
    picture.save(tmp_path / "one.png")
    file = (tmp_path / "one.png").read_bytes()
    beside = PictureFolder(tmp_path)
    kinds = [("one.png", beside), (str(tmp_path / "one.png"), None), (file, beside), (picture, None)]
    model, processor = captioners.make_captioner()
    for source, store in kinds:
        twice = (source, picture.copy() if source is picture else source)
        given, again = (CaptionRows(["a"], [["red"]], [one], store) for one in twice)
        assert given.picture_bytes(0) == (picture.tobytes() if source is picture else file)
        assert list(given.content()) == list(again.content())
        paths = [cached_features(one, model, processor.image_processor, tmp_path).path for one in (given, again)]
        assert paths[0] == paths[1]
