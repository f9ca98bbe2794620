"""How the values of this package are written as text and read back."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import numpy as np


def written(text: str, path: str | PathLike[str] | None, end: str = "") -> str:
    """The text as it is; with a path also a file of it and `end`, in folders that are made where they are missing."""
    if path is not None:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + end, encoding="utf-8")
    return text


def json_text(source: str | PathLike[str]) -> str:
    """A JSON object's text: `source` itself, or what the file of that name holds."""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    return source if is_text else Path(source).read_text(encoding="utf-8")


def exact(weights: Iterable[np.float32]) -> list[float]:
    """The shortest decimals that name the same float32."""
    return [float(str(weight)) for weight in weights]
