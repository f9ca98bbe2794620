"""Making the data of published folders, from small sources that the tests make up."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from made_up_sources import (
    LANGUAGES,
    NUMBERS,
    Package,
    base_of,
    deb,
    novel,
    npm_file,
    npm_folder,
    packages,
    picture,
    raw_folder,
    review,
    vector_of,
    words,
)
from PIL import Image

SPLITS = ("train", "validation", "test")
Row = dict[str, Any]


@pytest.fixture
def make_data(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("make_data")


@pytest.fixture
def made(make_data: Any, tmp_path: Path) -> Callable[..., Path]:
    """Kind and sources -> the folder that the program makes, after a check that it makes the same bytes twice."""

    def make(kind: str, *sources: Path) -> Path:
        folders = tmp_path / "once", tmp_path / "twice"
        for folder in folders:
            make_data.main([kind, *map(str, sources), str(folder)])
        names = [sorted(path.name for path in folder.iterdir()) for folder in folders]
        assert names[0] == names[1]
        assert all((folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() for name in names[0])
        return folders[0]

    return make


def rows_of(folder: Path) -> dict[str, list[Row]]:
    """The rows of the three splits, after a check of what all data sets have: ids that differ, in their order."""
    packed = {split: (folder / f"{split}.jsonl.gz").read_bytes() for split in SPLITS}
    splits = {split: [*map(json.loads, gzip.decompress(content).splitlines())] for split, content in packed.items()}
    names = [row["id"] for rows in splits.values() for row in rows]
    assert len(set(names)) == len(names)
    for rows in splits.values():
        assert rows and [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    return splits


def check_disjoint(splits: dict[str, list[Row]], *columns: str) -> None:
    kinds = [{tuple(row[column] for column in columns) for row in rows} for rows in splits.values()]
    assert len(set.union(*kinds)) == sum(map(len, kinds))


# --- a Debian package ------------------------------------------------------------------------------------------------


def test_chapters_are_held_out_whole_and_cut_into_sentences(made: Callable[..., Path], tmp_path: Path) -> None:
    novels = [vector_of(novel("first tale", 60), 3), NUMBERS, vector_of(novel("the second", 70), 2)]
    splits = rows_of(made("austen", deb(tmp_path / "novels.deb", base_of(novels))))
    check_disjoint(splits, "title", "chapter")
    rows = {row["id"]: row for part in splits.values() for row in part}
    assert len(rows) == 130
    assert rows["austen/first-tale/007"] == {
        "id": "austen/first-tale/007",
        "title": "First Tale",
        "chapter": 7,
        "paragraphs": [
            ["Mr. Brown had 7 horses.", 'He was not glad—"Why?"', "Nobody knew."],
            ["So it was in St. Ives."],
        ],
    }


def test_neither_the_order_of_novels_nor_the_packing_matters(make_data: Any, tmp_path: Path) -> None:
    novels = [vector_of(novel("first", 20), 3), vector_of(novel("second", 20), 3)]
    one = make_data.make_austen(deb(tmp_path / "one.deb", base_of(novels)))
    other = make_data.make_austen(deb(tmp_path / "other.deb", base_of(novels[::-1]), "data.tar.gz"))
    assert one == other


# --- reviews ---------------------------------------------------------------------------------------------------------


def films_by_split(load_script: Callable[[str], ModuleType], count: int) -> dict[str, list[int]]:
    """Films by the split that their number has."""
    split_of = load_script("data_rules").split_of
    films = range(10000, 10000 + count)
    return {split: [film for film in films if split_of(f"movie{film}", "zoo-v1", 600) == split] for split in SPLITS}


def test_films_are_held_out_whole_and_ratings_become_classes(
    load_script: Callable[[str], ModuleType], made: Callable[..., Path], tmp_path: Path
) -> None:
    films = films_by_split(load_script, 80)
    reviews = [review(film, number) for part in films.values() for film in part for number in range(4)]
    copies = [review(film, 5, words(0)) for film in range(10000, 10080)]  # one of them stays
    splits = rows_of(made("nsmc", raw_folder(tmp_path / "nsmc" / "raw", [*reviews, *copies]).parent))
    check_disjoint(splits, "movie")
    check_disjoint(splits, "text")
    given = {f"nsmc/{one['review_id']}": one for one in [*reviews, *copies]}
    assert sum(map(len, splits.values())) == len(reviews) + 1
    for split, rows in splits.items():
        for row in rows:
            one = given[row["id"]]
            assert int(row["movie"]) in films[split]
            assert row == {
                "id": row["id"],
                "movie": one["movie_id"],
                "text": one["review"],
                "rating": int(one["rating"]),
                "label": (int(one["rating"]) - 1) // 2,
            }


UNWANTED = {
    "short": "재미있다",
    "long": "재미있다 " * 40,
    "foreign": "a film that is not half bad, 재미있다",
    "a link": "자세한 이야기는 www.example.org 에서 보세요",
    "a drawl": "정말 재미있었다아아아아아아 최고의 영화",
    "no letters": "10 / 10 !!! ... ??? 10 / 10",
}


@pytest.mark.parametrize("text", UNWANTED.values(), ids=UNWANTED.keys())
def test_reviews_that_are_no_korean_sentences_are_left_out(make_data: Any, tmp_path: Path, text: str) -> None:
    kept = review(10000, 0)
    folder = raw_folder(tmp_path / "raw", [kept, review(10000, 1, text)])
    rows = [row for rows in make_data.make_nsmc(folder).splits.values() for row in rows]
    assert [row["text"] for row in rows] == [kept["review"]]


def test_near_copies_of_what_is_held_out_are_left_out(
    load_script: Callable[[str], ModuleType], make_data: Any, tmp_path: Path
) -> None:
    films = {split: some[0] for split, some in films_by_split(load_script, 200).items()}
    # Of training and of validation two each: a run of characters counts from two texts on.
    copied = {"test": ("",), "validation": (" 좋다", " 가자"), "train": (" 강추", " 최고")}
    reviews = [review(films[split], n, words(0) + end) for split, ends in copied.items() for n, end in enumerate(ends)]
    others = [review(film, number) for film in films.values() for number in (5, 6)]
    splits = make_data.make_nsmc(raw_folder(tmp_path / "raw", [*reviews, *others])).splits
    texts = [row["text"] for rows in splits.values() for row in rows]
    assert sorted(texts) == sorted([words(0), *(one["review"] for one in others)])


def test_a_class_has_no_more_reviews_than_it_may(
    load_script: Callable[[str], ModuleType], make_data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = [review(film, number) for film in range(10000, 10020) for number in range(4)]
    folder = raw_folder(tmp_path / "raw", reviews)
    monkeypatch.setattr(load_script("nsmc_reviews"), "A_CLASS", 3)
    labels = [row["label"] for rows in make_data.make_nsmc(folder).splits.values() for row in rows]
    assert sorted(labels) == sorted([*range(5)] * 3)


# --- packages of npm -------------------------------------------------------------------------------------------------


def test_an_emoji_is_held_out_in_both_styles(made: Callable[..., Path], tmp_path: Path) -> None:
    twitter, google, names = packages()
    shared = next(iter(twitter.values()))
    twitter["img/twitter/64/1f401-fe0f.png"] = shared
    german = json.loads(names["de/data.json"])
    unnamed = german.pop(3)["hexcode"]
    names["de/data.json"] = json.dumps(german).encode()
    folders = [npm_folder(tmp_path / str(number), part) for number, part in enumerate((twitter, google, names))]
    folder = made("emoji", *folders)
    splits = rows_of(folder)
    check_disjoint(splits, "hexcode")
    rows = {row["file_name"]: row for part in splits.values() for row in part}

    assert not {"twitter/1f400-fe0f.png", "twitter/1f401-fe0f.png"} & rows.keys()
    assert {"google/1f400-fe0f.png", "google/1f401-fe0f.png"} <= rows.keys()
    assert not [name for name in rows if unnamed.lower() in name]

    bases = {row["base"] for row in splits["train"]}
    for row in rows.values():
        assert row["base"] == row["hexcode"].split("-")[0] and row["seen_base"] == (row["base"] in bases)
        assert list(row["captions"]) == list(LANGUAGES) and "thing-ko" in row["captions"]["ko"]
    held_out = [row for split in ("validation", "test") for row in splits[split]]
    assert sum("1F3F" in row["hexcode"] for row in held_out) > len(held_out) / 2

    with zipfile.ZipFile(folder / "images.zip") as archive:
        assert archive.namelist() == sorted(rows)
        for name in rows:
            with Image.open(io.BytesIO(archive.read(name))) as opened:
                assert opened.size == (64, 64) and opened.mode == "P"
                assert opened.convert("RGB").getpixel((0, 63)) == (255, 255, 255)


def test_held_out_names_differ_from_training_in_more_than_a_number(make_data: Any, tmp_path: Path) -> None:
    twitter, google, names = packages()
    english = json.loads(names["en/data.json"])
    for number, emoji in enumerate(one for listed in english for one in (listed, *listed.get("skins", ()))):
        emoji["label"] = f"Thing: {number}" if number % 2 else f"thing {number}!"
    names["en/data.json"] = json.dumps(english).encode()
    folders = [npm_folder(tmp_path / str(number), part) for number, part in enumerate((twitter, google, names))]
    made = make_data.make_emoji(*folders)
    assert made.splits["train"] and not made.splits["validation"] and not made.splits["test"]
    assert made.pictures.keys() == {row["file_name"] for row in made.splits["train"]}


def test_packed_and_unpacked_packages_give_the_same(make_data: Any, tmp_path: Path) -> None:
    parts = packages(20)
    packed = [npm_file(tmp_path / f"{number}.tgz", part) for number, part in enumerate(parts)]
    unpacked = [npm_folder(tmp_path / str(number), part) for number, part in enumerate(parts)]
    inner = [folder / "package" for folder in unpacked]
    results = [make_data.make_emoji(*some) for some in (packed, unpacked, inner)]
    assert results[0] == results[1] == results[2] and any(results[0].splits.values())


# --- what cannot be read ---------------------------------------------------------------------------------------------


def bad_debs(folder: Path) -> dict[str, tuple[Path, str]]:
    novels = base_of([vector_of(novel("first", 3), 3)])
    whole = deb(folder / "whole.deb", novels).read_bytes()
    other = folder / "other.deb"
    other.write_bytes(b"PK\x03\x04 something else")
    cut = folder / "cut.deb"
    cut.write_bytes(whole[:-40])
    longer = struct.pack(">I", 10**9) + novels[4:]
    return {
        "no file": (folder / "missing.deb", "is not a file; give a Debian package"),
        "another file": (other, "begins with .*; give a .deb file"),
        "cut off": (cut, "was cut off at byte .*; fetch it again"),
        "another packing": (deb(folder / "zst.deb", novels, "data.tar.zst"), "has data.tar.zst inside; what is read"),
        "no tar": (deb(folder / "tar.deb", novels, "music.xz"), "no data.tar; fetch it again"),
        "another package": (deb(folder / "none.deb", None), "has no data/Rdata.rdb inside; give r-cran-janeaustenr"),
        "no novel": (deb(folder / "a.deb", base_of([NUMBERS])), "no text with lines such as CHAPTER 1; give"),
        "another length": (deb(folder / "b.deb", longer), "has not the 1,000,000,000 bytes"),
        "not packed": (deb(folder / "c.deb", b"\0\0\0\1none"), "cannot be unpacked, .*; give r-cran"),
        "another format": (deb(folder / "d.deb", base_of([b"\x80\x04."])), "R's binary serialisation 2 or 3; give"),
        "half a vector": (
            deb(folder / "e.deb", base_of([vector_of(["CHAPTER 1", "So."], 2)[:-2]])),
            "a vector of strings was cut off; give",
        ),
    }


def bad_reviews(folder: Path) -> dict[str, tuple[Path, str]]:
    lacking = {name: value for name, value in review(10000, 0).items() if name != "rating"}
    broken = raw_folder(folder / "broken", [review(10000, 0)])
    (broken / "10001.json").write_text('[{"review": "', encoding="utf-8")
    (folder / "empty").mkdir()
    return {
        "no folder": (folder / "missing", "has no files such as 10001.json; give the folder raw/"),
        "no files": (folder / "empty", "has no files such as 10001.json; give the folder raw/"),
        "no rating": (raw_folder(folder / "a", [lacking]), "row 1 of .*10000.json has no rating; a review has"),
        "eleven": (raw_folder(folder / "b", [review(10000, 0, rating=11)]), "the rating '11'; ratings are 1 to 10"),
        "no Korean": (raw_folder(folder / "c", [review(10000, 0, "a good film")]), "has no Korean review"),
        "not JSON": (broken, "10001.json is not JSON"),
    }


def bad_emoji(folder: Path) -> dict[str, tuple[list[Path], str]]:
    twitter, google, names = packages(6)
    first = next(iter(google))
    cut = npm_file(folder / "cut.tgz", google)
    cut.write_bytes(cut.read_bytes()[:-500])
    plain = folder / "plain.tgz"
    plain.write_bytes(b"no archive")
    count = 0

    def three(*parts: Package | Path) -> list[Path]:
        nonlocal count
        count += 1
        return [
            part if isinstance(part, Path) else npm_folder(folder / f"{count}-{number}", part)
            for number, part in enumerate(parts)
        ]

    return {
        "no package": (three(twitter, google, folder / "none"), "does not exist; give a .tgz file of `npm pack`"),
        "cut off": (three(twitter, cut, names), "cut.tgz is not a whole gzip file .*; fetch it again"),
        "not packed": (three(twitter, plain, names), "plain.tgz is not a whole gzip file .*; fetch it again"),
        "exchanged": (three(google, twitter, names), "no img/twitter/64/.*; give emoji-datasource-twitter 16.0.0"),
        "no names": (three(twitter, google, {"en/data.json": b"[]"}), "no ko/data.json; give emojibase-data 17.0.0"),
        "other names": (three(twitter, google, {**names, "fr/data.json": b'[{"a": 1}]'}), "is not a list of emoji"),
        "nothing named": (three(twitter, google, dict.fromkeys(names, b"[]")), "no picture has a name"),
        "no picture": (three(twitter, {**google, first: b"GIF"}, names), f"{first} of .* is not a whole picture"),
        "large": (three(twitter, {**google, first: picture(1, 65)}, names), "has 65 x 65 dots; pictures have 64 x 64"),
    }


@pytest.mark.parametrize(("kind", "cases"), [("austen", bad_debs), ("nsmc", bad_reviews), ("emoji", bad_emoji)])
def test_what_cannot_be_read_is_refused_and_nothing_is_written(
    make_data: Any, tmp_path: Path, kind: str, cases: Callable[[Path], dict[str, tuple[Any, str]]]
) -> None:
    (tmp_path / "in").mkdir()
    for sources, message in cases(tmp_path / "in").values():
        given = map(str, sources if isinstance(sources, list) else [sources])
        with pytest.raises(SystemExit, match=message):
            make_data.main([kind, *given, str(tmp_path / "out" / "folder")])
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_folder_that_has_something_is_left_as_it_is(make_data: Any, tmp_path: Path) -> None:
    package = deb(tmp_path / "novels.deb", base_of([vector_of(novel("first", 3), 3)]))
    (tmp_path / "out").mkdir()
    make_data.main(["austen", str(package), str(tmp_path / "out")])
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert before
    with pytest.raises(SystemExit, match="out exists and is not an empty folder; choose another name"):
        make_data.main(["austen", str(package), str(tmp_path / "out")])
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_a_folder_that_cannot_be_finished_is_not_there(
    make_data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = deb(tmp_path / "novels.deb", base_of([vector_of(novel("first", 3), 3)]))
    written, write_bytes = [], Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        written.append(path.name)
        if len(written) > 1:
            raise OSError(28, "No space left on device")
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SystemExit, match="No space left"):
        make_data.main(["austen", str(package), str(tmp_path / "out")])
    assert len(written) == 2 and [path.name for path in tmp_path.iterdir()] == ["novels.deb"]


def test_rows_that_differ_from_those_of_the_published_folders_are_named(
    make_data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = deb(tmp_path / "novels.deb", base_of([vector_of(novel("first", 3), 3)]))
    make_data.main(["austen", str(package), str(tmp_path / "out")])
    assert capsys.readouterr().out.count("NOT those") == 3
