"""hf_attention_zoo: historical attention architectures and what they began from, as first-class transformers models.

Importing the package registers every architecture with transformers' Auto classes and restores the pipelines that
transformers v5 dropped, each as soon as transformers' own module is imported: not before, since that takes seconds.
Everything else is imported when it is first used.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import wrapt

from hf_attention_zoo.auto_classes import REGISTERING
from hf_attention_zoo.registry import ARCHITECTURES, get_architecture, list_architectures

try:
    __version__ = version("hf_attention_zoo")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0+unknown"

_PUBLIC = {
    "align": "hf_attention_zoo.alignment.aligning",
    "Alignment": "hf_attention_zoo.alignment.results.aligned",
    "DocumentAttention": "hf_attention_zoo.alignment.results.document_attention",
    "project_sentences": "hf_attention_zoo.alignment.results.sentence_projection",
    "SentenceProjection": "hf_attention_zoo.alignment.results.sentence_projection",
    "cluster_words": "hf_attention_zoo.alignment.results.word_clusters",
    "WordSpace": "hf_attention_zoo.alignment.results.word_space",
    "WordClusters": "hf_attention_zoo.alignment.results.word_clusters",
    "translate": "hf_attention_zoo.seq2seq.translating",
    "TranslationEnsemble": "hf_attention_zoo.seq2seq.ensemble",
    "score": "hf_attention_zoo.tasks.translation.phrase_scoring",
    "load_data": "hf_attention_zoo.tasks.translation.rows",
    "load_labelled": "hf_attention_zoo.tasks.labels.rows",
    "list_samples": "hf_attention_zoo.data.samples",
    "TranslationTokenizer": "hf_attention_zoo.tokenization.translation_tokenizer",
    "HierarchicalTokenizer": "hf_attention_zoo.tokenization.hierarchical_tokenizer",
    "TextTokenizer": "hf_attention_zoo.tokenization.text_tokenizer",
    "CaptionTokenizer": "hf_attention_zoo.tokenization.caption_tokenizer",
    "PictureAttention": "hf_attention_zoo.alignment.results.picture_attention",
    "load_captions": "hf_attention_zoo.tasks.captions.rows",
    "PictureProcessor": "hf_attention_zoo.images.picture_processor",
    "ShowAttendTellProcessor": "hf_attention_zoo.models.show_attend_tell.processing_show_attend_tell",
    "BERT2018Tokenizer": "hf_attention_zoo.tokenization.bert2018_tokenizer",
    "GPT2018Tokenizer": "hf_attention_zoo.tokenization.gpt2018_tokenizer",
    "HopAttention": "hf_attention_zoo.alignment.results.hop_attention",
    "publish": "hf_attention_zoo.hub.publishing",
    "export_with_code": "hf_attention_zoo.hub.code_export",
}
for _row in ARCHITECTURES:
    _PUBLIC[f"{_row.prefix}Config"] = _row._module("configuration")
    for _name in _row.models.values():
        _PUBLIC[_name] = _row._module("modeling")

__all__ = ["get_architecture", "list_architectures", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'hf_attention_zoo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


@wrapt.when_imported("transformers.pipelines")
def _restore_pipelines(module: Any) -> None:
    """Pipelines are registered when transformers' own are imported."""
    from hf_attention_zoo.tasks.pipelines import register_pipelines

    register_pipelines()


@wrapt.when_imported("inseq.models")
def _register_with_inseq(module: Any) -> None:
    """inseq loads models of two vocabularies as what they are."""
    from hf_attention_zoo.alignment.inseq_model import register_with_inseq

    register_with_inseq()


for _module, _register in REGISTERING.items():
    wrapt.when_imported(_module)(lambda module, register=_register: register())
