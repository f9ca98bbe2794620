"""Make the embedded samples of the package from the prepared data sets, and check them.

    python scripts/build_samples.py FOLDER            # writes hf_attention_zoo/data/embedded/<name>/<split>.jsonl.gz
    python scripts/build_samples.py --check           # only checks what is embedded
    python scripts/build_samples.py FOLDER --show     # prints counts and hashes of FOLDER for the table in samples.py

FOLDER holds one folder per sample, each with `train|validation|test.jsonl.gz` (or `.jsonl`, or `.jsonl.xz`). How
these were made from packages of npm, PyPI and Debian is told in each sample's `SOURCES.md`. The rows are

    {"id": ..., "translation": {language: text, ...}}      translation_emoji_names, translation_de_en, ..._ko_en
    {"id": ..., "label": name, "paragraphs": [[...]]}      doc_debian_section
    {"id": ..., "label_name": name, "text": ..., "rating"} sent_vader
    {"id": ..., "label": 0 or 1, "sentence1", "sentence2"} pair_debian_match
    {"id": ..., "file_name", "captions": {language: ...}}  captions_emoji_people
    {"id": ..., "paragraphs": [[...]]}                     lm_debian

The pictures of the captions lie in the folder's images.zip; those that a row names are packed again, without
compression, since they are PNG. Translations are written as they are; of labelled rows what is trained on: id, text (a
list of sentences for a document), second text, name of the class, numbers. They keep their order and get no time
stamp, so that the same input gives the same bytes. Counts, hashes of the uncompressed lines, languages, classes,
unique ids, and that no text is empty and none of the held-out splits occurs in training are checked against
`hf_attention_zoo/data/samples.py`; any difference ends the script with status 1 and nothing is written.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.data.samples import (
    SAMPLES,
    CaptionSample,
    LabelledSample,
    Sample,
    TextSample,
    TranslationSample,
)
from hf_attention_zoo.data.split_names import SPLITS

Row = dict[str, Any]


def translation_row(row: Row, sample: TranslationSample) -> Row:
    """The fields of a translation in a fixed order: id, the languages, then the rest by name."""
    ordered: Row = {"id": row["id"]}
    ordered["translation"] = {language: row["translation"][language] for language in sample.languages}
    return {**ordered, **{name: row[name] for name in sorted(row) if name not in ordered}}


def labelled_row(row: Row, sample: LabelledSample) -> Row:
    """What is trained on of a labelled row; the class by name."""
    if "paragraphs" in row:
        text = [sentence for paragraph in row["paragraphs"] for sentence in paragraph]
    else:
        text = row["text"] if "text" in row else row["sentence1"]
    ordered: Row = {"id": row["id"], "text": text}
    second = row.get("text_pair", row.get("sentence2"))
    if second is not None:
        ordered["text_pair"] = second
    label = row.get("label_name", row["label"])
    ordered["label"] = sample.label_names[label] if isinstance(label, int) else label
    return {**ordered, **{name: row[name] for name in sample.numbers}}


def document_row(row: Row, sample: TextSample) -> Row:
    """A document of running text: id and paragraphs."""
    return {"id": row["id"], "paragraphs": row["paragraphs"]}


def caption_row(row: Row, sample: CaptionSample) -> Row:
    """A picture: id, the name of its file, a caption in each language."""
    captions = {language: row["captions"][language] for language in sample.languages}
    return {"id": row["id"], "file_name": row["file_name"], "captions": captions}


def archive_of(files: dict[str, bytes]) -> bytes:
    """A zip archive of files, in the order of their names, without compression and time stamps."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name])
    return target.getvalue()


def picture_archive(source: Path, names: list[str]) -> bytes:
    """Pictures of an archive, packed again."""
    with zipfile.ZipFile(source) as archive:
        return archive_of({name: archive.read(name) for name in names})


CANONICAL_ROW: dict[type[Sample], Callable[[Row, Any], Row]] = {
    TranslationSample: translation_row,
    LabelledSample: labelled_row,
    CaptionSample: caption_row,
    TextSample: document_row,
}


def canonical_lines(rows: list[Row], sample: Sample) -> bytes:
    """Rows as JSON lines with the fields in a fixed order."""
    canonical = CANONICAL_ROW[type(sample)]
    return canonical_lines_of([canonical(row, sample) for row in rows])


