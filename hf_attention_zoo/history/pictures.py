"""The lines and bars that pictures of claims are made of: a mean over seeds, every seed as a point or a thin line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hf_attention_zoo.alignment.drawing.figures import head_colour


def draw_lines(
    axes: Any, places: Sequence[float], curves: Mapping[str, Sequence[Sequence[float]]], across: str, up: str
) -> None:
    """One line a curve: its mean over the seeds, with what the seeds span behind it.

    Args:
        places: where the points stand, for all curves.
        curves: name -> a row of numbers for each seed.
        across, up: what the axes show.
    """
    for order, (name, rows) in enumerate(curves.items()):
        numbers = np.array(rows, dtype=float)  # (seeds, points)
        axes.plot(
            places, numbers.mean(0), marker="o" if len(places) < 20 else "", ms=4, color=head_colour(order), label=name
        )
        axes.fill_between(places, numbers.min(0), numbers.max(0), color=head_colour(order), alpha=0.15, linewidth=0)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def draw_bars(axes: Any, bars: Mapping[str, Sequence[float]], up: str) -> None:
    """One bar a name: the mean over the seeds, each seed as a point."""
    for place, numbers in enumerate(bars.values()):
        axes.bar(place, float(np.mean(numbers)), color=head_colour(0), alpha=0.35, width=0.6)
        axes.plot([place] * len(numbers), numbers, "o", ms=4, color=head_colour(0))
    axes.set_xticks(range(len(bars)), list(bars), fontsize=8, rotation=20 if len(bars) > 3 else 0)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
