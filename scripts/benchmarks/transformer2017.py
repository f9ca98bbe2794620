"""The Transformer beside the matrix products of the same sizes alone, and beside the peers that can be installed.

Found by `scripts/benchmark.py` under the name of the architecture, in two sizes: "6 layers" as wide as the section
says (512: the paper's base model), "3 layers" half as wide. Run by itself it measures what depends on lengths and on
the search:

    python scripts/benchmarks/transformer2017.py                # some minutes on one core
    python scripts/benchmarks/transformer2017.py --sections mixed decoding --repeats 5 --json speed.json

Sections: training (equal lengths), mixed (lengths of real sentences; the bound is the products of the real tokens),
decoding (beam 4, 32 sources). Shapes: B rows, S source and T target positions, D model size, F feed-forward size, h
heads, L layers, V vocabulary, K beams.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel

from hf_attention_zoo import get_architecture

Product = Callable[[], object]


def linear_products(rows: int, inner: int, width: int, backward: bool) -> list[Product]:
    """x W^T and, for training, the two products of its gradients."""
    x, w, grad = torch.randn(rows, inner), torch.randn(width, inner), torch.randn(rows, width)
    forward: list[Product] = [lambda: functional.linear(x, w)]
    return [*forward, lambda: grad @ w, lambda: grad.t() @ x] if backward else forward


def mixing_products(batch: int, queries: int, keys: int, size: int, backward: bool) -> list[Product]:
    """Q K^T and A V of `batch` heads and, for training, the four products of their gradients."""
    q, k, v = (torch.randn(batch, length, size) for length in (queries, keys, keys))
    a = torch.randn(batch, queries, keys)
    forward: list[Product] = [lambda: torch.bmm(q, k.mT), lambda: torch.bmm(a, v)]
    if not backward:
        return forward
    return [
        *forward,
        lambda: torch.bmm(q, v.mT),
        lambda: torch.bmm(a.mT, q),
        lambda: torch.bmm(a, k),
        lambda: torch.bmm(a.mT, q),
    ]


def run_all(products: Sequence[Product], times: int = 1) -> None:
    for _ in range(times):
        for product in products:
            product()


def training_products(
    sources: Sequence[int], targets: Sequence[int], size: int, layers: int, heads: int, vocabulary: int
) -> list[Product]:
    """All products of a training step on sentences of these lengths, and no others: no pads.

    Attention has one batched product of the rows' mean squared length, so that its count is right.
    """
    read, written, rows = sum(sources), sum(targets), len(sources)

    def mean_length(lengths: Sequence[int], others: Sequence[int]) -> int:
        return max(1, round((sum(a * b for a, b in zip(lengths, others, strict=True)) / rows) ** 0.5))

    def mixing(lengths: Sequence[int], others: Sequence[int]) -> list[Product]:
        length = mean_length(lengths, others)
        return mixing_products(rows * heads, length, length, size // heads, True)

    def square(tokens: int) -> list[Product]:
        return linear_products(tokens, size, size, True)

    def feed_forward(tokens: int) -> list[Product]:
        return linear_products(tokens, size, 4 * size, True) + linear_products(tokens, 4 * size, size, True)

    encoder = [*square(read) * 4, *mixing(sources, sources), *feed_forward(read)]
    decoder = [
        *square(written) * 6,
        *square(read) * 2,
        *mixing(targets, targets),
        *mixing(targets, sources),
        *feed_forward(written),
    ]
    return [*encoder * layers, *decoder * layers, *linear_products(written, size, vocabulary, True)]


def build(size: int, layers: int, vocabulary: int) -> nn.Module:
    """The zoo's model with heads of 64 and the paper's ratio of the feed-forward layer."""
    row = get_architecture("transformer2017")
    config = row.config_class(
        vocab_size=vocabulary,
        hidden_size=size,
        num_hidden_layers=layers,
        num_attention_heads=max(1, size // 64),
        intermediate_size=4 * size,
    )
    return row.model_classes["AutoModelForSeq2SeqLM"](config)


def build_marian(size: int, layers: int, vocabulary: int) -> MarianMTModel:
    """transformers' Marian of the same sizes and dropout."""
    heads = max(1, size // 64)
    return MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=size,
            encoder_layers=layers,
            decoder_layers=layers,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=4 * size,
            decoder_ffn_dim=4 * size,
            activation_function="relu",
            scale_embedding=True,
            dropout=0.1,
            attention_dropout=0.0,
            activation_dropout=0.0,
            pad_token_id=0,
            eos_token_id=3,
            forced_eos_token_id=None,
            decoder_start_token_id=2,
        )
    )


