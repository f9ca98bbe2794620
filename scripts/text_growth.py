"""Encoding and reading a text that grows: rate and memory, for `benchmark_scale.py`.

The text is documents of `lm_debian` again and again, handed over one after the other, so that its size is not that of
a file; what is encoded of it is on the disk.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pretraining_memory import own_memory

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.masked_pairs import MaskedPairsObjective, MaskedPairStream
from hf_attention_zoo.tasks.running_text.rows import DocumentSource, read_documents
from hf_attention_zoo.tasks.running_text.token_store import build_token_store

EXAMPLES, LENGTH = 2000, 128


class RepeatedDocuments:
    """Documents until they have so many bytes; notes the process's own memory as they are asked for.

    Attributes:
        seen: (mebibytes handed over, own memory in mebibytes), at every eighth of the text.
    """

    def __init__(self, documents: list[list[str]], mebibytes: float) -> None:
        self.documents, self.limit = documents, mebibytes * 2**20
        self.sizes = [sum(len(line.encode()) + 1 for line in document) for document in documents]
        self.seen: list[tuple[float, float]] = []

    def __iter__(self) -> Iterator[list[str]]:
        self.seen, handed = [], 0
        while True:
            for document, size in zip(self.documents, self.sizes, strict=True):
                if handed >= self.limit:
                    return
                if handed >= self.limit * len(self.seen) / 8:
                    self.seen.append((round(handed / 2**20, 1), round(own_memory(), 1)))
                handed += size
                yield document


def encoded_and_read(mebibytes: float) -> dict[str, Any]:
    """Rate of encoding, memory along the way, and memory while examples of BERT's objective are read."""
    row = get_architecture("bert2018")
    documents = list(read_documents("lm_debian", split="validation"))
    tokenizer = row.tokenizer_class.train((line for text in documents for line in text), vocab_size=2000)
    text = RepeatedDocuments(documents, mebibytes)
    with tempfile.TemporaryDirectory() as folder:
        before, began = own_memory(), time.monotonic()
        store = build_token_store(DocumentSource(text), tokenizer, Path(folder) / "store")
        seconds = time.monotonic() - began
        objective = MaskedPairsObjective(row)
        stream = MaskedPairStream(store, tokenizer, objective.chosen, seed=0, batch_size=32, phases=[Phase(LENGTH)])
        began, reading = time.monotonic(), own_memory()
        for number, _ in enumerate(islice(stream, EXAMPLES)):
            if number % 200 == 0:
                reading = max(reading, own_memory())
        read_seconds = time.monotonic() - began
        on_disk = sum(path.stat().st_size for path in (Path(folder) / "store").iterdir())
    rate = mebibytes / seconds
    return {
        "mib_per_second": round(rate, 2),
        "hours_for_100_gb": round(100e9 / 2**20 / rate / 3600, 1),
        "before_mib": round(before),
        "memory": text.seen,
        "reading_mib": round(reading),
        "examples_per_second": round(EXAMPLES / read_seconds),
        "disk_per_byte": round(on_disk / (mebibytes * 2**20), 2),
    }
