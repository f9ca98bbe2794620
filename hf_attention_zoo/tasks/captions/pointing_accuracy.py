"""Does a captioner look at what it names? Counted where the box of every word is known.

Row t of the attention is where the model looked before it wrote word t. A word counts as pointed at if the middle of
the region with the largest weight lies in its box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hf_attention_zoo.alignment.results.picture_attention import PictureAttention, align_pictures
from hf_attention_zoo.tasks.captions.rows import CaptionRows

Box = Sequence[float]


def points_at(attention: PictureAttention, boxes: Sequence[Box]) -> dict[str, np.ndarray]:
    """For each word with a box: whether its region was hit, the weight inside the box, the box's share of the picture.

    Args:
        boxes: (top, left, bottom, right) in shares of the picture, one for each of the first tokens.

    Raises:
        ValueError: more boxes than tokens.
    """
    if len(boxes) > len(attention.tokens):
        raise ValueError(f"{len(boxes)} boxes for {len(attention.tokens)} tokens: {' '.join(attention.tokens)}")
    rows, columns = attention.weights.shape[1:]
    down, across = (np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns
    hits, inside, areas = [], [], []
    for (top, left, bottom, right), grid in zip(boxes, attention.weights, strict=False):
        within = ((down >= top) & (down < bottom))[:, None] & ((across >= left) & (across < right))[None]
        hits.append(bool(within.flat[int(grid.argmax())]))
        inside.append(float(grid[within].sum()))
        areas.append((bottom - top) * (right - left))
    return {"hit": np.array(hits), "inside": np.array(inside), "area": np.array(areas)}


def pointing_accuracy(model: Any, processor: Any, rows: CaptionRows, batch_size: int = 32) -> dict[str, float]:
    """Over all words of the first captions of rows with `boxes`, read by the model word for word.

    Returns:
        pointing: share of words whose region was hit; mass: mean weight inside the box; chance: mean area of a box;
        each in percent; and `words`.

    Raises:
        ValueError: a caption that is not cut into as many tokens as it has boxes.
    """
    pictures = [rows.picture(index) for index in range(len(rows))]
    given = model.config.image_encoder == "regions"
    read = align_pictures(
        model,
        processor,
        pictures,
        annotations=rows.regions.stack(range(len(rows))) if given else None,
        captions=[listed[0] for listed in rows.captions],
        batch_size=batch_size,
    )
    for one, row in zip(read, rows.rows, strict=True):
        if len(one.tokens) - len(row["boxes"]) not in (0, 1):  # the end mark has no box
            raise ValueError(
                f"{len(row['boxes'])} boxes, but the tokens {' '.join(one.tokens)}; pointing is scored for tokenizers "
                "that make one token of every word with a box"
            )
    found = [points_at(one, row["boxes"]) for one, row in zip(read, rows.rows, strict=True)]
    joined = {name: np.concatenate([one[name] for one in found]) for name in ("hit", "inside", "area")}
    return {
        "pointing": 100 * float(joined["hit"].mean()),
        "mass": 100 * float(joined["inside"].mean()),
        "chance": 100 * float(joined["area"].mean()),
        "words": len(joined["hit"]),
    }
