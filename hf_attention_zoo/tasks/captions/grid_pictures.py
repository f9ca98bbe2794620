"""Pictures made on the fly whose captions name what stands where: the right region of every word is known.

A picture is a grid of cells on white; some hold a shape in a colour. The caption names colour and shape of each, row
by row from the left: "red circle blue square". So a caption can only be written by looking at one place after the
other, and the box of a word is the cell of its shape.
"""

from __future__ import annotations

import io
import json
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from hf_attention_zoo.tasks.captions.rows import ARCHIVE

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 160, 60),
    "blue": (50, 80, 220),
    "yellow": (240, 200, 40),
    "black": (30, 30, 30),
    "pink": (240, 130, 190),
}
SHAPES = ("circle", "square", "triangle", "cross", "ring", "bar")


class GridPicture(NamedTuple):
    """A picture, its caption, and the box of each word as (top, left, bottom, right) in shares of the picture."""

    picture: Image.Image
    caption: str
    boxes: list[tuple[float, float, float, float]]


def make_grid_picture(
    random: np.random.Generator, *, cells: int = 4, pixels: int = 64, fewest: int = 2, most: int = 4
) -> GridPicture:
    """One picture with between `fewest` and `most` shapes in different cells."""
    if not 1 <= fewest <= most <= cells * cells or pixels < 4 * cells:
        raise ValueError(
            f"{fewest} to {most} shapes in {cells} x {cells} cells of {pixels} pixels: there must be a cell for each "
            "shape, at least 4 pixels wide"
        )
    count = int(random.integers(fewest, most + 1))
    places = sorted(int(place) for place in random.choice(cells * cells, count, replace=False))
    picture = Image.new("RGB", (pixels, pixels), "white")
    side, words, boxes = pixels / cells, [], []
    for place in places:
        colour = list(COLOURS)[int(random.integers(len(COLOURS)))]
        shape = SHAPES[int(random.integers(len(SHAPES)))]
        row, column = divmod(place, cells)
        _draw(ImageDraw.Draw(picture), shape, COLOURS[colour], column * side, row * side, side)
        words += [colour, shape]
        boxes += [(row / cells, column / cells, (row + 1) / cells, (column + 1) / cells)] * 2
    return GridPicture(picture, " ".join(words), boxes)


def _draw(pen: ImageDraw.ImageDraw, shape: str, colour: Any, left: float, top: float, side: float) -> None:
    near, far, middle = 0.12 * side, 0.88 * side, 0.5 * side
    box = (left + near, top + near, left + far, top + far)
    thick = max(2, round(0.2 * side))
    if shape == "circle":
        pen.ellipse(box, fill=colour)
    elif shape == "ring":
        pen.ellipse(box, outline=colour, width=thick)
    elif shape == "square":
        pen.rectangle(box, fill=colour)
    elif shape == "triangle":
        pen.polygon([(left + middle, top + near), (left + far, top + far), (left + near, top + far)], fill=colour)
    elif shape == "bar":
        pen.rectangle((left + near, top + 0.36 * side, left + far, top + 0.64 * side), fill=colour)
    else:
        pen.line((left + near, top + near, left + far, top + far), fill=colour, width=thick)
        pen.line((left + far, top + near, left + near, top + far), fill=colour, width=thick)


def write_grid_pictures(
    folder: str | PathLike[str], sizes: dict[str, int] | None = None, *, seed: int = 0, **settings: Any
) -> Path:
    """A folder that `load_captions` reads: so many pictures for each split, no caption and place in two splits.

    Args:
        sizes: split -> pictures; 4,000, 300 and 500 if not given.
        settings: as for `make_grid_picture`.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    random, seen = np.random.default_rng(seed), set()
    with zipfile.ZipFile(path / ARCHIVE, "w") as archive:
        for split, count in (sizes or {"train": 4000, "validation": 300, "test": 500}).items():
            lines: list[str] = []
            while len(lines) < count:
                made = make_grid_picture(random, **settings)
                key = (made.caption, tuple(made.boxes))
                if key in seen:
                    continue
                seen.add(key)
                name, file = f"{split}/{len(lines):05}.png", io.BytesIO()
                made.picture.save(file, "PNG")
                archive.writestr(name, file.getvalue())
                row = {"id": name, "file_name": name, "caption": made.caption, "boxes": made.boxes}
                lines.append(json.dumps(row) + "\n")
            (path / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
    return path
