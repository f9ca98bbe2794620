"""A tree of words, lying on its side: words on the right, what they are joined by to the left of them."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from hf_attention_zoo.alignment.drawing.figures import check_suffix, save_tight, style_text
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.word_clusters import WordClusters

LINE_INCHES = 0.17  # height of a word


def plot_clusters(
    clusters: WordClusters,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    dpi: int = 160,
) -> Any:
    """The tree with one line for each word; two branches meet at the mean distance of their words.

    Returns matplotlib's Figure.

    Raises:
        ValueError: another suffix than .png, .svg or .pdf.
    """
    check_suffix(path)
    size, order = len(clusters.words), clusters.leaves()
    figure = Figure(figsize=(5.5, LINE_INCHES * size + 0.8), dpi=dpi, facecolor="white")
    axes = figure.add_subplot()
    places = {leaf: (0.0, float(line)) for line, leaf in enumerate(order)}  # distance and line of each cluster
    for step, (first, second, far) in enumerate(clusters.merges.tolist()):
        (near, upper), (other, lower) = places[int(first)], places[int(second)]
        axes.plot([near, far, far, other], [upper, upper, lower, lower], color="black", linewidth=0.9)
        places[size + step] = (far, (upper + lower) / 2)
    axes.invert_xaxis()
    axes.set_ylim(size - 0.5, -0.5)
    axes.yaxis.tick_right()
    *labels, title_label = drawable_labels([*(clusters.words[leaf] for leaf in order), title or ""])
    axes.set_yticks(range(size), [label.text for label in labels])
    for text, label in zip(axes.get_yticklabels(), labels, strict=True):
        style_text(text, label, 8.5)
    axes.tick_params(axis="y", length=0, pad=2)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("mean distance of the states", fontsize=8.5)
    axes.tick_params(axis="x", labelsize=8)
    if title:
        style_text(axes.set_title(title_label.text), title_label, 10)
    return save_tight(figure, path)
