"""The example of a card, run: what its lines print is recorded beside the model, and shown in the card.

`example.json` holds the lines and what they printed. A card shows it only while its lines are still these.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_attention_zoo.whole_files import json_if_any, write_json

EXAMPLE_FILE = "example.json"
LONGEST = 500  # characters of what was printed
_DIGITS = re.compile(r"(\d+\.\d{4})\d+")


def run_example(folder: Path, code: str) -> str:
    """Run the lines of a card where the folder lies, and record what they print; returns it.

    Numbers are cut to four digits behind the point, long output is cut off.

    Raises:
        ValueError: the lines fail, as they would for a reader.
    """
    printed = io.StringIO()
    try:
        with _inside(folder.resolve().parent), contextlib.redirect_stdout(printed):
            exec(compile(code, f"{folder.name}/README.md", "exec"), {"__name__": "__card__"})
    except Exception as error:
        raise ValueError(f"the example of {folder} does not run ({type(error).__name__}: {error})") from error
    text = readable(printed.getvalue())
    write_json(folder / EXAMPLE_FILE, {"code": code, "prints": text})
    return text


def readable(printed: str) -> str:
    """What was printed, with numbers of four digits and not endless."""
    text = _DIGITS.sub(r"\1", printed.strip())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def recorded_example(folder: Path, code: str) -> str | None:
    """What the lines printed when they were run; None if they were not, or are others now."""
    path = folder / EXAMPLE_FILE
    record = json_if_any(path) if path.is_file() else {}
    return record["prints"] if record.get("code") == code and isinstance(record.get("prints"), str) else None


def widget_output(printed: str | None) -> Any:
    """The answer as the Hub's widget shows it: `{"text": ...}`, or labels with scores; None for anything else."""
    try:
        answer = ast.literal_eval(printed or "")
    except (ValueError, SyntaxError):
        return None
    rows = answer if isinstance(answer, list) else [answer]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    if all({"label", "score"} <= row.keys() for row in rows):
        return [{"label": str(row["label"]), "score": row["score"]} for row in rows]
    text = next((rows[0][name] for name in ("translation_text", "generated_text") if name in rows[0]), None)
    return {"text": text} if isinstance(text, str) else None


@contextlib.contextmanager
def _inside(place: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)
