"""Pictures with captions: from a folder, an embedded sample or the Hub, with several captions for a picture.

A folder holds `train`, `validation` and `test` files of any format that `load_data` reads, and the pictures: in
`images.zip`, or as files. A row names its picture in `file_name` (also `image`, `image_path`, `filepath`), relative to
the archive or to the folder, and has its captions in `captions`, `caption`, `text` or `sentences`: a string, a list of
strings, or a mapping from languages to one or the other. Rows of the same picture are one picture with the captions of
all of them. `regions.safetensors`, which `write_features` writes, may stand in for the pictures: their regions by the
rows' `id` or file name, for models with image_encoder="regions".
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from hf_attention_zoo.data.delimited_files import as_list
from hf_attention_zoo.data.record_files import read_rows, split_files_of_folder
from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.data.split_names import canonical_split
from hf_attention_zoo.data.unpacking import open_member
from hf_attention_zoo.images.feature_cache import FeatureCache, RegionsOfRows
from hf_attention_zoo.images.opening import MOST_PIXELS, open_picture
from hf_attention_zoo.tasks.captions.caption_layouts import flickr_rows, without_coco

ARCHIVE = "images.zip"
REGIONS = "regions.safetensors"
PICTURE_COLUMNS = ("file_name", "image", "image_path", "filepath", "filename")
# Bytes of a picture file: as many pixels as are opened, unpacked, with four channels.
LARGEST_FILE = 4 * MOST_PIXELS
CAPTION_COLUMNS = ("captions", "caption", "text", "sentences")


class PictureFolder:
    """The pictures of a folder: in its archive, or as files in it.

    Args:
        folder: with the pictures.
        outside: let names lead out of the folder, by `..`, from a root or through a link.
    """

    def __init__(self, folder: Path, outside: bool = False) -> None:
        self.folder, self.outside = folder, outside
        self._archive: zipfile.ZipFile | None = None
        self._opened_by: int | None = None
        self._names: frozenset[str] = frozenset()
        self.regions = FeatureCache(folder / REGIONS) if (folder / REGIONS).is_file() else None
        if (folder / ARCHIVE).is_file():
            try:
                with zipfile.ZipFile(folder / ARCHIVE) as archive:
                    self._names = frozenset(archive.namelist())
            except zipfile.BadZipFile as error:
                raise ValueError(f"{folder / ARCHIVE} is no whole archive: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_archive": None}  # an open archive cannot go to another process

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._names or self._file(name) is not None)

    def _file(self, name: str) -> str | None:
        """The path of a picture that is a file; None if there is none.

        Raises:
            ValueError: it lies outside the folder.
        """
        path = os.path.join(self.folder, name)
        if not os.path.isfile(path):
            return None
        if not self.outside and not is_inside(path, self.folder):
            raise ValueError(
                f"the picture {name!r} lies outside {self.folder}; copy it there, or, if you trust the data, allow it "
                "with pictures_outside=True (--pictures_outside)"
            )
        return path

    def has_regions(self, name: str) -> bool:
        """Whether the regions that lie beside the data have one of that name."""
        return self.regions is not None and name in self.regions

    def read(self, name: str) -> bytes:
        """The file of a picture.

        Raises:
            ValueError: there is none of that name, it is damaged, or it lies outside the folder.
        """
        if name in self._names:
            return self._from_archive(name)
        path = self._file(name)
        if path is None:
            raise ValueError(f"{self.folder} has no picture {name!r}, neither in {ARCHIVE} nor as a file")
        if os.path.getsize(path) > LARGEST_FILE:
            raise ValueError(f"the picture {name!r} has more than {LARGEST_FILE:,} bytes; make it smaller first")
        return Path(path).read_bytes()

    def _from_archive(self, name: str) -> bytes:
        if self._archive is None or self._opened_by != os.getpid():  # processes that share a file move its place
            self._archive, self._opened_by = zipfile.ZipFile(self.folder / ARCHIVE), os.getpid()
        size = self._archive.getinfo(name).file_size
        if size > LARGEST_FILE:
            raise ValueError(
                f"the picture {name!r} of {self.folder / ARCHIVE} unpacks to {size:,} bytes, more than "
                f"{LARGEST_FILE:,}; make it smaller first"
            )
        with open_member(self._archive, self._archive.getinfo(name)) as file:
            return file.read()


def is_inside(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Whether a file lies in a folder, with all links followed."""
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class CaptionRows:
    """One split: pictures, one or more captions for each, and what else the rows say.

    Attributes:
        names: N ids of pictures.
        captions: N lists of captions, each of at least one.
        sources: N pictures: names in `store`, or pictures themselves.
        store: where named pictures lie.
        rows: N rows as they came, without pictures.
    """

    names: list[str]
    captions: list[list[str]]
    sources: list[Any] = field(repr=False)
    store: PictureFolder | None = field(repr=False, default=None)
    rows: list[Mapping[str, Any]] = field(repr=False, default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def picture(self, index: int) -> Image.Image:
        """A picture in RGB.

        Raises:
            ValueError: it is missing or damaged; the message has its name.
        """
        source = self.sources[index]
        if self.store is not None and isinstance(source, str):
            source = io.BytesIO(self.store.read(source))
        return open_picture(source, f"picture {self.names[index]!r}")

    @cached_property
    def regions(self) -> RegionsOfRows:
        """The regions that lie beside the data, by the number of the row.

        Raises:
            ValueError: there are none, or none of one of the pictures.
        """
        cache = None if self.store is None else self.store.regions
        if cache is None:
            raise ValueError(
                f"regions of pictures are wanted, but there is no {REGIONS} beside the data; write it with "
                "hf_attention_zoo.images.feature_cache.write_features, or choose an encoder of pictures "
                "(--config.image_encoder convolutions, vgg19, efficientnet_lite0 or backbone)"
            )
        names = []
        for name, source in zip(self.names, self.sources, strict=True):
            names.append(name if name in cache else source)
            if names[-1] not in cache:
                raise ValueError(f"{cache.path} has no regions of {name!r} ({source!r})")
        return RegionsOfRows(cache, names)

    def content(self) -> Iterator[bytes]:
        """What is learnt from: each picture's captions, and its bytes or regions."""
        cache = None if self.store is None else self.store.regions
        for index, (name, listed) in enumerate(zip(self.names, self.captions, strict=True)):
            yield json.dumps([name, listed]).encode()
            named = [one for one in (name, self.sources[index]) if isinstance(one, str)]
            known = None if cache is None else next((one for one in named if one in cache), None)
            if cache is None or known is None:
                yield self.picture_bytes(index)
            else:
                yield cache[known].float().numpy().tobytes()

    def picture_bytes(self, index: int) -> bytes:
        """A picture's file, or its pixels where it is open already."""
        source = self.sources[index]
        if isinstance(source, str):
            return Path(source).read_bytes() if self.store is None else self.store.read(source)
        return source if isinstance(source, bytes) else self.picture(index).tobytes()

    def pictures(self) -> Iterator[Image.Image]:
        """All pictures, one at a time."""
        return (self.picture(index) for index in range(len(self)))

    def select(self, indices: Sequence[int]) -> CaptionRows:
        """Some of the rows."""
        return CaptionRows(
            [self.names[i] for i in indices],
            [self.captions[i] for i in indices],
            [self.sources[i] for i in indices],
            self.store,
            [self.rows[i] for i in indices],
        )

    def take(self, count: int) -> CaptionRows:
        """The first rows."""
        return self.select(range(min(count, len(self))))

    def train_test_split(self, test_size: float, seed: int) -> dict[str, CaptionRows]:
        """A share of the rows, drawn by `seed`, as "test" and the others as "train", as `datasets` has it."""
        order = np.random.default_rng(seed).permutation(len(self)).tolist()
        held = max(1, round(len(order) * test_size))
        return {"train": self.select(sorted(order[held:])), "test": self.select(sorted(order[:held]))}


def load_captions(
    dataset: str | Path,
    *,
    language: str | None = None,
    dataset_config: str | None = None,
    picture_column: str | None = None,
    caption_column: str | None = None,
    splits: str | Sequence[str] | None = None,
    pictures_outside: bool = False,
) -> dict[str, CaptionRows]:
    """The splits of a data set of pictures and captions.

    Args:
        dataset: embedded sample, folder or Hub id.
        language: which captions, where there are several languages.
        dataset_config: configuration of a Hub data set.
        picture_column, caption_column: names of the two columns, where they are unusual.
        splits: load only these.
        pictures_outside: rows may name pictures outside the folder (`../x.png`, `/x.png`, or through a link).

    Raises:
        ValueError: no such data, column, language or picture, a picture outside the folder, or no captions at all;
            rows without one are left out with a warning.
    """
    wanted = [splits] if isinstance(splits, str) else None if splits is None else list(splits)
    name = str(dataset)
    folder = get_sample(name).folder if is_sample(name) else Path(dataset)
    if folder.is_dir():
        store = PictureFolder(folder, pictures_outside)
        found: dict[str, CaptionRows] = {}
        for split, placed in _placed_rows(folder, store, wanted).items():
            found[split] = _rows(placed, store, language, picture_column, caption_column)
        return found
    if name.startswith((".", "/")) or name.count("/") > 1 or not name:
        raise ValueError(f"no such folder: {name!r}; give a folder, an embedded sample or a Hub id")
    return _from_hub(name, dataset_config, language, picture_column, caption_column, wanted, pictures_outside)


def _placed_rows(
    folder: Path, store: PictureFolder, wanted: list[str] | None
) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """The rows of the splits that are wanted."""
    flickr = flickr_rows(folder, store)
    if flickr:
        return {split: rows for split, rows in flickr.items() if wanted is None or split in wanted}
    return {
        split: [row for file in files for row in without_coco(read_rows(file), file, store)]
        for split, files in split_files_of_folder(folder, None, None, prefix="captions").items()
        if wanted is None or split in wanted
    }


def _from_hub(
    name: str,
    dataset_config: str | None,
    language: str | None,
    picture_column: str | None,
    caption_column: str | None,
    wanted: list[str] | None,
    outside: bool,
) -> dict[str, CaptionRows]:
    import datasets

    try:
        loaded = datasets.load_dataset(name, dataset_config)
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name!r} is no embedded sample or folder, and the Hub gave: {error}") from error
    found = {}
    for split, rows in loaded.items():
        split = canonical_split(split)
        if wanted is None or split in wanted:
            for column, kind in rows.features.items():
                if isinstance(kind, datasets.Image):
                    rows = rows.cast_column(column, datasets.Image(decode=False))
            placed = [(f"row {number} of {split}", row) for number, row in enumerate(rows)]
            if not outside:
                refuse_other_files(placed, picture_column)
            found[split] = _rows(placed, None, language, picture_column, caption_column)
    return found


