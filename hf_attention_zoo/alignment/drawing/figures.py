"""What every picture of this package has in common: the forms it may be written in, its letters, how it is saved.

Figures are built from matplotlib's classes alone: pyplot, the backend and the global settings stay untouched, so that
drawing works in a thread, on a machine without display and inside somebody else's program.
"""

import colorsys
import io
from os import PathLike
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text

from hf_attention_zoo.alignment.drawing.fonts import DrawableLabel

SUFFIXES = (".png", ".svg", ".pdf")
LONGEST_SIDE_INCHES = 24.0
SCALE_INCHES = 0.12


def check_suffix(path: str | PathLike[str] | None) -> None:
    """Raise a ValueError if a picture cannot be written under this name; None is no file."""
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"cannot write {Path(path).name!r}: the suffix must be one of {', '.join(SUFFIXES)}")


def style_text(text: Text, label: DrawableLabel, size: float) -> None:
    """Give a text the font of its label and a size in points; a dollar sign in it is a dollar sign."""
    text.set_fontproperties(FontProperties(fname=label.font_file, size=size))
    text.set_parse_math(False)
    text.set_usetex(False)


def put_text(axes: Any, left: float, middle: float, label: DrawableLabel, size: float) -> None:
    """Write a label in black from its left edge on."""
    style_text(axes.text(left, middle, label.text, ha="left", va="center", color="black"), label, size)


def put_scale(figure: Figure, said: str) -> None:
    """A line in grey below everything that says what the colours mean; the file is saved with it (`save_tight`)."""
    below = -SCALE_INCHES / figure.get_size_inches()[1]
    figure.text(0.0, below, said, ha="left", va="top", fontsize=7.5, color="#555555", parse_math=False)


def head_colour(order: int) -> str:
    """The colour of the head in this place, in pictures and pages alike: hues that lie far apart for a few heads."""
    red, green, blue = colorsys.hls_to_rgb(order * 137.5 % 360 / 360, 0.42, 0.65)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def shortened(token: str, longest: int) -> str:
    """A token of at most `longest` characters; the last of one that was cut is an ellipsis."""
    return token if len(token) <= longest else token[: longest - 1] + "…"


def figure_png(figure: Figure) -> bytes:
    """A figure as PNG, as notebooks show it."""
    made = io.BytesIO()
    figure.savefig(made, format="png", facecolor="white", bbox_inches="tight", pad_inches=0.12)
    return made.getvalue()


def save_figure(figure: Figure, path: str | PathLike[str] | None, **options: Any) -> Figure:
    """Write a figure if there is a path, with missing folders, and return it. `options` go to `savefig`."""
    if path is not None:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, facecolor="white", **options)
    return figure


def save_tight(figure: Figure, path: str | PathLike[str] | None, **options: Any) -> Figure:
    """`save_figure` with what stands outside the axes, and a small margin."""
    return save_figure(figure, path, bbox_inches="tight", pad_inches=0.12, **options)
