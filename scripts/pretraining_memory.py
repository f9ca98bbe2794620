"""Show that pre-training needs no more memory for a larger corpus.

    python scripts/pretraining_memory.py                  # 1, 4 and 16 copies of the validation split of lm_debian
    python scripts/pretraining_memory.py --copies 1 64 --examples 20000
    python scripts/pretraining_memory.py --long           # without bounds between documents
    python scripts/pretraining_memory.py --output scripts/benchmarks/pretraining_memory.json

For each size a process of its own writes the text to a file, encodes it and reads examples of BERT's objective. It
prints the process's own memory (anonymous pages; what the system keeps of files can be given back at any time) before
the encoding, at its highest while encoding, and at its highest while reading, in megabytes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.masked_pairs import MaskedPairsObjective, MaskedPairStream
from hf_attention_zoo.tasks.running_text.rows import DocumentSource, read_documents
from hf_attention_zoo.tasks.running_text.token_store import build_token_store


def own_memory() -> float:
    """Anonymous memory of this process in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not tell the anonymous memory of a process (/proc/self/status, RssAnon)")


def watched(stream: Any, every: int) -> float:
    """Read a stream to its end; returns the highest memory seen."""
    highest = own_memory()
    for number, _ in enumerate(stream):
        if number % every == 0:
            highest = max(highest, own_memory())
    return max(highest, own_memory())


class Watched:
    """A tokenizer that looks at the memory while it holds what it made."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.highest = tokenizer, own_memory()

    def __len__(self) -> int:
        return len(self.tokenizer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self.tokenizer(*args, **kwargs)
        self.highest = max(self.highest, own_memory())
        return made


def measure(copies: int, examples: int, length: int, long: bool, rows: Connection) -> None:
    """Write, encode and read a corpus of so many copies; prints a row and sends it."""
    row = get_architecture("bert2018")
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "train.txt"
        with text.open("w", encoding="utf-8") as file:
            for _ in range(copies):
                for document in read_documents("lm_debian", split="validation"):
                    file.write("\n".join(document) + ("\n" if long else "\n\n"))
            file.write("\nthe end\n")  # one more document
        source = DocumentSource(text)
        lines = (line for document in islice(source, 700) for line in document)
        tokenizer = row.tokenizer_class.train(lines, vocab_size=2000)
        before = own_memory()
        watched_tokenizer = Watched(tokenizer)
        started = time.monotonic()
        store = build_token_store(source, watched_tokenizer, Path(folder) / "store")
        seconds = time.monotonic() - started
        encoding = max(watched_tokenizer.highest, own_memory())
        objective = MaskedPairsObjective(row)
        stream = MaskedPairStream(store, tokenizer, objective.chosen, seed=0, batch_size=32, phases=[Phase(length)])
        reading = watched(islice(stream, examples), 200)
        size = text.stat().st_size / 2**20
        print(
            f"{copies:6} {size:9.1f} {store.num_documents:10,} {store.num_tokens:12,} {before:8.0f} {encoding:9.0f} "
            f"{reading:8.0f} {seconds:8.1f}",
            flush=True,
        )
        rows.send(
            {
                "copies": copies,
                "text_mib": round(size, 1),
                "documents": store.num_documents,
                "tokens": store.num_tokens,
                "before_mib": round(before),
                "encoding_mib": round(encoding),
                "reading_mib": round(reading),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--long", action="store_true", help="all copies are one document, which is held whole")
    parser.add_argument("--output", type=Path, help="keep the rows in this JSON file, too")
    chosen = parser.parse_args()
    print("copies text (MB)  documents       tokens  before  encoding  reading  seconds")
    context = multiprocessing.get_context("spawn")
    rows: list[dict[str, Any]] = []
    for copies in chosen.copies:
        received, sent = context.Pipe(duplex=False)
        process = context.Process(target=measure, args=(copies, chosen.examples, chosen.length, chosen.long, sent))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)
        rows.append(received.recv())
    if chosen.output is not None:
        settings = {"examples": chosen.examples, "length": chosen.length, "one_document": chosen.long}
        chosen.output.write_text(json.dumps({**settings, "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
