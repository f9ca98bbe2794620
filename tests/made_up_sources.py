"""Small made-up sources for `scripts/make_data.py`: a Debian package, a folder of reviews, packages of npm."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import struct
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

NUMBERS = b"X\n" + struct.pack(">iiiiii", 2, 0x40201, 0x20300, 13, 1, 7)  # a vector of whole numbers
TONES = ("1F3FB", "1F3FC", "1F3FD", "1F3FE", "1F3FF")
LANGUAGES = ("en", "ko", "de", "fr")
Package = dict[str, bytes]


def tar_of(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def ar_of(files: dict[str, bytes]) -> bytes:
    parts = [b"!<arch>\n"]
    for name, content in files.items():
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
        parts += [header.encode(), content, b"\n" * (len(content) % 2)]
    return b"".join(parts)


def vector_of(strings: Iterable[str], version: int) -> bytes:
    """A vector of strings as R writes it."""
    encoding = struct.pack(">i", 5) + b"UTF-8" if version == 3 else b""
    strings = [text.encode() for text in strings]
    parts = [b"X\n", struct.pack(">iii", version, 0x40201, 0x30500), encoding, struct.pack(">ii", 16, len(strings))]
    parts += [struct.pack(">ii", 0x40009, len(text)) + text for text in strings]
    return b"".join(parts)


def base_of(objects: list[bytes]) -> bytes:
    return b"".join(struct.pack(">I", len(content)) + zlib.compress(content) for content in objects)


def novel(title: str, chapters: int) -> list[str]:
    lines = [title.upper(), "", "by nobody", "", "VOLUME I", ""]
    for number in range(1, chapters + 1):
        lines += [f"CHAPTER {number}", "", f"Mr. Brown had {number} horses. He was"]
        lines += ['  _not_ glad--"Why?"  Nobody knew.', "", "So it was in St. Ives.", "", "*", ""]
    return [*lines, "THE END"]


def deb(file: Path, base: bytes | None, inner: str = "data.tar.xz") -> Path:
    files = {} if base is None else {"./usr/lib/R/site-library/janeaustenr/data/Rdata.rdb": base}
    packed = {"xz": lzma.compress, "gz": gzip.compress}.get(inner[-2:], bytes)(tar_of({"./usr/README": b"", **files}))
    file.write_bytes(ar_of({"debian-binary": b"2.0\n", "control.tar.xz": b"odd", inner: packed}))
    return file


def words(number: int) -> str:
    """A text of Hangul that is like no other."""
    drawn = random.Random(number)
    return " ".join("".join(chr(drawn.randrange(0xAC00, 0xD7A4)) for _ in range(4)) for _ in range(8))


def review(film: int, number: int, text: str | None = None, rating: int | None = None) -> dict[str, str]:
    rating = rating or 1 + (film + number) % 10
    return {
        "review": text or words(10 * film + number),
        "date": "15.08.25",
        "rating": str(rating),
        "author": "none****",
        "review_id": f"{film}{number}",
        "movie_id": str(film),
    }


def raw_folder(folder: Path, reviews: Iterable[dict[str, Any]]) -> Path:
    films: dict[str, list[dict[str, Any]]] = {}
    for one in reviews:
        films.setdefault(one["movie_id"], []).append(one)
    folder.mkdir(parents=True)
    for film, those in films.items():
        (folder / f"{film}.json").write_text(json.dumps(those, ensure_ascii=False), encoding="utf-8")
    return folder


def picture(number: int, size: int = 64) -> bytes:
    """A shape on nothing that differs with the number."""
    drawn = Image.new("RGBA", (size, size), (0, 0, 0, 0))
    colour = (number * 37 % 200, number * 91 % 200, number * 53 % 200, 255)
    ImageDraw.Draw(drawn).ellipse((8, 8, 24 + number % 30, 24 + number // 30), fill=colour)
    target = io.BytesIO()
    drawn.save(target, "PNG")
    return target.getvalue()


def packages(bases: int = 60) -> tuple[Package, Package, Package]:
    """Pictures in two styles and names: things that come in tones, as many that do not."""
    listed: list[dict[str, Any]] = []
    for number in range(bases):
        code = f"{0x1F400 + number:X}"
        listed.append({"hexcode": f"{code}-FE0F", "label": f"thing {chr(97 + number % 26)}{chr(97 + number // 26)}"})
        if number % 2:
            skins = [{"hexcode": f"{code}-{tone}", "label": f"{listed[-1]['label']}: {tone}"} for tone in TONES]
            listed[-1]["skins"] = skins
    codes = [one["hexcode"].lower() for emoji in listed for one in (emoji, *emoji.get("skins", ()))]
    styles = {
        style: {f"img/{style}/64/{code}.png": picture(2 * n + (style == "google")) for n, code in enumerate(codes)}
        for style in ("twitter", "google")
    }
    names = {}
    for language in LANGUAGES:
        said = json.loads(json.dumps(listed).replace("thing", f"thing-{language}"))
        names[f"{language}/data.json"] = json.dumps(said).encode()
    return styles["twitter"], styles["google"], {**names, "ja/data.json": b"[]"}


def npm_folder(folder: Path, package: Package) -> Path:
    for name, content in package.items():
        (folder / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "package" / name).write_bytes(content)
    return folder


def npm_file(file: Path, package: Package) -> Path:
    file.write_bytes(gzip.compress(tar_of({f"package/{name}": content for name, content in package.items()})))
    return file
