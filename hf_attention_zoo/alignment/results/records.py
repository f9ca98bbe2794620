"""How the values of this package are written as text and read back."""

import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from hf_attention_zoo.data.text_lines import written_file


def written(text: str, path: str | PathLike[str] | None, end: str = "") -> str:
    """The text as it is; with a path also a file of it and `end`, in folders that are made where they are missing."""
    if path is not None:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_file(file) as out:
            out.write(text + end)
    return text


def json_text(source: str | PathLike[str]) -> str:
    """A JSON object's text: `source` itself, or what the file of that name holds."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    return Path(source).read_text(encoding="utf-8")


def read_fields(
    source: str | PathLike[str], fields: Sequence[str], what: str, advice: str = "", optional: Sequence[str] = ()
) -> dict[str, Any]:
    """The fields of a JSON object, given as its text or as the path of a file that holds it.

    Args:
        what: what the object holds, for messages.
        advice: what messages about missing fields end with.
        optional: fields that are read where they are there.

    Raises:
        ValueError: the text is no JSON object with these fields.
    """
    try:
        record = json.loads(json_text(source))
    except json.JSONDecodeError as error:
        raise ValueError(f"not the JSON of {what}: {error}") from error
    missing = [name for name in fields if not isinstance(record, dict) or name not in record]
    if missing:
        raise ValueError(f"not the JSON of {what}: {', '.join(missing)} missing{advice}")
    return {name: record[name] for name in (*fields, *(extra for extra in optional if extra in record))}


def exact(weights: Iterable[np.float32]) -> list[float]:
    """The shortest decimals that name the same float32."""
    return [float(str(weight)) for weight in weights]