def canonical_lines_of(rows: list[Row]) -> bytes:
    """Rows whose fields are in order as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


def texts_of(row: Row) -> list[str]:
    """Every text of a canonical row."""
    if "translation" in row:
        return list(row["translation"].values())
    if "captions" in row:
        return list(row["captions"].values())
    if "paragraphs" in row:
        return [sentence for paragraph in row["paragraphs"] for sentence in paragraph]
    text = row["text"] if isinstance(row["text"], list) else [row["text"]]
    return [*text, *([row["text_pair"]] if "text_pair" in row else [])]


def held_out_key(row: Row) -> Hashable:
    """What must not occur in training and in a held-out split: the English side, or all the texts of a row."""
    several = row.get("translation", row.get("captions"))
    return several["en"] if several is not None else tuple(texts_of(row))


def read_split(folder: Path, split: str) -> list[dict[str, Any]]:
    """Rows of `<split>.jsonl.gz` or `<split>.jsonl`."""
    for name in (f"{split}.jsonl.gz", f"{split}.jsonl.xz", f"{split}.jsonl"):
        if (folder / name).is_file():
            return [dict(row) for _, row in read_rows(folder / name)]
    raise ValueError(f"{folder} has no {split}.jsonl.gz and no {split}.jsonl")


def problems_of(sample: Sample, splits: dict[str, list[dict[str, Any]]]) -> list[str]:
    """What is wrong with the rows of a sample, in words; empty if all is well."""
    problems = []
    ids: set[str] = set()
    canonical = CANONICAL_ROW[type(sample)]
    splits = {split: [canonical(row, sample) for row in rows] for split, rows in splits.items()}
    training = {held_out_key(row) for row in splits["train"]}
    for split, rows in splits.items():
        digest = hashlib.sha256(canonical_lines_of(rows)).hexdigest()
        if len(rows) != sample.sizes[split]:
            problems.append(f"{split}: {len(rows)} rows, the table says {sample.sizes[split]}")
        if digest != sample.sha256[split]:
            problems.append(f"{split}: sha256 {digest}, the table says {sample.sha256[split]}")
        for row in rows:
            if row["id"] in ids:
                problems.append(f"{split}: id {row['id']} twice")
            ids.add(row["id"])
            if not all(text.strip() for text in texts_of(row)):
                problems.append(f"{split}: {row['id']} has an empty text")
            if split != "train" and held_out_key(row) in training:
                problems.append(f"{split}: the text of {row['id']} is in training too")
            if isinstance(sample, LabelledSample) and row["label"] not in sample.label_names:
                problems.append(f"{split}: {row['id']} has the unlisted class {row['label']}")
    return [f"{sample.name}, {problem}" for problem in problems]


def packed(content: bytes, packing: str) -> bytes:
    """Content packed without name and time stamp: the same content gives the same bytes."""
    if packing == "xz":
        return lzma.compress(content, preset=9)
    target = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0, compresslevel=9) as stream:
        stream.write(content)
    return target.getvalue()


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
                digest = hashlib.sha256(canonical_lines(rows, sample)).hexdigest()
                print(f"{sample.name} {split} {len(rows)} {digest}")
            if isinstance(sample, CaptionSample):
                names = [row["file_name"] for rows in splits.values() for row in rows]
                archive = picture_archive(folder / sample.archive.name, names)
                print(f"{sample.name} pictures {len(names)} {hashlib.sha256(archive).hexdigest()}")
            continue
        problems += problems_of(sample, splits)
        target = chosen.out / sample.name if chosen.out else sample.folder
        for split, rows in splits.items():
            ready.append((target / sample.file(split).name, packed(canonical_lines(rows, sample), sample.packing)))
        if isinstance(sample, CaptionSample):
            names = [row["file_name"] for rows in splits.values() for row in rows]
            archive = picture_archive(folder / sample.archive.name, names)
            digest = hashlib.sha256(archive).hexdigest()
            if digest != sample.archive_sha256:
                problems.append(f"{sample.name}, pictures: sha256 {digest}, the table says {sample.archive_sha256}")
            ready.append((target / sample.archive.name, archive))
    if not problems and not chosen.check:
        for path, content in ready:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            print(f"{path}: {path.stat().st_size:,} bytes")
    for problem in problems[:50]:
        print(problem, file=sys.stderr)
    if not problems and not chosen.show:
        print("counts and hashes are as listed in hf_attention_zoo/data/samples.py")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
