"""Where the drawing of each result stands: a result knows it by name alone, and it is imported when it is drawn."""

from collections.abc import Callable
from typing import Any

from hf_attention_zoo.registry import load_object

# function -> module of `alignment/drawing/`
DRAWINGS = {
    "plot_alignment": "plotting",
    "alignment_page": "html_view",
    "alignment_fragment": "html_view",
    "plot_columns": "column_plot",
    "columns_page": "column_html",
    "columns_fragment": "column_html",
    "plot_document": "document_attention_plot",
    "document_page": "document_attention_html",
    "document_fragment": "document_attention_html",
    "plot_hops": "hop_attention_plot",
    "hops_page": "hop_attention_html",
    "hops_fragment": "hop_attention_html",
    "plot_picture": "picture_attention_plot",
    "picture_page": "picture_attention_html",
    "picture_fragment": "picture_attention_html",
    "plot_sentences": "sentence_plot",
    "plot_clusters": "cluster_plot",
    "plot_word_weights": "word_weights_plot",
    "lineage_page": "lineage_html",
    "lineage_fragment": "lineage_html",
    "figure_png": "figures",
}


def drawing(name: str) -> Callable[..., Any]:
    """The function of this name that draws a result."""
    return load_object(f"hf_attention_zoo.alignment.drawing.{DRAWINGS[name]}:{name}")
