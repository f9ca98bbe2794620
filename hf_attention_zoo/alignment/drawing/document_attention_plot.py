"""A document's attention as a picture, in the form of figures 5 and 6 of Yang et al. (2016).

Every sentence begins on a line of its own behind a red mark with its weight; words stand on blue.
"""

from os import PathLike
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from hf_attention_zoo.alignment.drawing.document_attention_html import colour_shares
from hf_attention_zoo.alignment.drawing.figures import (
    LONGEST_SIDE_INCHES,
    check_suffix,
    put_scale,
    put_text,
    save_tight,
    shortened,
)
from hf_attention_zoo.alignment.drawing.fonts import DrawableLabel, drawable_labels
from hf_attention_zoo.alignment.results.label_scores import label_title

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.document_attention import DocumentAttention

RED, BLUE = (0.90, 0.12, 0.12), (0.16, 0.43, 0.94)
MARK_INCHES = 0.5
LONGEST_WORD = 40
MEASURING_DPI = 288  # letters are as wide as they will be drawn; at 72 their hints make them narrower
SCALE = "red: sentences, blue: words; the darkest weigh most"


def plot_document(
    document: "DocumentAttention",
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    width_inches: float = 9.0,
    font_size: float = 10.0,
    dpi: int = 160,
) -> Figure:
    """Draw a document: sentence weights red, sqrt(p_s) p_w of each word blue, each as a share of the largest.

    The picture grows with the document up to 24 inches; then lines and letters shrink.

    Args:
        document: what to draw.
        path: file to write, .png, .svg or .pdf; None only returns the figure.
        title: the first line; by default the predicted label and its score.
        width_inches, font_size, dpi: sizes.

    Raises:
        ValueError: a document without words, another suffix, or sizes that are not positive.
    """
    check_suffix(path)
    if not document.sentences:
        raise ValueError("a document without words has nothing to draw")
    if min(width_inches - MARK_INCHES, font_size, dpi) <= 0:
        raise ValueError(
            f"width_inches={width_inches}, font_size={font_size} and dpi={dpi} must be positive, and the width more "
            f"than {MARK_INCHES}"
        )
    if title is None:
        title = label_title(document.label, document.scores)
    words = [shortened(word, LONGEST_WORD) for sentence in document.sentences for word in sentence]
    heading, *labels = drawable_labels([title, *words])
    widths = _widths(labels, font_size)
    lines_of = _broken(document, widths, width_inches - MARK_INCHES, font_size)
    space = 0.35 * font_size / 72
    ends = [sum(widths[word] + 2 * space for word in line) for sentence in lines_of for line in sentence]
    (title_width,) = _widths([heading], font_size + 1)
    width_inches = min(width_inches, max(MARK_INCHES + max(ends), title_width))  # no empty half beside short lines
    lines = sum(map(len, lines_of)) + 1.6  # the title
    pitch = 1.75 * font_size / 72
    shrink = min(1.0, LONGEST_SIDE_INCHES / (lines * pitch))
    if shrink < 1.0:
        font_size, pitch = font_size * shrink, pitch * shrink
        widths = [width * shrink for width in widths]

    height = lines * pitch
    figure = Figure(figsize=(width_inches, height), dpi=dpi, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width_inches), ylim=(height, 0))
    axes.axis("off")
    put_text(axes, 0.0, 0.7 * pitch, heading, font_size + 1)
    reds = colour_shares([document.sentence_weights])[0]
    blues = [blue for row in colour_shares(document.word_strengths()) for blue in row]
    space, top = 0.35 * font_size / 72, 1.3 * pitch
    put_scale(figure, SCALE)
    for share, red, sentence_lines in zip(document.sentence_weights, reds, lines_of, strict=True):
        box = Rectangle((0, top + 0.1 * pitch), MARK_INCHES - 0.1, 0.8 * pitch, facecolor=(*RED, float(red)), lw=0.3)
        box.set_edgecolor("#bbbbbb")
        axes.add_patch(box)
        number = DrawableLabel(f"{share:.2f}", labels[0].font_file)
        put_text(axes, 0.06, top + 0.5 * pitch, number, 0.75 * font_size)
        for line in sentence_lines:
            left = MARK_INCHES
            for index in line:
                tint = (*BLUE, float(blues[index]))
                place = (left - space / 2, top + 0.1 * pitch)
                axes.add_patch(Rectangle(place, widths[index] + space, 0.8 * pitch, facecolor=tint, lw=0))
                put_text(axes, left, top + 0.5 * pitch, labels[index], font_size)
                left += widths[index] + 2 * space
            top += pitch
    return save_tight(figure, path, dpi=dpi)


def _widths(labels: list[DrawableLabel], font_size: float) -> list[float]:
    """The width in inches of each label as it will be drawn."""
    renderer = FigureCanvasAgg(Figure(dpi=MEASURING_DPI)).get_renderer()
    fonts = {file: FontProperties(fname=file, size=font_size) for file in {label.font_file for label in labels}}
    known: dict[DrawableLabel, float] = {}
    for label in labels:
        if label not in known:
            known[label] = renderer.get_text_width_height_descent(label.text, fonts[label.font_file], False)[0]
            known[label] /= MEASURING_DPI
    return [known[label] for label in labels]


def _broken(
    document: "DocumentAttention", widths: list[float], room: float, font_size: float
) -> list[list[list[int]]]:
    """The indices of the words on each line of each sentence."""
    space, index = 0.7 * font_size / 72, 0
    broken: list[list[list[int]]] = []
    for sentence in document.sentences:
        lines: list[list[int]] = [[]]
        left = 0.0
        for _ in sentence:
            if lines[-1] and left + widths[index] > room:
                lines.append([])
                left = 0.0
            lines[-1].append(index)
            left += widths[index] + space
            index += 1
        broken.append(lines)
    return broken
