"""The hops over a text as a picture, in the form of figures 2 and 3 of Lin et al. (2017).

For each text the words on red by their summed weights, then a heat map with a row for each hop.
"""

from os import PathLike
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from hf_attention_zoo.alignment.drawing.document_attention_plot import MEASURING_DPI
from hf_attention_zoo.alignment.drawing.figures import (
    LONGEST_SIDE_INCHES,
    check_suffix,
    put_scale,
    put_text,
    save_tight,
    shortened,
    style_text,
)
from hf_attention_zoo.alignment.drawing.fonts import DrawableLabel, drawable_labels
from hf_attention_zoo.alignment.results.label_scores import label_title

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.hop_attention import AttendedText, HopAttention

RED = (0.90, 0.12, 0.12)
HEAT = LinearSegmentedColormap.from_list("hops", [(1.0, 1.0, 1.0), RED])
LONGEST_WORD = 32
MARGIN_INCHES = 0.4  # left of the heat maps, for the numbers of the hops


def plot_hops(
    attention: "HopAttention",
    path: str | PathLike[str] | None = None,
    *,
    hops: bool = True,
    title: str | None = None,
    width_inches: float = 9.0,
    font_size: float = 10.0,
    dpi: int = 160,
) -> Figure:
    """Draw one text or both of a pair; the darkest red is the largest weight of a text, or of a hop.

    The picture grows with the texts up to 24 inches either way; then words and cells shrink.

    Args:
        attention: what to draw.
        path: file to write, .png, .svg or .pdf; None only returns the figure.
        hops: draw the heat map of every hop, too.
        title: the first line; by default the predicted label and its score.
        width_inches: width of the running text; a heat map may be wider.
        font_size, dpi: sizes.

    Raises:
        ValueError: no text with a token, another suffix, or sizes that are not positive.
    """
    check_suffix(path)
    texts = [one for one in attention.texts if one.spans]
    if not texts:
        raise ValueError("no text has a token, so there is nothing to draw")
    if min(width_inches, font_size, dpi) <= 0:
        raise ValueError(f"width_inches={width_inches}, font_size={font_size} and dpi={dpi} must be positive")
    if title is None:
        title = label_title(attention.label, attention.scores)
    words = [shortened(token, LONGEST_WORD) for one in texts for token in one.tokens]
    heading, *labels = drawable_labels([title, *words])  # together, so that one warning covers all of them
    lines_of, labels_of = [], []
    for one in texts:
        mine, labels = labels[: len(one.spans)], labels[len(one.spans) :]
        labels_of.append(mine)
        lines_of.append(_lines(one, mine, width_inches, font_size))

    line = 1.75 * font_size / 72
    cell = min(0.22, (LONGEST_SIDE_INCHES - MARGIN_INCHES) / max(len(one.spans) for one in texts))
    label_size = min(0.8 * font_size, 72 * cell * 0.62)
    longest = [max(len(label.text) for label in mine) for mine in labels_of]
    names = [0.75 * label_size / 72 * length + 0.1 for length in longest]  # room above a heat map
    maps = [names[k] + cell * len(one.weights) + 0.2 if hops else 0.0 for k, one in enumerate(texts)]
    height = (line if title else 0.0) + sum(line * (len(lines) + 0.5) for lines in lines_of) + sum(maps)
    scale = min(1.0, LONGEST_SIDE_INCHES / height)
    edges = [left + size for lines in lines_of for line_words in lines for _, left, size in line_words]
    width = max([2.0, *edges, *(MARGIN_INCHES + cell * len(one.spans) for one in texts if hops)])
    figure = Figure(figsize=(width * scale, height * scale), dpi=dpi, facecolor="white")
    page = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    page.set(xlim=(0, width), ylim=(height, 0))
    page.axis("off")
    put_scale(figure, "the darkest red is the largest weight: of the text, and in the map of each hop")
    top = 0.0
    if title:
        put_text(page, 0.0, line / 2, heading, scale * (font_size + 1))
        top = line
    for one, mine, lines, name, room in zip(texts, labels_of, lines_of, names, maps, strict=True):
        summed = one.summed
        for words_of_line in lines:
            for index, left, size in words_of_line:
                tint = (*RED, float(summed[index] / summed.max()))
                page.add_patch(Rectangle((left, top + 0.1 * line), size, 0.8 * line, facecolor=tint, lw=0))
                put_text(page, left + 0.1 * font_size / 72, top + line / 2, mine[index], scale * font_size)
            top += line
        top += line / 2
        if hops:
            box = (MARGIN_INCHES, top + name, cell * len(one.spans), cell * len(one.weights))
            place = (box[0] / width, 1 - (box[1] + box[3]) / height, box[2] / width, box[3] / height)
            _heat_map(figure.add_axes(place), one, mine, scale * label_size)
            top += room
    return save_tight(figure, path, dpi=dpi)


def _heat_map(axes: Any, one: "AttendedText", labels: list[DrawableLabel], size: float) -> None:
    """One row a hop, each scaled to its own largest weight, tokens across the top."""
    largest = one.weights.max(1, keepdims=True)
    axes.imshow(one.weights / largest.clip(min=1e-12), cmap=HEAT, vmin=0.0, vmax=1.0, aspect="auto")
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(labels)), [label.text for label in labels])
    axes.set_yticks(range(len(one.weights)), [str(number) for number in range(1, len(one.weights) + 1)])
    axes.tick_params(length=0, pad=2, colors="black")
    for spine in axes.spines.values():
        spine.set(color="black", linewidth=0.6)
    for text, label in zip(axes.get_xticklabels(), labels, strict=True):
        style_text(text, label, size)
        text.set(rotation=90, rotation_mode="anchor", ha="left", va="center_baseline")
    for text in axes.get_yticklabels():
        style_text(text, DrawableLabel(text.get_text(), labels[0].font_file), size)


def _lines(
    one: "AttendedText", labels: list[DrawableLabel], room: float, font_size: float
) -> list[list[tuple[int, float, float]]]:
    """The words of each line of the running text: index, left edge and width of each, in inches.

    Words that touch in the text touch here.
    """
    renderer = FigureCanvasAgg(Figure(dpi=MEASURING_DPI)).get_renderer()
    fonts = {label.font_file: FontProperties(fname=label.font_file, size=font_size) for label in labels}
    padding, gap = 0.2 * font_size / 72, 0.25 * font_size / 72
    lines: list[list[tuple[int, float, float]]] = [[]]
    left, before = 0.0, 0
    for index, (label, (start, end)) in enumerate(zip(labels, one.spans, strict=True)):
        width, _, _ = renderer.get_text_width_height_descent(label.text, fonts[label.font_file], False)
        size = width / MEASURING_DPI + padding
        left += gap if start > before and lines[-1] else 0.0
        if lines[-1] and left + size > room:
            lines.append([])
            left = 0.0
        lines[-1].append((index, left, size))
        left, before = left + size, end
    return lines
