"""The picture of a claim's results."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from hf_attention_zoo.alignment.drawing.figures import save_tight
from hf_attention_zoo.history.kept_results import Results


def write_picture(results: Results, folder: Path) -> Path:
    """Draw what a claim's seeds showed; returns the file, `A1.png` in the folder."""
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    results.claim.draw(figure, results)
    path = folder / f"{results.claim.number}{'.quick' if results.quick else ''}.png"
    save_tight(figure, path, dpi=130)
    return path
