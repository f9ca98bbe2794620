"""The hops over a text as HTML: without script for a notebook, and a page; nothing is loaded from elsewhere."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hf_attention_zoo.alignment.drawing.result_page import numbers, result_page

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.hop_attention import AttendedText, HopAttention

_STYLE = """
.zoo-hops{font-family:system-ui,sans-serif;font-size:14px;line-height:1.7;color:#111;background:#fff;padding:8px}
.zoo-hops .text{white-space:pre-wrap;margin:4px 0}
.zoo-hops .text span:hover{outline:1px solid #333}
.zoo-hops .hop{display:flex;gap:8px;font-size:12px;line-height:1.5}
.zoo-hops .hop b{flex:none;width:2.2em;text-align:right;font-weight:normal;color:#666}
.zoo-hops .hop .text{margin:0}
""".strip()


def hops_fragment(attention: "HopAttention") -> str:
    """The texts as a <div> with its own style, for a notebook or for placing in a page."""
    best = sorted(attention.scores.items(), key=lambda entry: -entry[1])[:3]
    scores = " · ".join(f"{escape(label)} {score:.3f}" for label, score in best)
    parts = [f"<div><strong>{scores}</strong></div>"] if scores else []
    parts.append("<small>The darkest red is the largest weight of the text, or of a hop.</small>")
    for one in attention.texts:
        parts.append(_coloured(one, one.summed))
        hops = "".join(
            f"<div class='hop'><b>{number}</b>{_coloured(one, row)}</div>"
            for number, row in enumerate(one.weights, start=1)
        )
        parts.append(f"<details><summary>each of the {len(one.weights)} hops</summary>{hops}</details>")
    return f"<div class='zoo-hops'><style>{_STYLE}</style>{''.join(parts)}</div>"


def hops_page(attention: "HopAttention") -> str:
    """A whole page around the texts."""
    title = attention.label or attention.texts[0].text or "Attention"
    stop = {
        "view": "hops",
        "title": title,
        "texts": [
            {"tokens": list(one.tokens), "summed": numbers(one.summed), "hops": numbers(one.weights)}
            for one in attention.texts
        ],
    }
    return result_page(title, [stop], plain=hops_fragment(attention))


def _coloured(one: "AttendedText", weights: np.ndarray) -> str:
    """The text as it is written, the largest weight on full red; hovering over a token shows its weight."""
    if not one.spans:
        return f"<div class='text'>{escape(one.text)}(a text without tokens)</div>"
    largest = float(weights.max()) or 1.0
    made, place = [], 0
    for token, (start, end), weight in zip(one.tokens, one.spans, weights, strict=True):
        made.append(escape(one.text[place:start]))
        red = float(weight) / largest
        made.append(f"<span style='background:rgba(230,30,30,{red:.3f})' title='{weight:.4f}'>{escape(token)}</span>")
        place = end
    return f"<div class='text'>{''.join(made)}{escape(one.text[place:])}</div>"
