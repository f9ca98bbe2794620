"""Histograms of a word's weight by label, in the form of figures 3 and 4 of Yang et al. (2016)."""

from os import PathLike
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from hf_attention_zoo.alignment.drawing.figures import check_suffix, save_figure
from hf_attention_zoo.alignment.drawing.fonts import drawable_labels

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.word_weights import WordWeights

COLUMNS, PANEL_INCHES = 3, (2.6, 1.9)
MOST_PANELS = 30


def plot_word_weights(weights: "WordWeights", path: str | PathLike[str] | None = None, *, dpi: int = 160) -> Figure:
    """One histogram over all labels, then one for each label that has the word; shares of its occurrences.

    Args:
        path: file to write, .png, .svg or .pdf; None only returns the figure.

    Raises:
        ValueError: another suffix, or more labels than fit a page.
    """
    check_suffix(path)
    parts = [("all", weights.together())]
    parts += [(label, part) for label, part in weights.by_label.items() if part.weights]
    if len(parts) > MOST_PANELS:
        raise ValueError(f"{len(parts) - 1} labels have the word; at most {MOST_PANELS - 1} are drawn: write .json")
    rows = -(-len(parts) // COLUMNS)
    figure = Figure(figsize=(COLUMNS * PANEL_INCHES[0], rows * PANEL_INCHES[1] + 0.4), dpi=dpi, facecolor="white")
    heading, *titles = drawable_labels([weights.word, *(f"{label} ({len(part.weights)})" for label, part in parts)])
    figure.suptitle(heading.text, fontproperties=FontProperties(fname=heading.font_file, size=12), parse_math=False)
    bins = len(parts[0][1].record()["histogram"])
    shares = [[count / len(part.weights) for count in part.record()["histogram"]] for _, part in parts]
    top = 1.05 * max(max(share) for share in shares)
    for number, (share, title) in enumerate(zip(shares, titles, strict=True), 1):
        axes = figure.add_subplot(rows, COLUMNS, number)
        axes.bar([(place + 0.5) / bins for place in range(bins)], share, width=1 / bins, color="#3b6fd4")
        axes.set(xlim=(0, 1), ylim=(0, top))
        axes.tick_params(labelsize=7)
        font = FontProperties(fname=title.font_file, size=9)
        axes.set_title(title.text, fontproperties=font, parse_math=False)
        if number > len(parts) - COLUMNS:
            axes.set_xlabel("word weight", fontsize=8)
        if number % COLUMNS == 1:
            axes.set_ylabel("share", fontsize=8)
    figure.tight_layout()
    return save_figure(figure, path, dpi=dpi)