def refuse_other_files(placed: list[tuple[str, Mapping[str, Any]]], picture_column: str | None) -> None:
    """Raise a ValueError if a row of the Hub names a picture on this machine that was not fetched with the data."""
    from datasets import config
    from huggingface_hub import constants

    fetched = (config.HF_CACHE_HOME, config.HF_DATASETS_CACHE, constants.HF_HUB_CACHE)
    for place, row in placed:
        picture = row[_column(row, picture_column, PICTURE_COLUMNS, "picture", place)]
        named = picture.get("path") if isinstance(picture, Mapping) and not picture.get("bytes") else picture
        if isinstance(named, str) and not any(is_inside(named, folder) for folder in fetched):
            raise ValueError(
                f"{place} names the file {named!r} of this machine as its picture; if you trust the data, allow it "
                "with pictures_outside=True (--pictures_outside)"
            )


def _rows(
    placed: list[tuple[str, Mapping[str, Any]]],
    store: PictureFolder | None,
    language: str | None,
    picture_column: str | None,
    caption_column: str | None,
) -> CaptionRows:
    names: list[str] = []
    captions: list[list[str]] = []
    sources: list[Any] = []
    rest: list[Mapping[str, Any]] = []
    known: dict[str | bytes, int] = {}
    without = 0
    for place, row in placed:
        picture = _column(row, picture_column, PICTURE_COLUMNS, "picture", place)
        caption = _column(row, caption_column, CAPTION_COLUMNS, "caption", place)
        written = _captions(row[caption], language, place)
        if not written:
            without += 1  # this language has none for the picture
            continue
        source = row[picture]
        if isinstance(source, Mapping):  # the Hub's undecoded pictures
            source = source.get("bytes") or source.get("path")
        if not isinstance(source, (str, bytes)) and store is not None:
            raise ValueError(
                f"{place}: the picture in column {picture!r} is of type {type(source).__name__}; give a file name"
            )
        if store is not None and not isinstance(source, bytes):
            beside = store.has_regions(source) or store.has_regions(str(row.get("id")))
            if not beside and source not in store:
                raise ValueError(f"{place}: {store.folder} has no picture {source!r}{_lies_elsewhere(store, source)}")
        if isinstance(source, (str, bytes)):
            if source in known:  # a row for each caption, as the lists of Flickr8k have it
                captions[known[source]] += written
                continue
            known[source] = len(names)
        names.append(str(row.get("id", source if isinstance(source, str) else len(names))))
        captions.append(written)
        sources.append(source)
        rest.append({key: value for key, value in row.items() if key != picture or isinstance(value, str)})
    if not names:
        said = "" if language is None else f" in {language!r}"
        raise ValueError(f"there are no captions{said}")
    if without:
        said = "captions" if language is None else f"captions in {language!r}"
        warnings.warn(f"left out {without} of {len(placed)} rows without {said}", UserWarning, stacklevel=3)
    return CaptionRows(names, captions, sources, store, rest)


