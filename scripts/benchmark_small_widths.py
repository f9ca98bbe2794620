"""What a whole update costs at small widths, beside the same update with one thing done in another way.

    python scripts/benchmark_small_widths.py --json scripts/benchmarks/small_widths.json    # minutes on one core
    python scripts/benchmark_small_widths.py --models "RNNsearch, 256 wide" --repeats 3

An update is the forward pass of sentences with pads, smoothed labels, the backward pass, clipping and Adam. The other
ways are those that the package had before, or that were tried and left out; what is under 5 % is not worth its code.
Seconds are those of the processor and its system, on one thread; each round runs all, and a ratio is the median over
rounds of the other way's time by the package's.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from benchmark import load_builders, machine, print_rows, rows_of, variants_of
from benchmark_parts import processor_rounds
from torch import Tensor, nn
from torch.nn import functional
from transformers.trainer_pt_utils import LabelSmoother

from hf_attention_zoo import get_architecture
from hf_attention_zoo.attention.multi_head import MultiHeadAttention
from hf_attention_zoo.attention.packing import Packing
from hf_attention_zoo.loops import additive_scores
from hf_attention_zoo.parts.model_inputs import up_to_last_label
from hf_attention_zoo.training.kept_memory import freed_memory_kept
from hf_attention_zoo.training.label_smoothing import UniformSmoother

VOCABULARY, ROWS, SMOOTHING = 6000, 40, 0.1
# name -> architecture, start of the variant's name, hidden size that the builder is given
TRANSLATORS = {
    "RNNsearch, 256 wide": ("rnnsearch", "", 256),
    "Luong, 256 wide": ("luong", "", 256),
    "Transformer, 3 layers of 256": ("transformer2017", "3 layers", 512),
    "Transformer, 3 layers of 128": ("transformer2017", "3 layers", 256),
}
READERS = {"BERT, 4 layers of 256": ("bert2018", "AutoModelForMaskedLM")}
READERS["GPT, 4 layers of 256"] = ("gpt2018", "AutoModelForCausalLM")
HERE, BACK = "here", "memory goes back to the system"
Row = dict[str, Any]


def translator(name: str) -> nn.Module:
    architecture, start, hidden = TRANSLATORS[name]
    variants = variants_of(load_builders(architecture))
    builders = next(variant for key, variant in variants.items() if key.startswith(start))
    return builders.build_model(256, hidden, VOCABULARY)


def reader(name: str) -> nn.Module:
    architecture, auto = READERS[name]
    row = get_architecture(architecture)
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    return row.model_classes[auto](row.config_class(vocab_size=VOCABULARY, **sizes))


class Update:
    """One update of a model with its own batch.

    Attributes:
        smoother: makes the loss of a translator from its outputs and labels.
        adam: which of torch's forms updates the weights.
    """

    def __init__(self, name: str) -> None:
        torch.manual_seed(0)
        self.model = (translator(name) if name in TRANSLATORS else reader(name)).train()
        self.smoother: Callable[..., Tensor] = UniformSmoother(SMOOTHING)
        self.adams = {
            form: torch.optim.AdamW(self.model.parameters(), 1e-4, **{form: True}) for form in ("fused", "foreach")
        }
        self.adam = "fused"
        sentences = load_builders("transformer2017")
        batch = sentences.padded_batch(*sentences.sentence_lengths(ROWS), VOCABULARY)
        self.labels: Tensor | None = None
        if name in TRANSLATORS:
            self.labels = batch.pop("labels")
            batch["decoder_input_ids"] = self.model.prepare_decoder_input_ids_from_labels(self.labels)
            batch["decoder_attention_mask"] = up_to_last_label(self.labels)
        else:
            batch["labels"] = batch["input_ids"].where(batch["attention_mask"] > 0, -100)
        self.batch = batch

    def __call__(self) -> None:
        made = self.model(**self.batch)
        loss = made.loss if self.labels is None else self.smoother(made, self.labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adams[self.adam].step()
        self.model.zero_grad()


def sixteen_bits(vectors: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout whose draws are 16 bits each, four of one number of the generator."""
    if not training or p == 0:
        return vectors
    drawn = torch.empty((vectors.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = drawn[: vectors.numel()].view(vectors.shape) >= round(p * 2**16) - 2**15
    return vectors * kept.to(vectors.dtype).mul_(1 / (1 - p))


def one_product(update: Update) -> AbstractContextManager[None]:
    """Queries, keys and values of self-attention from one product with the three matrices, stacked each time."""
    inside = {id(part) for name, part in update.model.named_modules() if name.endswith("self_attention")}
    queries: list[Tensor] = []
    project, forward = MultiHeadAttention.project_memory, MultiHeadAttention.forward

    def project_all(self: Any, memory: Tensor, packing: Packing | None = None) -> tuple[Tensor, Tensor]:
        if id(self) not in inside:
            return project(self, memory, packing)
        layers = (self.q_proj, self.k_proj, self.v_proj)
        made = functional.linear(memory, torch.cat([layer.weight for layer in layers]))
        made = made if packing is None else packing.unpack(made)
        query, keys, values = made.split([layer.out_features for layer in layers], -1)
        queries.append(query)
        return self._split(keys, self.key_size), self._split(values, self.value_size)

    def forward_of_all(self: Any, states: Tensor, keys: Tensor, values: Tensor, *given: Any) -> Any:
        if id(self) not in inside:
            return forward(self, states, keys, values, *given)
        mask, with_weights, packing = given
        mixed, weights = self.attend(self._split(queries.pop(), self.key_size), keys, values, mask, with_weights)
        mixed = mixed.flatten(2)
        return self.o_proj(mixed if packing is None else packing.pack(mixed)), weights

    return mock.patch.multiple(MultiHeadAttention, project_memory=project_all, forward=forward_of_all)


@contextmanager
def settled(update: Update, **attributes: Any) -> Iterator[None]:
    with mock.patch.multiple(update, **attributes):
        yield


def other_ways(name: str, update: Update) -> dict[str, Callable[[], AbstractContextManager[Any]]]:
    """Other way -> what makes an update go it."""
    every = (torch.float16, torch.bfloat16, torch.float32)
    ways: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "Adam by foreach, not fused": lambda: settled(update, adam="foreach"),
    }
    if update.labels is not None:
        ways["transformers' label smoother"] = lambda: settled(update, smoother=LabelSmoother(SMOOTHING))
    if any(isinstance(part, nn.Dropout) and part.p for part in update.model.modules()):
        ways["dropout of 16 bits"] = lambda: mock.patch.object(functional, "dropout", sixteen_bits)
    if name.startswith("RNNsearch"):
        ways["tanh itself, not a logistic function"] = lambda: mock.patch.object(
            additive_scores, "HALF_PRECISION", every
        )
    if name.startswith("Transformer"):
        ways["one product for queries, keys, values"] = lambda: one_product(update)
    return ways


def measure(name: str, repeats: int) -> list[Row]:
    """The update here and in other ways, with the pages that the system gave for one."""
    update = Update(name)
    ways = {HERE: nullcontext, **other_ways(name, update)}

    def gone(way: str) -> Callable[[], None]:
        def case() -> None:
            with ways[way]():
                update()

        return case

    with freed_memory_kept():
        for way in ways:
            gone(way)()
        seconds = processor_rounds({way: gone(way) for way in ways}, repeats)
        pages = faults(update)
    back = processor_rounds({BACK: update}, repeats)
    rows = rows_of({**seconds, **back}, HERE, {"model": name})
    counted = {HERE: pages, BACK: faults(update)}
    return [{**row, "page_faults": counted.get(row["candidate"])} for row in rows]


def faults(update: Update) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    update()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def main() -> None:
    names = [*TRANSLATORS, *READERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7, help="rounds a measurement (default 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in options.models:
        made = measure(name, options.repeats)
        print_rows(name, made)
        rows += made
    if options.json is not None:
        facts = {"machine": machine(), "threads": 1, "repeats": options.repeats}
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
