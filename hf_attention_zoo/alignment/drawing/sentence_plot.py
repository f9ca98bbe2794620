"""Sentences as points in the plane of their vectors, each with its text beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.alignment.drawing.figures import check_suffix, save_tight
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.sentence_projection import SentenceProjection

Box = tuple[float, float, float, float]  # left, bottom, right, top in pixels

LABEL_WIDTH = 34  # characters of a label's line
LABEL_LINES = 2  # what is longer ends in dots: the whole of a document would hide the others

DISTANCES = (6, 16, 28, 42, 60, 80, 110)  # points between a sentence's dot and its label
PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))  # where a label may stand


def plot_sentences(
    projection: SentenceProjection,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    dpi: int = 160,
) -> Any:
    """One point per sentence with its first words beside it; where there is room, no label covers another.

    Returns matplotlib's Figure.

    Raises:
        ValueError: another suffix than .png, .svg or .pdf.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

    check_suffix(path)
    figure = Figure(figsize=(9.0, 7.0), dpi=dpi, facecolor="white")
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes = figure.add_subplot()
    axes.scatter(projection.points[:, 0], projection.points[:, 1], s=14, color="black", zorder=4)
    axes.margins(0.25, 0.12)
    axes.autoscale_view()
    shares = [f"{100 * share:.0f} %" for share in projection.explained]
    axes.set_xlabel(f"first principal component, {shares[0]} of the variance")
    axes.set_ylabel(f"second, {shares[1]}")
    *labels, title_label = drawable_labels([*projection.texts, title or ""])
    if title:
        axes.set_title(title_label.text, fontproperties=FontProperties(fname=title_label.font_file, size=11))

    frame, dot = axes.get_window_extent(renderer).extents, 3.5 * dpi / 72
    taken = [(x - dot, y - dot, x + dot, y + dot) for x, y in axes.transData.transform(projection.points)]
    for point, label in zip(projection.points, labels, strict=True):
        text = axes.annotate(
            "\n".join(textwrap.wrap(label.text, LABEL_WIDTH, max_lines=LABEL_LINES, placeholder=" ...") or [""]),
            point,
            xytext=(0, 0),
            textcoords="offset points",
            va="bottom",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},  # over the lines to other labels
            fontproperties=FontProperties(fname=label.font_file, size=8.5),
            parse_math=False,
        )
        drawn = text.get_window_extent(renderer)
        pixel = [float(place) for place in axes.transData.transform(point)]
        size = (drawn.width, drawn.height)
        place, box = _free_place(pixel, size, taken, frame, dpi / 72)
        offset = ((box[0] - pixel[0]) * 72 / dpi, (box[1] - pixel[1]) * 72 / dpi)
        text.set_position(offset)
        if place > DISTANCES[0]:
            ends = axes.transData.inverted().transform([pixel, [*_nearest_edge(pixel, box)]])
            axes.plot(*ends.T, color="#999999", linewidth=0.6, zorder=1, scalex=False, scaley=False)
        taken.append(box)
    return save_tight(figure, path)


def _free_place(
    pixel: Sequence[float],
    size: tuple[float, float],
    taken: Sequence[Box],
    frame: Sequence[float],
    scale: float,
) -> tuple[float, Box]:
    """How far from its dot a label of a size stands, and its box: the nearest place that covers nothing.

    Where there is none, the one that covers the least of the other labels and stays within the frame.
    """
    width, height = size
    found: list[tuple[float, float, Box]] = []
    for distance in DISTANCES:
        for across, up in PLACES:
            left = pixel[0] + across * distance * scale - {1: 0.0, 0: width / 2, -1: width}[across]
            bottom = pixel[1] + up * distance * scale - {1: 0.0, 0: height / 2, -1: height}[up]
            box = (left, bottom, left + width, bottom + height)
            outside = width * height - _overlap(box, frame)
            covered = sum(_overlap(box, other) for other in taken) + outside
            if covered < 1:
                return distance, box
            found.append((covered, distance, box))
    _, least, box = min(found)
    return least, box


def _nearest_edge(pixel: Sequence[float], box: Box) -> tuple[float, float]:
    """The point of a box that is nearest to a dot."""
    return min(max(pixel[0], box[0]), box[2]), min(max(pixel[1], box[1]), box[3])


def _overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Area that two boxes (left, bottom, right, top) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)