class ProductsAlone(nn.Module):
    """Runs the products of a training step, forward and backward, and gives a loss of nothing."""

    def __init__(self, size: int, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.sizes = (size, layers, max(1, size // 64), vocabulary)
        self.nothing = nn.Parameter(torch.zeros(()))
        self.products: dict[tuple[int, ...], list[Product]] = {}

    @torch.no_grad()
    def _run(self, source: Tensor, target: Tensor) -> None:
        shape = (*source.shape, *target.shape)
        if shape not in self.products:
            lengths = ([source.shape[1]] * source.shape[0], [target.shape[1]] * target.shape[0])
            self.products[shape] = training_products(*lengths, *self.sizes)
        run_all(self.products[shape])

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        self._run(source, target)
        return self.nothing * 0.0


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` between tied tables."""

    def __init__(self, size: int, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.size = size
        self.table = nn.Embedding(vocabulary, size)
        nn.init.normal_(self.table.weight, std=size**-0.5)
        self.body = nn.Transformer(size, max(1, size // 64), layers, layers, 4 * size, 0.1, batch_first=True)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        read, written = (self.table(ids) * self.size**0.5 for ids in (source, target))
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        states = self.body(read, written, tgt_mask=causal, tgt_is_causal=True)
        return functional.cross_entropy(functional.linear(states, self.table.weight).flatten(0, 1), labels.flatten())


class Marian(nn.Module):
    """transformers' Marian in the form of a reference."""

    def __init__(self, size: int, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.model = build_marian(size, layers, vocabulary)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        return self.model(input_ids=source, attention_mask=mask, decoder_input_ids=target, labels=labels).loss


def step_products(
    size: int, layers: int, vocabulary: int, batch: int, beams: int, source: int, steps: int
) -> tuple[list[Product], list[list[Product]]]:
    """Products of a beam search: those of the source, once, and those of each step."""
    heads, read, rows = max(1, size // 64), batch * source, batch * beams
    once = [
        *linear_products(read, size, size, False) * 4,
        *mixing_products(batch * heads, source, source, size // heads, False),
        *linear_products(read, size, 4 * size, False),
        *linear_products(read, 4 * size, size, False),
        *linear_products(read, size, size, False) * 2,  # keys and values for the decoder's layers
    ] * layers
    same = [
        *linear_products(rows, size, size, False) * 6,
        *mixing_products(batch * heads, beams, source, size // heads, False),
        *linear_products(rows, size, 4 * size, False),
        *linear_products(rows, 4 * size, size, False),
    ]
    output = linear_products(rows, size, vocabulary, False)
    every = [
        [*[*same, *mixing_products(rows * heads, 1, step + 1, size // heads, False)] * layers, *output]
        for step in range(steps)
    ]
    return once, every


class Builders:
    """One size in the form that `scripts/benchmark.py` asks for."""

    def __init__(self, layers: int, width: float) -> None:
        self.layers, self.width = layers, width
        self.REFERENCES = {
            "bound": lambda _, hidden, words: ProductsAlone(self.size(hidden), layers, words),
            "torch.nn.Transformer": lambda _, hidden, words: TorchTransformer(self.size(hidden), layers, words),
            "transformers, Marian": lambda _, hidden, words: Marian(self.size(hidden), layers, words),
        }

    def size(self, hidden: int) -> int:
        return int(hidden * self.width)

    def build_model(self, embedding: int, hidden: int, vocabulary: int) -> nn.Module:
        return build(self.size(hidden), self.layers, vocabulary)

    def decoding_products(
        self, embedding: int, hidden: int, vocabulary: int, batch: int, beams: int, source: int, steps: int
    ) -> dict[str, Callable[[], None]]:
        once, every = step_products(self.size(hidden), self.layers, vocabulary, batch, beams, source, steps)
        return {"products": lambda: run_all([*once, *(product for step in every for product in step)])}


VARIANTS = {"6 layers": Builders(6, 1.0), "3 layers": Builders(3, 0.5)}

# size, layers, vocabulary, rows
SIZES = {"base 6x512": (512, 6, 8000, 16), "small 3x256": (256, 3, 8000, 32)}


def sentence_lengths(rows: int) -> tuple[list[int], list[int]]:
    """Lengths as sentences have them: many short ones, a few long ones, both sides alike."""
    made = torch.Generator().manual_seed(0)
    source = (torch.randn(rows, generator=made) * 0.6 + 2.9).exp().round().clamp(2, 80).long()
    target = (source * (1 + 0.15 * torch.randn(rows, generator=made))).round().clamp(2, 90).long()
    return source.tolist(), target.tolist()


def padded_batch(sources: Sequence[int], targets: Sequence[int], vocabulary: int) -> dict[str, Tensor]:
    """Right-padded ids, mask and labels of these lengths."""
    made = torch.Generator().manual_seed(1)
    ids = torch.zeros(len(sources), max(sources), dtype=torch.long)
    labels = torch.full((len(targets), max(targets)), -100)
    for row, (read, written) in enumerate(zip(sources, targets, strict=True)):
        ids[row, :read] = torch.randint(4, vocabulary, (read,), generator=made)
        labels[row, :written] = torch.randint(4, vocabulary, (written,), generator=made)
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


def library() -> Any:
    """scripts/benchmark.py, for its clock."""
    path = Path(__file__).resolve().parents[1] / "benchmark.py"
    spec = importlib.util.spec_from_file_location("benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def training_step(model: nn.Module, batch: dict[str, Tensor]) -> Callable[[], None]:
    def step() -> None:
        model.zero_grad()
        model(**batch).loss.backward()

    return step


def measured_training(name: str, lengths: tuple[list[int], list[int]], repeats: int, clock: Any) -> list[Any]:
    size, layers, vocabulary, _ = SIZES[name]
    batch = padded_batch(*lengths, vocabulary)
    products = training_products(*lengths, size, layers, max(1, size // 64), vocabulary)
    cases = {
        "products": torch.no_grad()(lambda: run_all(products)),
        "zoo": training_step(build(size, layers, vocabulary).train(), batch),
        "transformers, Marian": training_step(build_marian(size, layers, vocabulary).train(), batch),
    }
    return clock.rows_of(clock.interleave(cases, repeats, warmups=1), "products", {"size": name})


def measured_decoding(name: str, repeats: int, clock: Any) -> list[Any]:
    size, layers, vocabulary, _ = SIZES[name]
    sizes = {"batch": 32, "beams": 4, "source": 25, "steps": 25}
    once, every = step_products(size, layers, vocabulary, **sizes)
    products = [*once, *(product for step in every for product in step)]
    source = torch.randint(4, vocabulary, (32, 25), generator=torch.Generator().manual_seed(0))

    def search(model: Any) -> Callable[[], None]:
        model.eval().generation_config.eos_token_id = None
        options = {"num_beams": 4, "max_new_tokens": 25, "attention_mask": torch.ones_like(source)}
        return lambda: model.generate(source, **options)

    cases = {
        "products": lambda: run_all(products),
        "zoo": search(build(size, layers, vocabulary)),
        "transformers, Marian": search(build_marian(size, layers, vocabulary)),
    }
    with torch.no_grad():
        return clock.rows_of(clock.interleave(cases, repeats, warmups=1), "products", {"size": name})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("training", "mixed", "decoding")
    parser.add_argument("--sections", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    clock, report = library(), {}
    for section in options.sections:
        rows = []
        for name in options.sizes:
            number = SIZES[name][3]
            if section == "decoding":
                rows += measured_decoding(name, options.repeats, clock)
            else:
                lengths = ([25] * number, [25] * number) if section == "training" else sentence_lengths(2 * number)
                rows += measured_training(name, lengths, options.repeats, clock)
        clock.print_rows(section, rows)
        report[section] = rows
    if options.json is not None:
        report = {"machine": clock.machine(), "threads": options.threads, "sections": report}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
