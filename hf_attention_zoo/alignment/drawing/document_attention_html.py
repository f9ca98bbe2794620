"""A document's attention as HTML: without script for a notebook, and a page; nothing is loaded from elsewhere."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hf_attention_zoo.alignment.drawing.result_page import numbers, result_page

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.document_attention import DocumentAttention

_STYLE = """
.zoo-document{font-family:system-ui,sans-serif;font-size:14px;line-height:1.7;color:#111;background:#fff;padding:8px}
.zoo-document .line{display:flex;align-items:flex-start;gap:8px}
.zoo-document .mark{flex:none;width:42px;text-align:center;font-size:11px;margin:3px 0;border:1px solid #ddd}
.zoo-document .word{padding:1px 3px;border-radius:2px}
.zoo-document .word:hover,.zoo-document .mark:hover{outline:1px solid #333}
""".strip()
SCALE = "<small>Red: weight of the sentence. Blue: of the word. The darkest are the largest.</small>"


def document_fragment(document: "DocumentAttention") -> str:
    """The document as a <div> with its own style, for a notebook or for placing in a page."""
    scores = escape(_best(document.scores))
    reds = colour_shares([document.sentence_weights])[0]
    blues = colour_shares(document.word_strengths())
    lines = []
    rows = (document.sentences, document.word_weights, document.sentence_weights, reds, blues)
    for sentence, weights, share, red, blue in zip(*rows, strict=True):
        words = " ".join(
            f"<span class='word' style='background:rgba(40,110,240,{opacity:.3f})' title='{weight:.4f}'>"
            f"{escape(word)}</span>"
            for word, weight, opacity in zip(sentence, weights, blue, strict=True)
        )
        lines.append(
            f"<div class='line'><span class='mark' style='background:rgba(230,30,30,{red:.3f})' "
            f"title='sentence weight {share:.4f}'>{share:.2f}</span><span>{words}</span></div>"
        )
    if not lines:
        lines = ["<div>(a document without words)</div>"]
    return f"<div class='zoo-document'><style>{_STYLE}</style><div><b>{scores}</b></div>{SCALE}{''.join(lines)}</div>"


def document_page(document: "DocumentAttention") -> str:
    """A whole page around the document."""
    rows = zip(document.sentences, document.word_strengths(), document.sentence_weights, strict=True)
    stop = {
        "view": "document",
        "title": document.label,
        "said": _best(document.scores),
        "sentences": [
            {"words": list(words), "weights": numbers(weights), "weight": numbers(share)}
            for words, weights, share in rows
        ],
    }
    return result_page(document.label, [stop], plain=document_fragment(document))


def _best(scores: Mapping[str, float]) -> str:
    best = sorted(scores.items(), key=lambda entry: -entry[1])[:3]
    return " · ".join(f"{label} {score:.3f}" for label, score in best)


def colour_shares(weights: list[np.ndarray]) -> list[np.ndarray]:
    """Weights as shares of the largest of them: 1 is the darkest colour."""
    largest = max((float(row.max()) for row in weights if row.size), default=0.0)
    return [row / largest if largest > 0 else row for row in weights]
