"""A caption's attention as panels, in the form of the figures of Xu et al. (2015): bright where the model looked."""

import math
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from hf_attention_zoo.alignment.drawing.figures import (
    LONGEST_SIDE_INCHES,
    check_suffix,
    put_scale,
    save_tight,
    shortened,
    style_text,
)
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels
from hf_attention_zoo.alignment.results.picture_upsampling import SMOOTHING

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.picture_attention import PictureAttention

LONGEST_TOKEN = 18
TITLE_INCHES, LABEL_INCHES = 0.35, 0.3


def plot_picture(
    attention: "PictureAttention",
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    columns: int = 5,
    smoothing: float = SMOOTHING,
    opacity: float = 0.8,
    panel_inches: float = 1.7,
    dpi: int = 160,
) -> Figure:
    """Draw the picture and a panel per token, the token above it and the gate's value behind the token.

    In each panel the largest weight is bright and 0 is dark.

    Args:
        attention: what to draw.
        path: file to write, .png, .svg or .pdf; None only returns the figure.
        title: the line above; by default the caption.
        columns: panels in a row.
        smoothing: of the weights, in regions, see `upsample`; 0 leaves the straight lines between regions.
        opacity: of the weights over the picture, 0.8 in the authors' notebook.
        panel_inches, dpi: sizes.

    Raises:
        ValueError: a caption without tokens, another suffix, or sizes that are not positive.
    """
    check_suffix(path)
    if not attention.tokens:
        raise ValueError("a caption without tokens has nothing to draw")
    if min(columns, panel_inches, dpi) <= 0 or not 0 <= opacity <= 1:
        raise ValueError(
            f"columns={columns}, panel_inches={panel_inches} and dpi={dpi} must be positive, and opacity={opacity} "
            "between 0 and 1"
        )
    count = 1 + len(attention.tokens)
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    panel_inches = min(panel_inches, LONGEST_SIDE_INCHES / columns, LONGEST_SIDE_INCHES / rows - LABEL_INCHES)
    row_inches = panel_inches * attention.picture.shape[0] / attention.picture.shape[1] + LABEL_INCHES
    figure = Figure(figsize=(columns * panel_inches, rows * row_inches + TITLE_INCHES), dpi=dpi, facecolor="white")
    heading, *labels = drawable_labels([title or attention.caption or " ", "", *_labels(attention)])
    width, height = figure.get_size_inches()
    written = figure.text(0.0, 1 - 0.5 * TITLE_INCHES / height, heading.text, ha="left", va="center")
    style_text(written, heading, 11)
    gates = "" if attention.gates is None else "; in brackets: how much of what was seen went into the word"
    put_scale(figure, f"bright: where the weight of the word is largest, dark: no weight{gates}")
    panels = [attention.picture, *panel_pictures(attention, smoothing, opacity)]
    for place, (panel, label) in enumerate(zip(panels, labels, strict=True)):
        row, column = divmod(place, columns)
        bottom = height - TITLE_INCHES - (row + 1) * row_inches
        axes = figure.add_axes(
            (
                (column + 0.02) * panel_inches / width,
                bottom / height,
                0.96 * panel_inches / width,
                (row_inches - LABEL_INCHES) / height,
            )
        )
        axes.imshow(panel, interpolation="nearest", aspect="auto")
        axes.set_xticks([])
        axes.set_yticks([])
        above = figure.text(
            (column + 0.02) * panel_inches / width, (bottom + row_inches - 0.5 * LABEL_INCHES) / height, label.text
        )
        above.set(ha="left", va="center")
        style_text(above, label, 8)
    return save_tight(figure, path, dpi=dpi)


def _labels(attention: "PictureAttention") -> list[str]:
    """The tokens, with the value of the gate where there is one."""
    tokens = [shortened(token, LONGEST_TOKEN) for token in attention.tokens]
    if attention.gates is None:
        return tokens
    return [f"{token} ({gate:.2f})" for token, gate in zip(tokens, attention.gates, strict=True)]


def panel_pictures(attention: "PictureAttention", smoothing: float, opacity: float) -> list[np.ndarray]:
    """The picture under each token's weights, (H, W, 3) bytes."""
    maps = attention.maps(smoothing)
    shares = maps / np.maximum(maps.max(axis=(1, 2), keepdims=True), np.finfo(np.float32).tiny)
    light = 1 - opacity + opacity * shares[..., None]  # the picture's own colours where the weight is largest
    return list(np.clip(np.round(attention.picture[None] * light), 0, 255).astype(np.uint8))
