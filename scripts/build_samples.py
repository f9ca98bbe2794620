"""Make the embedded samples of the package from the prepared data sets, and check them.

    python scripts/build_samples.py FOLDER            # writes hf_attention_zoo/data/embedded/<name>/<split>.jsonl.gz
    python scripts/build_samples.py --check           # only checks what is embedded
    python scripts/build_samples.py FOLDER --show     # prints counts and hashes of FOLDER for the table in samples.py

FOLDER holds one folder per sample, `translation_emoji_names`, `translation_de_en` and `translation_ko_en`, each with
`train|validation|test.jsonl.gz` (or `.jsonl`): JSON lines `{"id": ..., "translation": {language: text, ...}}`. How
these were made from packages of npm and Debian is told in each sample's `SOURCES.md`.

The rows are written as they are, in their order, with the fields in one order and without time stamp, so that the
same input gives the same bytes. Counts, hashes of the uncompressed lines, languages, unique ids, and that no pair is
empty and no source text of the held-out splits occurs in training are checked against
`hf_attention_zoo/data/samples.py`; any difference ends the script with status 1 and nothing is written.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.record_files import SPLITS, read_rows
from hf_attention_zoo.data.samples import SAMPLES, Sample


def canonical_lines(rows: list[dict[str, Any]], languages: tuple[str, ...]) -> bytes:
    """Rows as JSON lines with the fields in a fixed order: id, the languages, then the rest by name."""
    lines = []
    for row in rows:
        ordered: dict[str, Any] = {"id": row["id"]}
        ordered["translation"] = {language: row["translation"][language] for language in languages}
        ordered.update({name: row[name] for name in sorted(row) if name not in ordered})
        lines.append(json.dumps(ordered, ensure_ascii=False) + "\n")
    return "".join(lines).encode("utf-8")


def read_split(folder: Path, split: str) -> list[dict[str, Any]]:
    """Rows of `<split>.jsonl.gz` or `<split>.jsonl`."""
    for name in (f"{split}.jsonl.gz", f"{split}.jsonl"):
        if (folder / name).is_file():
            return [dict(row) for _, row in read_rows(folder / name)]
    raise ValueError(f"{folder} has no {split}.jsonl.gz and no {split}.jsonl")


def problems_of(sample: Sample, splits: dict[str, list[dict[str, Any]]]) -> list[str]:
    """What is wrong with the rows of a sample, in words; empty if all is well."""
    problems = []
    ids: set[str] = set()
    training = {row["translation"]["en"] for row in splits["train"]}
    for split, rows in splits.items():
        digest = hashlib.sha256(canonical_lines(rows, sample.languages)).hexdigest()
        if len(rows) != sample.sizes[split]:
            problems.append(f"{split}: {len(rows)} rows, the table says {sample.sizes[split]}")
        if digest != sample.sha256[split]:
            problems.append(f"{split}: sha256 {digest}, the table says {sample.sha256[split]}")
        for row in rows:
            if row["id"] in ids:
                problems.append(f"{split}: id {row['id']} twice")
            ids.add(row["id"])
            if not all(text.strip() for text in row["translation"].values()):
                problems.append(f"{split}: {row['id']} has an empty side")
            if split != "train" and row["translation"]["en"] in training:
                problems.append(f"{split}: the English text of {row['id']} is in training too")
    return [f"{sample.name}, {problem}" for problem in problems]


def write_gzip(path: Path, content: bytes) -> None:
    """Gzip without name and time stamp: the same content gives the same file."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0, compresslevel=9) as stream:
        stream.write(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed.getvalue())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with one folder per sample")
    parser.add_argument("--check", action="store_true", help="only check the embedded files")
    parser.add_argument("--show", action="store_true", help="only print counts and hashes of FOLDER")
    parser.add_argument("--out", type=Path, help="write here instead of into the package")
    chosen = parser.parse_args(arguments)
    if chosen.check == (chosen.folder is not None):
        parser.error("give the FOLDER of the source sets, or --check")

    problems: list[str] = []
    ready: list[tuple[Path, bytes]] = []
    for sample in SAMPLES:
        folder = sample.folder if chosen.check else chosen.folder / sample.name
        splits = {split: read_split(folder, split) for split in SPLITS}
        if chosen.show:
            for split, rows in splits.items():
                digest = hashlib.sha256(canonical_lines(rows, sample.languages)).hexdigest()
                print(f"{sample.name} {split} {len(rows)} {digest}")
            continue
        problems += problems_of(sample, splits)
        target = chosen.out / sample.name if chosen.out else sample.folder
        for split, rows in splits.items():
            ready.append((target / f"{split}.jsonl.gz", canonical_lines(rows, sample.languages)))
    if not problems and not chosen.check:
        for path, content in ready:
            write_gzip(path, content)
            print(f"{path}: {path.stat().st_size:,} bytes")
    for problem in problems[:50]:
        print(problem, file=sys.stderr)
    if not problems and not chosen.show:
        print("counts and hashes are as listed in hf_attention_zoo/data/samples.py")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
