"""One page for everything that a model looked at: data, style and script in one file, nothing loaded from elsewhere.

The page is a description of what is shown, as JSON, and the same script for all of it: `stops`, each with a `view`
("translation", "document", "hops" or "picture") and the fields of that view; `itself` in a "translation" says that a
text looks at itself. It is in English and Korean, light and dark, and serves a mouse, a keyboard and a screen reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

HEIGHT = 900  # pixels of the frame that a page is shown in


@cache
def _asset(name: str) -> str:
    return files("hf_attention_zoo.alignment.drawing").joinpath("page", name).read_text(encoding="utf-8")


def numbers(rows: Any) -> Any:
    """Weights of any shape as nested lists with four digits: what a page can show."""
    return [numbers(row) for row in rows] if getattr(rows, "ndim", 0) else round(float(rows), 4)


def result_page(
    title: str | Mapping[str, str],
    stops: Iterable[Mapping[str, Any]],
    *,
    about: str | Mapping[str, str] = "",
    plain: str = "",
    language: str | None = None,
) -> str:
    """A whole page.

    Args:
        title, about: texts, or a text for each of "en" and "ko".
        stops: what is shown, one section each.
        plain: HTML that stands for it where no script runs.
        language: "en" or "ko" at the start; the reader's own if not given.
    """
    named = title if isinstance(title, str) else title["en"]
    record = {"title": title, "about": about, "language": language, "stops": list(stops)}
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    inside = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(named)}</title><style>{_asset('page.css')}</style></head>"
        f"<body><div id='zoo-root'></div><noscript>{plain}</noscript>"
        f"<script type='application/json' id='zoo-data'>{inside}</script>"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def framed(page: str) -> str:
    """A whole page in a frame of its own, which may run its script and nothing else."""
    style = f"width:100%;height:{HEIGHT}px;border:0"
    return f"<iframe sandbox='allow-scripts' style='{style}' srcdoc='{escape(page)}'></iframe>"
