"""Two columns of tokens joined by lines: one picture in SVG without script for a notebook, and a page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.alignment.drawing.figures import head_colour
from hf_attention_zoo.alignment.drawing.result_page import numbers, result_page

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment

HEIGHT, COLUMN, GAP = 22, 190, 260
LEAST_WEIGHT = 0.02
_STYLE = (
    ".zoo-heads{font-family:system-ui,sans-serif;font-size:13px;color:#111;background:#fff}"
    ".zoo-heads line{stroke-width:2}.zoo-heads line:hover{stroke-opacity:1!important;stroke-width:4}"
)


def columns_fragment(attention: HeadAlignment) -> str:
    """One picture without script: a line from every attending token to every token it attends to, coloured by head."""
    left, right = attention.target_tokens, attention.source_tokens
    height = HEIGHT * (max(len(left), len(right)) + 1)
    parts = []
    for order, number in enumerate(attention.heads):
        for row, attending in enumerate(left):
            for column, attended in enumerate(right):
                weight = float(attention.weights[order, row, column])
                if weight < LEAST_WEIGHT:
                    continue
                label = escape(f"head {number}: {attending} → {attended}  {weight:.3f}")
                parts.append(
                    f"<line x1='{COLUMN}' y1='{_middle(row)}' x2='{COLUMN + GAP}' y2='{_middle(column)}' "
                    f"stroke='{head_colour(order)}' stroke-opacity='{min(1.0, weight):.3f}'>"
                    f"<title>{label}</title></line>"
                )
    for row, token in enumerate(left):
        parts.append(f"<text x='{COLUMN - 6}' y='{_middle(row) + 4}' text-anchor='end'>{escape(token)}</text>")
    for column, token in enumerate(right):
        parts.append(f"<text x='{COLUMN + GAP + 6}' y='{_middle(column) + 4}'>{escape(token)}</text>")
    legend = " ".join(
        f"<span style='color:{head_colour(order)}'>head {number}</span>"
        for order, number in enumerate(attention.heads)
    )
    title = escape(f"{attention.kind} attention, layer {attention.layer}: {attention.source_text}")
    return (
        f"<div class='zoo-heads'><style>{_STYLE}</style><div>{title}</div><div>{legend}</div>"
        "<small>The stronger a line, the larger its weight.</small><br>"
        f"<svg width='{2 * COLUMN + GAP}' height='{height}'>{''.join(parts)}</svg>"
        "</div>"
    )


def columns_page(attention: HeadAlignment) -> str:
    """A whole page: the heads one by one or together, each token with what it looks at."""
    title = attention.source_text or "Attention"
    stop = {
        "view": "translation",
        "title": title,
        "said": attention.target_text,
        "source": list(attention.source_tokens),
        "target": list(attention.target_tokens),
        "itself": attention.kind != "cross",
        "maps": head_maps(attention),
    }
    return result_page(title, [stop], plain=columns_fragment(attention))


def head_maps(layer: HeadAlignment) -> list[dict[str, Any]]:
    """The heads of one layer as the page has them."""
    return [
        {
            "kind": layer.kind,
            "layer": layer.layer,
            "head": number,
            "rows": list(layer.target_tokens),
            "columns": list(layer.source_tokens),
            "weights": numbers(weights),
        }
        for number, weights in zip(layer.heads, layer.weights, strict=True)
    ]


def _middle(place: int) -> int:
    return HEIGHT * place + HEIGHT // 2
