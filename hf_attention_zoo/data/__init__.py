"""Sentence pairs and labelled texts: loading, embedded samples, collating, batches of like lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hf_attention_zoo.data.collating import Seq2SeqCollator
    from hf_attention_zoo.data.labelled import load_labelled
    from hf_attention_zoo.data.labels import LabelInfo
    from hf_attention_zoo.data.loading import load_data
    from hf_attention_zoo.data.samples import Sample, get_sample, list_samples
    from hf_attention_zoo.data.token_budget import TokenBudgetBatchSampler, pair_lengths
    from hf_attention_zoo.data.word_vectors import read_word_vectors, start_embeddings

__all__ = [
    "LabelInfo",
    "Sample",
    "Seq2SeqCollator",
    "TokenBudgetBatchSampler",
    "get_sample",
    "list_samples",
    "load_data",
    "load_labelled",
    "pair_lengths",
    "read_word_vectors",
    "start_embeddings",
]

# Public names and their modules; datasets, pyarrow and transformers are imported when a name is first used.
_MODULES = {
    "LabelInfo": "labels",
    "Sample": "samples",
    "Seq2SeqCollator": "collating",
    "TokenBudgetBatchSampler": "token_budget",
    "get_sample": "samples",
    "list_samples": "samples",
    "load_data": "loading",
    "load_labelled": "labelled",
    "pair_lengths": "token_budget",
    "read_word_vectors": "word_vectors",
    "start_embeddings": "word_vectors",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
