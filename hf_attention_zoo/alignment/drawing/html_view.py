"""An alignment as HTML: a table without script for a notebook, and a page; nothing is loaded from elsewhere."""

from html import escape
from typing import TYPE_CHECKING

from hf_attention_zoo.alignment.drawing.result_page import numbers, result_page

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.aligned import Alignment

_STYLE = """
.zoo-alignment{font-family:system-ui,sans-serif;font-size:13px;color:#111;background:#fff;padding:8px}
.zoo-alignment table{border-collapse:collapse;margin-top:8px;width:auto}
.zoo-alignment th{font-weight:normal;white-space:nowrap;background:none;border:none}
.zoo-alignment thead th{vertical-align:bottom;text-align:left;padding:2px 0}
.zoo-alignment thead th span{writing-mode:vertical-rl;text-orientation:sideways;transform:rotate(180deg);padding:2px}
.zoo-alignment tbody th{text-align:right;padding:0 6px}
.zoo-alignment td{position:relative;width:20px;min-width:20px;height:20px;padding:0;border:1px solid #333}
.zoo-alignment td:hover{outline:2px solid #e4572e;z-index:1}
.zoo-alignment td:hover::after{content:attr(data-pair);position:absolute;left:24px;top:-4px;padding:2px 6px;
background:#fffbe6;border:1px solid #999;color:#111;white-space:pre;z-index:2;pointer-events:none}
.zoo-alignment tbody tr:hover th{font-weight:bold}
""".strip()


def alignment_fragment(alignment: "Alignment") -> str:
    """The matrix as a <div> with its own style, for a notebook or for placing in a page."""
    head = "".join(f"<th scope='col'><span>{escape(token)}</span></th>" for token in alignment.source_tokens)
    rows = []
    for token, weights in zip(alignment.target_tokens, alignment.weights, strict=True):
        cells = "".join(
            f"<td style='background:{_grey(weight)}' data-pair='{escape(f'{token} ← {source}  {weight:.3f}')}'></td>"
            for source, weight in zip(alignment.source_tokens, weights, strict=True)
        )
        rows.append(f"<tr><th scope='row'>{escape(token)}</th>{cells}</tr>")
    scale = "<small>Rows attend to columns: white is a weight of 1, black of 0.</small>"
    caption = f"<div>{escape(alignment.source_text)}<br>→ {escape(alignment.target_text)}<br>{scale}</div>"
    return (
        f"<div class='zoo-alignment'><style>{_STYLE}</style>{caption}"
        f"<table><thead><tr><td style='border:none'></td>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def alignment_page(alignment: "Alignment") -> str:
    """A whole page: the words in the order in which they were written, each with what it looks at."""
    title = alignment.source_text or "Alignment"
    stop = {
        "view": "translation",
        "title": title,
        "said": alignment.target_text,
        "source": list(alignment.source_tokens),
        "target": list(alignment.target_tokens),
        "itself": alignment.source_tokens == alignment.target_tokens,  # of one text, not of a translation
        "maps": [
            {
                "kind": "cross",
                "layer": 0,
                "head": 0,
                "rows": list(alignment.target_tokens),
                "columns": list(alignment.source_tokens),
                "weights": numbers(alignment.weights),
            }
        ]
        if alignment.target_tokens and alignment.source_tokens
        else [],
    }
    return result_page(title, [stop], plain=alignment_fragment(alignment))


def _grey(weight: float) -> str:
    """White for 1, black for 0, as in the drawing."""
    level = round(255 * min(max(float(weight), 0.0), 1.0))
    return f"#{level:02x}{level:02x}{level:02x}"
