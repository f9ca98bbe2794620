"""Two columns of tokens joined by lines, in the form of figures 3 to 5 of Vaswani et al. (2017)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hf_attention_zoo.alignment.drawing.figures import (
    check_suffix,
    head_colour,
    put_scale,
    save_tight,
    shortened,
    style_text,
)
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels
from hf_attention_zoo.alignment.drawing.plotting import LONGEST_LABEL

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment

LINE_INCHES, GAP_INCHES, SQUARE = 0.24, 2.2, 0.045
HEADS_A_LINE = 6


def plot_columns(
    attention: HeadAlignment,
    path: str | PathLike[str] | None = None,
    *,
    rows: Sequence[int],
    title: str | None = None,
    least_weight: float = 0.02,
    dpi: int = 160,
) -> Figure:
    """Attending tokens on the left, attended ones on the right; a line's opacity is its weight.

    Squares beside an attended token show how much of each head's attention it gets from the tokens in `rows`, the
    most of any of them.

    Args:
        attention: what to draw.
        path: file to write, .png, .svg or .pdf.
        rows: attending tokens to draw lines from; the others are written in grey.
        title: a line above.
        least_weight: lines of smaller weights are left out.
        dpi: of a .png file.

    Raises:
        ValueError: another suffix, or nothing to draw.
    """
    check_suffix(path)
    attending, attended = len(attention.target_tokens), len(attention.source_tokens)
    if not attending or not attended or not rows:
        raise ValueError(f"attention of {len(rows)} of {attending} tokens to {attended} has nothing to draw")
    texts = [shortened(token, LONGEST_LABEL) for token in (*attention.target_tokens, *attention.source_tokens)]
    *labels, title_label = drawable_labels([*texts, title or ""])
    height = LINE_INCHES * max(attending, attended)
    figure = Figure(figsize=(GAP_INCHES, height), dpi=dpi, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(max(attending, attended) - 0.5, -0.5)

    squares = SQUARE * len(attention.heads)
    for order, _number in enumerate(attention.heads):
        colour, weights = head_colour(order), attention.weights[order]
        for row in rows:
            for column in range(attended):
                weight = float(weights[row, column])
                if weight >= least_weight:
                    axes.plot((0, 1), (row, column), color=colour, alpha=min(1.0, weight), linewidth=1.6, zorder=1)
        for column in range(attended):
            share = min(1.0, float(weights[list(rows), column].max()))
            box = Rectangle((1.01 + order * SQUARE, column - 0.32), SQUARE, 0.64, linewidth=0)
            box.set(facecolor=colour, alpha=share, clip_on=False)
            axes.add_patch(box)
    for place, label in enumerate(labels[:attending]):
        colour = "black" if place in set(rows) else "#999999"
        text = axes.text(-0.02, place, label.text, ha="right", va="center_baseline", color=colour, clip_on=False)
        style_text(text, label, 9)
    for place, label in enumerate(labels[attending:]):
        text = axes.text(1.03 + squares, place, label.text, ha="left", va="center_baseline", clip_on=False)
        style_text(text, label, 9)
    lines = _legend(axes, attention)
    put_scale(figure, "the stronger a line, the larger its weight; squares: the most that a head gives a word")
    if title:
        style_text(
            axes.text(0.5, -1.2 - lines, title_label.text, ha="center", va="bottom", clip_on=False), title_label, 10
        )
    return save_tight(figure, path, dpi=dpi)


def _legend(axes: Any, attention: HeadAlignment) -> int:
    """The kind and layer, and the heads in their colours, above the lines; how many lines of text it takes."""
    numbers = list(attention.heads)
    parts = [numbers[first : first + HEADS_A_LINE] for first in range(0, len(numbers), HEADS_A_LINE)]
    style = {"ha": "left", "va": "bottom", "fontsize": 8, "clip_on": False}
    said = f"{attention.kind} attention, layer {attention.layer}; heads"
    axes.text(0.0, -1.0 - len(parts), said, color="black", **style)
    for line, part in enumerate(parts):
        for place, number in enumerate(part):
            colour = head_colour(line * HEADS_A_LINE + place)
            axes.text(place / HEADS_A_LINE, line - len(parts), f"■ {number}", color=colour, **style)
    return len(parts) + 1
