"""The works of `scripts/benchmark_peers.py`: what is run beside what, at which sizes, and what was aimed at.

A work names its aim as a ratio to a bound of the same sizes (matrix products alone, or library cells without the loop
of attention), or in milliseconds for one sentence. A program whose sizes differ has a bound of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import benchmark_tokens
import torch
from benchmark import load_builders
from peer_programs import (
    JoeyBound,
    Run,
    Sentences,
    Sizes,
    ctranslate2_search,
    joeynmt_search,
    joeynmt_training,
    opennmt_search,
    opennmt_training,
    transformers_search,
    transformers_training,
)
from torch import Tensor

HERE, JOEYNMT, OPENNMT, MARIAN = "here", "JoeyNMT", "OpenNMT-py", "transformers, Marian"
BOUND, JOEY_BOUND = "bound", "JoeyNMT's bound"
VOCABULARY, LENGTH = 8000, 25
EQUAL = (LENGTH, LENGTH)


@dataclass
class Cases:
    """What takes turns in a work.

    Attributes:
        runs: by the name of a program, the bound among them.
        bounds: program -> the name of its bound, where that is not `BOUND`.
    """

    runs: dict[str, Run]
    bounds: dict[str, str]


@dataclass(frozen=True)
class Work:
    """One row.

    Attributes:
        said: the row's name in the documentation.
        aim: ratio to the bound, or milliseconds where `milliseconds`.
        make: threads -> cases.
        threads: numbers of threads that it is measured with.
        slow: a round takes many seconds; measured in fewer rounds.
    """

    said: str
    aim: float
    make: Callable[[int], Cases]
    threads: tuple[int, ...] = (1,)
    milliseconds: bool = False
    slow: bool = False


def equal_batch(sentences: Sentences) -> dict[str, Tensor]:
    """Of sentences of one length, as the bounds of scripts/benchmarks take them."""
    target = torch.tensor(sentences.targets)
    source = torch.tensor(sentences.sources)
    return {"source": source, "mask": torch.ones_like(source), "target": target.roll(1, 1), "labels": target}


def module_step(module: torch.nn.Module, batch: dict[str, Tensor]) -> Run:
    module.train()

    def step() -> None:
        module.zero_grad()
        module(**batch).backward()

    return step


def rnnsearch_training(hidden: int, rows: int) -> Callable[[int], Cases]:
    def make(threads: int) -> Cases:
        builders = load_builders("rnnsearch")
        sizes, sentences = Sizes(256, hidden, VOCABULARY), Sentences([EQUAL] * rows, VOCABULARY)
        batch = equal_batch(sentences)
        shape = (sizes.embedding, sizes.hidden, sizes.vocabulary)
        own = {name: batch[name] for name in ("source", "target", "labels")}
        runs = {
            BOUND: module_step(builders.Bound(*shape), batch),
            HERE: transformers_training(builders.build_model(*shape).train(), sentences),
            JOEY_BOUND: module_step(JoeyBound(sizes), own),
            JOEYNMT: joeynmt_training(sizes, sentences, transformer=False),
        }
        return Cases(runs, {JOEYNMT: JOEY_BOUND})

    return make


def luong_training(hidden: int, rows: int) -> Callable[[int], Cases]:
    def make(threads: int) -> Cases:
        builders = load_builders("luong").VARIANTS["input feeding"]
        sizes, sentences = Sizes(256, hidden, VOCABULARY, layers=2), Sentences([EQUAL] * rows, VOCABULARY)
        shape = (sizes.embedding, sizes.hidden, sizes.vocabulary)
        runs = {
            BOUND: module_step(builders.REFERENCES["bound"](*shape), equal_batch(sentences)),
            HERE: transformers_training(builders.build_model(*shape).train(), sentences),
            OPENNMT: opennmt_training(sizes, sentences, transformer=False),
        }
        return Cases(runs, {})

    return make


def transformer_pair(builders: Any, sizes: Sizes) -> tuple[Any, Any]:
    """The zoo's Transformer and Marian, with the sizes' dropout where the paper has it."""
    models = [make(sizes.hidden, sizes.layers, sizes.vocabulary) for make in (builders.build, builders.build_marian)]
    for model in models:
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout) and part.p:
                part.p = sizes.dropout
            elif isinstance(getattr(part, "dropout", None), float) and part.dropout:
                part.dropout = sizes.dropout
    return models[0], models[1]


def transformer_training(sizes: Sizes, lengths: list[tuple[int, int]]) -> Callable[[int], Cases]:
    def make(threads: int) -> Cases:
        builders = load_builders("transformer2017")
        sentences = Sentences(lengths, VOCABULARY)
        products = builders.training_products(
            sentences.source_lengths,
            sentences.target_lengths,
            sizes.hidden,
            sizes.layers,
            sizes.heads,
            sizes.vocabulary,
        )
        zoo, marian = transformer_pair(builders, sizes)
        runs = {
            BOUND: torch.no_grad()(lambda: builders.run_all(products)),
            HERE: transformers_training(zoo.train(), sentences),
            MARIAN: transformers_training(marian.train(), sentences),
            JOEYNMT: joeynmt_training(sizes, sentences, transformer=True),
            OPENNMT: opennmt_training(sizes, sentences, transformer=True),
        }
        return Cases(runs, {})

    return make


def reading(width: int, layers: int, share: float) -> Callable[[int], Cases]:
    """Training steps of BERT's body; the bound is the products of the real tokens."""

    def make(threads: int) -> Cases:
        builders = load_builders("bert2018")
        sizes = {"batch": 8, "length": 64, "hidden": width, "layers": layers, "heads": width // 64}
        batch = benchmark_tokens.batch_of(sizes["batch"], sizes["length"], share)
        products = benchmark_tokens.products(sizes, batch["attention_mask"].sum(1).tolist(), True)

        def step(model: torch.nn.Module) -> Run:
            model.train()
            return lambda: benchmark_tokens.run_body(model, batch, True)

        runs = {
            BOUND: torch.no_grad()(products),
            HERE: step(builders.build_zoo(sizes, 0.0)),
            "transformers, BERT": step(builders.build_theirs(sizes, 0.0)),
        }
        return Cases(runs, {})

    return make


def rnnsearch_search(hidden: int, rows: int, end: bool) -> Callable[[int], Cases]:
    """Beams of 5, 25 words; JoeyNMT has no search without an end and stands beside the one that forbids it."""

    def make(threads: int) -> Cases:
        builders = load_builders("rnnsearch")
        sizes, sentences = Sizes(256, hidden, VOCABULARY), Sentences([EQUAL] * rows, VOCABULARY)
        shape = {"embedding": sizes.embedding, "hidden": hidden, "vocabulary": VOCABULARY}
        products = builders.decoding_products(**shape, batch=rows, beams=5, source=LENGTH, steps=LENGTH)
        runs = {
            BOUND: products["products as written"],
            HERE: transformers_search(builders.build_model(**shape), sentences, 5, LENGTH, end),
        }
        if end:
            runs[JOEYNMT] = joeynmt_search(sizes, sentences, 5, LENGTH, transformer=False)
        return Cases(runs, {})

    return make


def transformer_search(sizes: Sizes, rows: int) -> Callable[[int], Cases]:
    """Beams of 4, 25 words. JoeyNMT reads the whole prefix again at each step and is left out of large batches."""

    def make(threads: int) -> Cases:
        builders = load_builders("transformer2017")
        sentences = Sentences([EQUAL] * rows, VOCABULARY)
        once, every = builders.step_products(sizes.hidden, sizes.layers, VOCABULARY, rows, 4, LENGTH, LENGTH)
        products = [*once, *(product for step in every for product in step)]
        zoo, marian = transformer_pair(builders, sizes)
        runs = {
            BOUND: lambda: builders.run_all(products),
            HERE: transformers_search(zoo, sentences, 4, LENGTH, True),
            MARIAN: transformers_search(marian, sentences, 4, LENGTH, True),
            OPENNMT: opennmt_search(sizes, sentences, 4, LENGTH, transformer=True),
        }
        if rows == 1:
            runs[JOEYNMT] = joeynmt_search(sizes, sentences, 4, LENGTH, transformer=True)
        # With threads of its own it makes the other programs of the process slow: with more than one it is left out.
        kinds = ("float32", "int8") if threads == 1 else ()
        with tempfile.TemporaryDirectory() as place:
            for kind in kinds:
                run = ctranslate2_search(zoo, Path(place) / "model", sentences, 4, LENGTH, kind, threads)
                runs[f"CTranslate2, {kind}"] = run
        return Cases(runs, {})

    return make


def mixed_lengths(rows: int) -> list[tuple[int, int]]:
    """From 5 to 25 words, each as often, on both sides."""
    made = torch.Generator().manual_seed(0)
    drawn = torch.randint(5, LENGTH + 1, (rows, 2), generator=made).tolist()
    return [(source, target) for source, target in drawn]


BASE, SMALL = Sizes(512, 512, VOCABULARY, layers=6), Sizes(256, 256, VOCABULARY, layers=3)
DROPPING = Sizes(256, 256, VOCABULARY, layers=3, dropout=0.1)

WORKS: dict[str, Work] = {
    "rnnsearch-512": Work("RNNsearch, training, 512 wide", 1.05, rnnsearch_training(512, 64)),
    "rnnsearch-256": Work("RNNsearch, training, 256 wide", 1.15, rnnsearch_training(256, 32)),
    "luong-512": Work("Luong with feeding, training, 512 wide", 1.00, luong_training(512, 64)),
    "luong-256": Work("Luong with feeding, training, 256 wide", 1.15, luong_training(256, 32), threads=(1, 2)),
    "transformer-base": Work(
        "Transformer, training, 6 layers of 512", 1.15, transformer_training(BASE, [EQUAL] * 16), threads=(1, 2)
    ),
    "transformer-small": Work(
        "Transformer, training, 3 layers of 256", 1.20, transformer_training(SMALL, [EQUAL] * 32)
    ),
    "transformer-mixed": Work(
        "the same, lengths 5 to 25, dropout 0.1", 1.35, transformer_training(DROPPING, mixed_lengths(64))
    ),
    "bert-256-0": Work("BERT, 4 layers of 256, training, no pads", 1.25, reading(256, 4, 0.0)),
    "bert-256-30": Work("the same, 30 % pads", 1.30, reading(256, 4, 0.3)),
    "bert-256-60": Work("the same, 60 % pads", 1.35, reading(256, 4, 0.6)),
    "bert-base-0": Work("BERT base, training, no pads", 1.12, reading(768, 12, 0.0), slow=True),
    "bert-base-60": Work("the same, 60 % pads", 1.15, reading(768, 12, 0.6), slow=True),
    "rnnsearch-search": Work("RNNsearch 512 wide, beam 5, 32 sentences", 1.20, rnnsearch_search(512, 32, True)),
    "rnnsearch-endless": Work("the same, end unreachable", 1.20, rnnsearch_search(512, 32, False)),
    "transformer-search-small": Work(
        "Transformer, 3 layers of 256, beam 4, 32 sentences", 1.40, transformer_search(SMALL, 32)
    ),
    "transformer-search-base": Work(
        "Transformer, 6 layers of 512, beam 4, 32 sentences", 1.25, transformer_search(BASE, 32), slow=True
    ),
    "rnnsearch-one": Work(
        "RNNsearch 256 wide, beam 5, one sentence",
        25,
        rnnsearch_search(256, 1, True),
        threads=(1, 2),
        milliseconds=True,
    ),
    "transformer-one": Work(
        "Transformer, 3 layers of 256, beam 4, one sentence",
        45,
        transformer_search(SMALL, 1),
        threads=(1, 2),
        milliseconds=True,
    ),
}
