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

LABEL_WIDTH = 34  # characters of a label's line


PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))  # where a label may stand


def plot_sentences(
    projection: SentenceProjection,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    dpi: int = 160,
) -> Any:
    """One point per sentence with the sentence beside it; each label stands where it covers the least of the others.

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
    axes.scatter(projection.points[:, 0], projection.points[:, 1], s=14, color="black", zorder=2)
    axes.margins(0.25, 0.12)
    axes.autoscale_view()
    shares = [f"{100 * share:.0f} %" for share in projection.explained]
    axes.set_xlabel(f"first principal component, {shares[0]} of the variance")
    axes.set_ylabel(f"second, {shares[1]}")
    *labels, title_label = drawable_labels([*projection.texts, title or ""])
    if title:
        axes.set_title(title_label.text, fontproperties=FontProperties(fname=title_label.font_file, size=11))

    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in axes.transData.transform(projection.points)]
    for point, label in zip(projection.points, labels, strict=True):
        best = None
        for across, up in PLACES:
            text = axes.annotate(
                "\n".join(textwrap.wrap(label.text, LABEL_WIDTH) or [""]),
                point,
                xytext=(6 * across, 6 * up),
                textcoords="offset points",
                ha={1: "left", 0: "center", -1: "right"}[across],
                va={1: "bottom", 0: "center", -1: "top"}[up],
                fontproperties=FontProperties(fname=label.font_file, size=8.5),
                parse_math=False,
            )
            box = text.get_window_extent(renderer).extents
            covered = sum(_overlap(box, other) for other in taken)
            if best is None or covered < best[0]:
                if best is not None:
                    best[1].remove()
                best = (covered, text, box)
            else:
                text.remove()
            if not covered:
                break
        taken.append(tuple(best[2]))
    return save_tight(figure, path)


def _overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Area that two boxes (left, bottom, right, top) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)