def _lies_elsewhere(store: PictureFolder, source: str) -> str:
    """For messages: where a picture lies that is named without its folder."""
    beside = next((path.name for path in sorted(store.folder.iterdir()) if f"{path.name}/{source}" in store), None)
    return "" if beside is None else f"; it lies in {beside}/: move the file of captions there, or name it so"


def _column(row: Mapping[str, Any], named: str | None, usual: Sequence[str], said: str, place: str) -> str:
    for name in (named,) if named is not None else usual:
        if row.get(name) is not None:
            return name
    tried = named if named is not None else ", ".join(usual)
    raise ValueError(f"{place} has no {said} (column {tried}); it has: {', '.join(row)}")


def _captions(value: Any, language: str | None, place: str) -> list[str]:
    """The captions of one row in one language; an empty list if it has none in that language."""
    if isinstance(value, Mapping):
        if language is None:
            if len(value) != 1:
                raise ValueError(
                    f"{place} has captions in {', '.join(value)}; say which with language (--target_lang)"
                )
            language = next(iter(value))
        value = value.get(language)
        if value is None:  # tables fill what a row lacks
            return []
    value = as_list(value)
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(text, str) for text in listed):
        raise ValueError(f"{place}: captions are of type {type(value).__name__}; give a string or a list of strings")
    return [text for text in listed if text.strip()]
