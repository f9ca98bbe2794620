"""A caption's attention as HTML: without script for a notebook, and a page; nothing is loaded from elsewhere."""

from html import escape
from typing import TYPE_CHECKING

from hf_attention_zoo.alignment.drawing.picture_attention_plot import panel_pictures
from hf_attention_zoo.alignment.drawing.result_page import numbers, result_page
from hf_attention_zoo.alignment.results.picture_upsampling import SMOOTHING

if TYPE_CHECKING:
    import numpy as np

    from hf_attention_zoo.alignment.results.picture_attention import PictureAttention

_STYLE = """
.zoo-picture{font-family:system-ui,sans-serif;font-size:14px;color:#111;background:#fff;padding:8px}
.zoo-picture .panels{display:flex;flex-wrap:wrap;gap:10px;margin-top:8px}
.zoo-picture figure{margin:0;width:176px}
.zoo-picture figcaption{white-space:nowrap;overflow:hidden;text-overflow:ellipsis;height:1.5em}
.zoo-picture figcaption small{color:#666}
.zoo-picture .shown{position:relative}
.zoo-picture img{display:block;width:100%;image-rendering:auto}
.zoo-picture .grid{position:absolute;inset:0;display:grid}
.zoo-picture .grid i:hover{outline:1px solid #e4572e}
""".strip()


def picture_fragment(attention: "PictureAttention") -> str:
    """The panels as a <div> with its own style, for a notebook or for placing in a page."""

    def shown(picture: "np.ndarray", inside: str = "") -> str:
        return f"<div class='shown'><img alt='' src='{_address(picture)}'>{inside}</div>"

    panels = [f"<figure><figcaption>&nbsp;</figcaption>{shown(attention.picture)}</figure>"]
    pictures = panel_pictures(attention, SMOOTHING, 0.8)
    columns = attention.weights.shape[2]
    for number, (token, grid, panel) in enumerate(zip(attention.tokens, attention.weights, pictures, strict=True)):
        cells = "".join(f"<i title='{weight:.4f}'></i>" for weight in grid.flat)
        rows = grid.shape[0]
        layout = f"grid-template:repeat({rows},1fr)/repeat({columns},1fr)"
        gate = "" if attention.gates is None else f" <small>β {attention.gates[number]:.2f}</small>"
        over = f"<div class='grid' style='{layout}'>{cells}</div>"
        panels.append(f"<figure><figcaption>{escape(token)}{gate}</figcaption>{shown(panel, over)}</figure>")
    return (
        f"<div class='zoo-picture'><style>{_STYLE}</style><div><strong>{escape(attention.caption)}</strong></div>"
        "<small>Bright: where the weight of the word is largest. Dark: no weight.</small>"
        f"<div class='panels'>{''.join(panels)}</div></div>"
    )


def picture_page(attention: "PictureAttention") -> str:
    """A whole page around the panels."""
    title = attention.caption or "Attention"
    pictures = panel_pictures(attention, SMOOTHING, 0.8)
    stop = {
        "view": "picture",
        "title": title,
        "said": attention.caption,
        "target": list(attention.tokens),
        "picture": _address(attention.picture),
        "panels": [_address(panel) for panel in pictures],
        "gates": None if attention.gates is None else numbers(attention.gates),
    }
    return result_page(title, [stop], plain=picture_fragment(attention))


def _address(picture: "np.ndarray") -> str:
    """A picture as an address that holds it."""
    from hf_attention_zoo.alignment.results.picture_attention import png_text

    return f"data:image/png;base64,{png_text(picture)}"
