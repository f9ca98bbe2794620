"""Bad inputs, one generator for each reader: `fuzz_inputs.py` runs them.

A case is a function that is called in this process, and whether success would be wrong: data that are cut off, of
another type or no numbers must be refused; what a flipped byte makes of a text may be a text.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import parquet

CARDS = Path(__file__).parents[1] / "model_cards"
# The last one has a break that ends no line.
WORDS = ["ba", "da", "ka", "la", "ma", "the", "film", "was", "good", "bad", "영화", "재미", "très", "😀", "a\u2028b"]


@dataclass(frozen=True)
class Case:
    """One bad input.

    Attributes:
        call: reads it; raises for a reader, returns an exit code for a command.
        said: what was done, for the report.
        must_fail: it is known to be wrong, and may not be taken without a word.
    """

    call: Callable[[], Any]
    said: str
    must_fail: bool = False


TASKS = ("translation", "labels", "tags", "questions", "choices", "captions", "documents")
Maker = Callable[[random.Random, Path], Case]


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 6)))


def damaged_bytes(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """A file with something of it changed, and what."""
    kind = rng.choice(("cut", "flip", "zeros", "insert", "empty", "double", "noise", "utf-16"))
    place = rng.randrange(max(1, len(data)))
    changed = {
        "cut": lambda: data[:place],
        "flip": lambda: data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :],
        "zeros": lambda: data[:place] + bytes(min(9, len(data) - place)) + data[place + 9 :],
        "insert": lambda: data[:place] + rng.randbytes(rng.randint(1, 9)) + data[place:],
        "empty": lambda: b"",
        "double": lambda: data + data,
        "noise": lambda: rng.randbytes(64),
        "utf-16": lambda: data.decode("utf-8", "replace").encode("utf-16"),
    }[kind]()
    return changed, kind


# Rows of each task. A value is replaced by one of another kind, or a column is left out.

WRONG_VALUES: tuple[Any, ...] = (
    None,
    7,
    -1,
    1.5,
    float("nan"),
    True,
    "",
    "   ",
    [],
    {},
    [[]],
    {"a": {"b": 1}},
    "x" * 9000,
)
WRONG_VALUES += ([None], ["a", None], [1, "a"], {"text": ["a"], "answer_start": ["b"]}, "\x1b[31m", "\0", 10**30)


def rows_of(task: str, rng: random.Random) -> list[dict[str, Any]]:
    def row() -> dict[str, Any]:
        text = sentence(rng)
        if task == "translation":
            return {"source": text, "target": sentence(rng)}
        if task == "labels":
            return {"text": text, "label": rng.choice(("negative", "positive"))}
        if task == "tags":
            return {"tokens": text.split(), "tags": [rng.choice(("NOUN", "VERB")) for _ in text.split()]}
        if task == "questions":
            word = text.split()[0]
            return {
                "id": str(rng.random()),
                "question": "which?",
                "context": text,
                "answers": {"text": [word], "answer_start": [0]},
            }
        if task == "choices":
            return {"context": text, "endings": [sentence(rng), sentence(rng)], "label": rng.randrange(2)}
        if task == "captions":
            return {"file_name": "one.png", "captions": [text]}
        return {"text": text}

    return [row() for _ in range(6)]


def loaders() -> dict[str, Callable[[str], Any]]:
    from hf_attention_zoo.tasks.captions.rows import load_captions
    from hf_attention_zoo.tasks.choices.rows import load_choices
    from hf_attention_zoo.tasks.labels.rows import load_labelled
    from hf_attention_zoo.tasks.questions.rows import load_questions
    from hf_attention_zoo.tasks.running_text.rows import read_documents
    from hf_attention_zoo.tasks.tags.rows import load_tagged
    from hf_attention_zoo.tasks.translation.rows import load_data

    def captions(folder: str) -> Any:
        found = load_captions(folder)
        return [list(split.pictures()) for split in found.values()]

    return {
        "translation": load_data,
        "labels": load_labelled,
        "tags": load_tagged,
        "questions": load_questions,
        "choices": load_choices,
        "captions": captions,
        "documents": lambda folder: list(read_documents(folder)),
    }


def written(rows: list[dict[str, Any]], form: str) -> bytes:
    if form in ("csv", "tsv"):
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), delimiter="," if form == "csv" else "\t", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode("utf-8", "surrogatepass")
    if form == "parquet":
        file = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows), file)
        return file.getvalue()
    if form == "json":
        return json.dumps(rows, ensure_ascii=False).encode()
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def row_case(task: str) -> Maker:
    def make(rng: random.Random, folder: Path) -> Case:
        rows = rows_of(task, rng)
        form = rng.choice(
            ("jsonl", "json", "parquet", "csv", "tsv") if task in ("translation", "labels") else ("jsonl", "json")
        )
        place, name = rng.randrange(len(rows)), rng.choice(list(rows[0]))
        change = rng.choices(("value", "column", "bytes", "packed", "deep"), (8, 3, 5, 3, 1))[0]
        must_fail, said = False, change
        if change == "value":
            value = rng.choice(WRONG_VALUES)
            rows[place][name] = value
            must_fail = form in ("jsonl", "json") and isinstance(value, dict) and task in ("translation", "labels")
            said = f"{name} is {value!r:.40} in {form}"
        elif change == "column":
            del rows[place][name]
            must_fail = form in ("jsonl", "json") and name not in ("id",) and task not in ("captions", "documents")
            said = f"{name} is missing in {form}"
        try:
            content = written(rows, form)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            form, content = "jsonl", written(rows, "jsonl")
        ending = form
        if change == "bytes":
            content, said = damaged_bytes(content, rng)
            must_fail = said in ("noise",) and form != "tsv"
        elif change == "deep":
            content, ending, must_fail = b'{"source": ' + b"[" * 100_000, "jsonl", True
        elif change == "packed" and form != "parquet":
            pack, ending = rng.choice(((gzip.compress, f"{form}.gz"), (lzma.compress, f"{form}.xz")))
            content = pack(content)
            content, must_fail = content[: rng.randrange(1, len(content) - 8)], True
            said = f"{ending} is cut"
        (folder / f"train.{ending}").write_bytes(content)
        Image.new("RGB", (4, 4)).save(folder / "one.png")
        return Case(lambda: loaders()[task](str(folder)), said, must_fail)

    return make


# Word vectors, pictures, archives, regions


def vector_case(rng: random.Random, folder: Path) -> Case:
    from hf_attention_zoo.data.word_vectors import read_word_vectors

    words, width = ["ba", "da", "영화", "x y"], 4
    lines = [f"{word} " + " ".join(f"{rng.random():.3f}" for _ in range(width)) for word in words]
    binary = f"{len(words)} {width}\n".encode()
    for word in words:
        binary += word.replace(" ", "_").encode() + b" " + np.array([rng.random()] * width, "<f4").tobytes() + b"\n"
    kind = rng.choice(("text", "header", "binary", "claim", "nan", "pickle", "gz", "zip", "fasttext"))
    text, must_fail = "\n".join(lines).encode() + b"\n", True
    name, content = {
        "text": ("v.txt", text),
        "header": ("v.vec", f"{rng.choice((99, 10**9))} {width}\n".encode() + text),
        "binary": ("v.bin", binary),
        "claim": ("v.bin", f"{10 ** rng.randint(3, 15)} {10 ** rng.randint(1, 15)}\nba ".encode() + b"\0" * 99),
        "nan": ("v.txt", text.replace(lines[1].split()[-1].encode(), rng.choice((b"nan", b"inf", b"1e99", b"x")), 1)),
        "pickle": (rng.choice(("v.kv", "v.model", "v.pkl")), b"\x80\x04N."),
        "gz": ("v.txt.gz", gzip.compress(text * 9)[: rng.randint(1, 60)]),
        "zip": ("v.zip", rng.randbytes(99)),
        "fasttext": ("v.bin", bytes.fromhex("ba164f2f0c000000") + rng.randbytes(rng.randint(0, 200))),
    }[kind]
    if kind in ("text", "binary"):
        content, done = damaged_bytes(content, rng)
        kind, must_fail = f"{kind}, {done}", done == "empty"
    (folder / name).write_bytes(content)
    return Case(lambda: read_word_vectors(folder / name), kind, must_fail)


def picture_case(rng: random.Random, folder: Path) -> Case:
    from hf_attention_zoo.images.opening import open_picture

    form, mode = rng.choice(
        (("PNG", "RGBA"), ("JPEG", "RGB"), ("GIF", "P"), ("BMP", "RGB"), ("TIFF", "I;16"), ("WEBP", "RGB"))
    )
    file = io.BytesIO()
    Image.new(mode, (rng.randint(1, 40), rng.randint(1, 40))).save(file, form)
    content, said = damaged_bytes(file.getvalue(), rng)
    return Case(lambda: open_picture(content), f"{form}, {said}", said in ("empty", "noise"))


def archive_case(rng: random.Random, folder: Path) -> Case:
    from hf_attention_zoo.tasks.captions.rows import load_captions

    picture, archive = io.BytesIO(), io.BytesIO()
    Image.effect_noise((16, 16), 40).save(picture, "PNG")
    name = rng.choice(("one.png", "../one.png", "/etc/hostname", "a\x1bb.png", "one.png/", "n" * 300))
    with zipfile.ZipFile(archive, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as file:
        file.writestr("one.png", picture.getvalue())
        file.writestr("two.png", picture.getvalue())
    content, said = damaged_bytes(archive.getvalue(), rng)
    (folder / "images.zip").write_bytes(content)
    (folder / "train.jsonl").write_text(json.dumps({"file_name": name, "caption": "grey"}), encoding="utf-8")

    def read() -> None:
        for split in load_captions(folder).values():
            list(split.pictures())

    return Case(read, f"{said}, {name!r:.30}", name != "one.png" or said in ("empty", "noise"))


def region_case(rng: random.Random, folder: Path) -> Case:
    import torch

    from hf_attention_zoo.images.feature_cache import FeatureCache, write_features

    path = folder / "r.safetensors"
    write_features(path, ["a", "b"], torch.zeros(2, 3, 4))
    content, said = damaged_bytes(path.read_bytes(), rng)
    path.write_bytes(content)
    return Case(
        lambda: FeatureCache(path).stack(["a", "b"]), said, said in ("cut", "empty", "noise", "double", "insert")
    )


def index_case(rng: random.Random, folder: Path) -> Case:
    from hf_attention_zoo.models.bert2018.tensor_bundle import FOOTER, MAGIC, checksum, read_bundle

    def sealed(content: bytes) -> bytes:
        return content + b"\0" + checksum(content + b"\0").to_bytes(4, "little")

    entries = (
        b"\0\x01" + bytes([rng.randint(0, 40)]) + b"a" + rng.randbytes(rng.randint(0, 60)) + b"\0\0\0\0\x01\0\0\0"
    )
    index = b"\0\x01\x02z\0" + bytes([len(entries) + rng.choice((0, 0, 0, 1))]) + b"\0\0\0\0\x01\0\0\0"
    table = sealed(entries) + sealed(index)
    footer = b"\0\0" + bytes([len(entries) + 5, len(index)])
    (folder / "m.index").write_bytes(table + footer.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC)
    (folder / "m.data-00000-of-00001").write_bytes(bytes(99))
    return Case(lambda: read_bundle(folder / "m.index"), "an index of random entries")


READERS: dict[str, tuple[int, Maker]] = {
    **{f"rows of {task}": (70, row_case(task)) for task in TASKS},
    "word vectors": (120, vector_case),
    "pictures": (120, picture_case),
    "picture archives": (60, archive_case),
    "regions": (30, region_case),
    "indices of TensorFlow": (40, index_case),
}
"""Reader -> how many cases a whole run has, and what makes one."""
