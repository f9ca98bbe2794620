"""Histograms of a word's weight by label, in the form of figures 3 and 4 of Yang et al. (2016)."""

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from hf_attention_zoo.alignment.drawing.figures import check_suffix, save_figure, shortened
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.word_weights import WordWeights

PANEL_INCHES = (2.3, 1.8)
LONGEST_LABEL = 22
MOST_PANELS = 12  # the first for all labels


def plot_word_weights(weights: "WordWeights", path: str | PathLike[str] | None = None, *, dpi: int = 160) -> Figure:
    """One histogram over all labels, then one for each label that has the word; shares of its occurrences.

    Of many labels those with the most occurrences have histograms of their own, and the rest share one.

    Args:
        path: file to write, .png, .svg or .pdf; None only returns the figure.

    Raises:
        ValueError: another suffix.
    """
    check_suffix(path)
    parts = [("all", weights.together())]
    there = [(label, part) for label, part in weights.by_label.items() if part.weights]
    if len(there) >= MOST_PANELS:
        often = sorted(range(len(there)), key=lambda place: -len(there[place][1].weights))[: MOST_PANELS - 2]
        rest = {label: part for place, (label, part) in enumerate(there) if place not in often}
        there = [there[place] for place in sorted(often)]
        there.append((f"{len(rest)} others", replace(weights, by_label=rest).together()))
    parts += there
    columns = 3 if len(parts) <= 9 else 4
    rows = -(-len(parts) // columns)
    figure = Figure(figsize=(columns * PANEL_INCHES[0], rows * PANEL_INCHES[1] + 0.4), dpi=dpi, facecolor="white")
    said = [f"{shortened(label, LONGEST_LABEL)} ({len(part.weights)})" for label, part in parts]
    heading, *titles = drawable_labels([f"{weights.word}: how often with which weight", *said])
    figure.suptitle(heading.text, fontproperties=FontProperties(fname=heading.font_file, size=12), parse_math=False)
    bins = len(parts[0][1].record()["histogram"])
    shares = [[count / len(part.weights) for count in part.record()["histogram"]] for _, part in parts]
    top = 1.05 * max(max(share) for share in shares)
    for number, (share, title) in enumerate(zip(shares, titles, strict=True), 1):
        axes = figure.add_subplot(rows, columns, number)
        axes.bar([(place + 0.5) / bins for place in range(bins)], share, width=1 / bins, color="#3b6fd4")
        axes.set(xlim=(0, 1), ylim=(0, top))
        axes.tick_params(labelsize=7)
        font = FontProperties(fname=title.font_file, size=9)
        axes.set_title(title.text, fontproperties=font, parse_math=False)
        if number > len(parts) - columns:
            axes.set_xlabel("word weight", fontsize=8)
        if number % columns == 1:
            axes.set_ylabel("share", fontsize=8)
    figure.tight_layout()
    return save_figure(figure, path, dpi=dpi)
