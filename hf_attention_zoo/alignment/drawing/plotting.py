"""The alignment matrix as a picture, in the form of figure 3 of Bahdanau et al. (2015)."""

from os import PathLike
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from hf_attention_zoo.alignment.drawing.figures import (
    LONGEST_SIDE_INCHES,
    check_suffix,
    save_tight,
    shortened,
    style_text,
)
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.aligned import Alignment

LONGEST_LABEL = 24


def plot_alignment(
    alignment: "Alignment",
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    cell_inches: float = 0.27,
    dpi: int = 160,
) -> Figure:
    """Draw target tokens down the rows and source tokens across the top; a bar says white is a weight of 1, black 0.

    Cells are square. The picture grows with the number of tokens until its longer side reaches 24 inches; beyond
    that the cells and their labels shrink. Labels of more than 24 characters are shortened.

    Args:
        alignment: what to draw.
        path: file to write, .png, .svg or .pdf; None only returns the figure.
        title: a line above the picture.
        cell_inches: side of a cell.
        dpi: resolution of a PNG.

    Raises:
        ValueError: an alignment without tokens, another suffix, or sizes that are not positive.
    """
    check_suffix(path)
    rows, columns = alignment.weights.shape
    if rows == 0 or columns == 0:
        raise ValueError(f"an alignment of {rows} target and {columns} source tokens has nothing to draw")
    if cell_inches <= 0 or dpi <= 0:
        raise ValueError(f"cell_inches={cell_inches} and dpi={dpi} must be positive")

    cell = min(cell_inches, LONGEST_SIDE_INCHES / max(rows, columns))
    font_size = min(10.0, 72 * cell * 0.55)
    texts = [
        *(shortened(token, LONGEST_LABEL) for token in (*alignment.source_tokens, *alignment.target_tokens)),
        title or "",
    ]
    *labels, title_label = drawable_labels(texts)  # together, so that one warning covers all of them
    source_labels, target_labels = labels[:columns], labels[columns:]

    figure = Figure(figsize=(columns * cell, rows * cell), dpi=dpi, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))  # the matrix fills the figure; labels lie outside, saved by "tight"
    axes.imshow(alignment.weights, cmap="gray", vmin=0.0, vmax=1.0, aspect="equal", interpolation="nearest")
    axes.xaxis.tick_top()
    axes.set_xticks(range(columns), [shortened(label.text, LONGEST_LABEL) for label in source_labels])
    axes.set_yticks(range(rows), [shortened(label.text, LONGEST_LABEL) for label in target_labels])
    axes.tick_params(length=0, pad=max(1.5, 12 * cell), colors="black")
    for spine in axes.spines.values():
        spine.set(color="black", linewidth=0.8)
    for text, label in zip(axes.get_xticklabels(), source_labels, strict=True):
        style_text(text, label, font_size)
        text.set(rotation=90, rotation_mode="anchor", ha="left", va="center_baseline")
    for text, label in zip(axes.get_yticklabels(), target_labels, strict=True):
        style_text(text, label, font_size)
    _colour_bar(figure, columns * cell, min(rows * cell, 2.0))
    if title:
        style_text(axes.set_title(title_label.text, pad=8, color="black"), title_label, font_size + 1)
    return save_tight(figure, path, dpi=dpi)


def _colour_bar(figure: Figure, width: float, height: float) -> None:
    """From black to white beside the matrix, `width` inches wide, with the weights that they stand for."""
    across, down = figure.get_size_inches()
    bar = figure.add_axes(((width + 0.18) / across, 1 - height / down, 0.1 / across, height / down))
    bar.imshow([[1 - step / 255] for step in range(256)], cmap="gray", vmin=0.0, vmax=1.0, aspect="auto")
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.set_yticks([0, 255], ["1", "0"])
    bar.tick_params(length=0, pad=2, labelsize=7.5, colors="black")
    bar.set_ylabel("weight", fontsize=7.5, labelpad=2)
    bar.yaxis.set_label_position("right")
