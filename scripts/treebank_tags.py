"""A folder for token classification from a treebank that has one split alone, for `scripts/compare_pretraining.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.record_files import read_rows


def make_tags(file: Path, folder: Path) -> None:
    """Split a treebank of one split into train, validation and test (8:1:1), sentences of a document together.

    Documents are taken in the order of their names, whatever their order in the file.

    Raises:
        SystemExit: the file does not name its sentences as Parallel Universal Dependencies do, `n01001011`.
    """
    names = re.findall(r"^# sent_id = (\S+)[0-9]{3}$", file.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [row for _, row in read_rows(file)]
    if len(names) != len(rows):
        raise SystemExit(
            f"{file} has {len(rows)} sentences, and {len(names)} lines such as `# sent_id = n01001011` (the document, "
            "then three digits); give a .conllu file that names each sentence so"
        )
    documents: dict[str, list[dict[str, Any]]] = {}
    for name, row in zip(names, rows, strict=True):
        documents.setdefault(name, []).append({"words": row["tokens"], "tags": row["upos"]})
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "validation": [], "test": []}
    for number, name in enumerate(sorted(documents)):
        parts[{8: "validation", 9: "test"}.get(number % 10, "train")] += documents[name]
    for split, sentences in parts.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in sentences)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
        print(f"{split}: {len(sentences)} sentences")
