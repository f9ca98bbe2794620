"""Files of captions as COCO and Flickr have them, as rows with the name of a picture and a caption."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.split_names import SPLITS, canonical_split, stem_of
from hf_attention_zoo.data.unpacking import open_text

PlacedRow = tuple[str, Mapping[str, Any]]

FLICKR_FILE = re.compile(r"(?!.*\.lemma\.).*\.token(\.txt)?$")  # beside it lie its lemmas
FLICKR_LIST = re.compile(r".*(train|dev|test)Images\.txt$")
FLICKR_LINE = re.compile(r"(.+)#(\d+)\t(.*)")


def without_coco(rows: Iterator[PlacedRow], file: Any, pictures: Container[str]) -> Iterator[PlacedRow]:
    """Rows as they are, or those of a file of COCO, `captions_train2017.json`: a row for each caption.

    The pictures lie in the folder, or as COCO packs them in one that is called as the file: `train2017/`.

    Raises:
        ValueError: a caption is of no picture of the file.
    """
    for place, row in rows:
        listed, written = row.get("images"), row.get("annotations")
        if not isinstance(listed, list) or not isinstance(written, list):
            yield place, row
            continue
        folder = stem_of(file).removeprefix("captions_")
        names = {picture.get("id"): picture.get("file_name") for picture in listed}
        for number, caption in enumerate(written, 1):
            name, text = names.get(caption.get("image_id")), caption.get("caption")
            if name is None or text is None:
                raise ValueError(
                    f"{place}, annotation {number} has no caption of a picture that the file lists; captions are read "
                    "from COCO's files captions_train2017.json and the like"
                )
            beside = f"{folder}/{name}"
            yield (
                f"{place}, annotation {number}",
                {"id": caption["image_id"], "file_name": beside if beside in pictures else name, "caption": text},
            )


def flickr_rows(folder: Path, pictures: Container[str]) -> dict[str, list[PlacedRow]]:
    """The rows of each split in Flickr8k's or Flickr30k's own layout; nothing in other folders.

    `Flickr8k.token.txt` and `results_20130124.token` have a line for each caption, `1.jpg#0`, a tab, the caption.
    Lists such as `Flickr_8k.devImages.txt` say the split; without any all is for training. The pictures lie in the
    folder or in a folder of it.

    Raises:
        ValueError: a line is not so, or there are several files of captions.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and FLICKR_FILE.match(path.name))
    if not files:
        return {}
    if len(files) > 1:
        raise ValueError(f"folder {folder} has several files of captions: {', '.join(path.name for path in files)}")
    places = ["", *(f"{path.name}/" for path in sorted(folder.iterdir()) if path.is_dir())]
    split_of = _splits_of_lists(folder)
    found: dict[str, list[PlacedRow]] = {}
    unlisted: dict[str, None] = {}
    with open_text(files[0]) as stream:
        for number, line in enumerate(stream, 1):
            place, match = f"line {number} of {files[0]}", FLICKR_LINE.match(line.rstrip("\r\n"))
            if match is None:
                raise ValueError(f"{place} is {line[:60]!r}; captions of Flickr are 1.jpg#0, a tab, and the caption")
            name = match[1]
            split = split_of.get(name) if split_of else "train"
            if split is None:
                unlisted[name] = None
                continue
            there = next((f"{beside}{name}" for beside in places if f"{beside}{name}" in pictures), name)
            found.setdefault(split, []).append((place, {"file_name": there, "caption": match[3]}))
    if unlisted:
        warnings.warn(
            f"{files[0]}: left out {len(unlisted)} pictures that are in no list of a split (first: "
            f"{next(iter(unlisted))})",
            UserWarning,
            stacklevel=3,
        )
    return {split: found[split] for split in SPLITS if split in found}


def _splits_of_lists(folder: Path) -> dict[str, str]:
    """Picture -> split, by the lists beside the captions."""
    found: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        match = FLICKR_LIST.match(path.name)
        if match is not None and path.is_file():
            with open_text(path) as stream:
                found |= {line.strip(): canonical_split(match[1]) for line in stream if line.strip()}
    return found
