"""Word vectors in binary files: word2vec's, and fastText's own with its pieces of words. Sizes are checked first."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

Vectors = dict[str, np.ndarray]
Keeps = Callable[[str], bool]

FASTTEXT_MAGIC = struct.pack("<i", 793712314)
WIDEST = 100_000
_LONGEST_WORD = 1 << 16


def read_word2vec(stream: BinaryIO, name: str, size: int | None, keeps: Keeps) -> Vectors:
    """Words and numbers as word2vec's `-binary 1` writes them. A word that ends inside a character keeps its rest.

    Args:
        stream: at the start of the file.
        name: what messages call it.
        size: bytes of the file, where it is not packed.
        keeps: which words are wanted.

    Raises:
        ValueError: no such file, sizes that it cannot hold, or it ends too early or too late.
    """
    header = stream.readline(100).split()
    if len(header) != 2 or not all(field.isdigit() for field in header) or not header[0].isascii():
        raise ValueError(f"{name} is no binary word2vec file: its first line has no count of words and numbers")
    count, width = map(int, header)
    needed = count * (4 * width + 1)
    if not count or not 0 < width <= WIDEST or (size is not None and needed > size):
        has = "" if size is None else f"; the file has {size:,}"
        raise ValueError(
            f"{name} claims {count:,} words of {width:,} numbers, at least {needed:,} bytes{has}. Fetch it again"
        )
    found: Vectors = {}
    for number in range(1, count + 1):
        word = _until_space(stream)
        numbers = stream.read(4 * width) if word is not None else b""
        if word is None or len(numbers) < 4 * width:
            raise ValueError(f"{name} ends within word {number:,} of {count:,}; it is cut off: fetch it again")
        text = word.decode("utf-8", errors="replace")
        if keeps(text) and text not in found:
            found[text] = np.frombuffer(numbers, dtype="<f4").astype(np.float32)
    if stream.read(1 << 10).strip():
        raise ValueError(f"{name} goes on behind the {count:,} words that its first line tells of; fetch it again")
    return found


def _until_space(stream: BinaryIO) -> bytes | None:
    """The bytes before the next space, without the line break before them; None where there are none."""
    taken = bytearray()
    while len(taken) < _LONGEST_WORD:
        ahead = stream.peek(1)  # type: ignore[attr-defined]  # opened files have it, IO has not
        if not ahead:
            return None
        place = ahead.find(b" ")
        if place >= 0:
            taken += stream.read(place + 1)[:-1]
            return bytes(taken.lstrip(b"\n"))
        taken += stream.read(len(ahead))
    return None


def read_fasttext(path: Path, keeps: Keeps) -> Vectors:
    """The words of a fastText model, each the mean of its own row and those of its pieces (Bojanowski et al. 2017).

    Raises:
        ValueError: another version, a quantised model, sizes that the file cannot hold, or it is cut off.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        try:
            _, version = _unpack(stream, "<ii")
            width, *_, bucket, shortest, longest, _ = _unpack(stream, "<12i")
            _unpack(stream, "<d")
            entries, words, _, _, pruned = _unpack(stream, "<iiiqq")
            if version not in (11, 12) or not 0 < width <= WIDEST or not 0 < words <= entries <= size or bucket < 0:
                raise ValueError(f"{path} is no whole fastText model of version 11 or 12; save or fetch it again")
            names = [name for name, kind in _entries(stream, entries) if kind == 0]
            if pruned * 8 > size:
                raise EOFError
            kept = dict(_unpack(stream, "<ii") for _ in range(max(0, pruned)))
            (quantised,) = _unpack(stream, "<?")
            if quantised:
                raise ValueError(f"{path} is a quantised fastText model; give the one that is not, or its .vec file")
            rows, columns = _unpack(stream, "<qq")
            start = stream.tell()
        except EOFError:
            raise ValueError(
                f"{path} is cut off: it ends within the words of a fastText model; fetch it again"
            ) from None
    if columns != width or rows < words or not _holds(path, start, rows, columns, size):
        raise ValueError(
            f"{path} claims {rows:,} rows of {columns:,} numbers and an output layer, and has {size:,} bytes: it is "
            "cut off or damaged; fetch it again"
        )
    table = np.memmap(path, dtype="<f4", mode="r", offset=start, shape=(rows, columns))
    found: Vectors = {}
    for index, raw in enumerate(names):
        word = raw.decode("utf-8", errors="replace")
        if not keeps(word) or word in found:
            continue
        pieces = _pieces(raw, shortest, longest) if bucket and longest and raw != b"</s>" else ()
        hashes = [_hash(piece) % bucket for piece in pieces]
        if pruned >= 0:
            hashes = [kept[code] for code in hashes if code in kept]
        places = [index, *(words + code for code in hashes)]
        if max(places) >= rows:
            raise ValueError(f"{path} has no row for the pieces of {word!r}; it is damaged: fetch it again")
        found[word] = np.asarray(table[places], dtype=np.float32).mean(axis=0)
    return found


def _holds(path: Path, start: int, rows: int, columns: int, size: int) -> bool:
    """Whether a file is long enough for its input rows from a place on, and for the output layer behind them."""
    behind = start + rows * columns * 4
    if behind + 17 > size:
        return False
    with path.open("rb") as stream:
        stream.seek(behind)
        quantised, more, wide = _unpack(stream, "<?qq")
    return quantised or (more >= 0 <= wide and behind + 17 + more * wide * 4 <= size)


def _unpack(stream: BinaryIO, form: str) -> tuple:
    data = stream.read(struct.calcsize(form))
    if len(data) < struct.calcsize(form):
        raise EOFError
    return struct.unpack(form, data)


def _entries(stream: BinaryIO, count: int) -> Iterator[tuple[bytes, int]]:
    """Name and kind (0 for words, 1 for labels) of each entry of the dictionary."""
    for _ in range(count):
        name = bytearray()
        while (letter := stream.read(1)) != b"\0":
            if not letter:
                raise EOFError
            name += letter
        _, kind = _unpack(stream, "<qb")
        yield bytes(name), kind


def _pieces(word: bytes, shortest: int, longest: int) -> Iterator[bytes]:
    """Pieces of so many characters of `<word>`; neither of its two marks stands alone."""
    marked = b"<" + word + b">"
    starts = [place for place, byte in enumerate(marked) if byte & 0xC0 != 0x80] + [len(marked)]
    for first in range(len(starts) - 1):
        for count in range(shortest, min(longest, len(starts) - 1 - first) + 1):
            if count > 1 or 0 < first < len(starts) - 2:
                yield marked[starts[first] : starts[first + count]]


def _hash(piece: bytes) -> int:
    """FNV-1a of 32 bits over signed characters, as fastText has it."""
    code = 2166136261
    for byte in piece:
        code = ((code ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return code


def is_fasttext(path: Path | str | os.PathLike[str]) -> bool:
    """Whether a file begins as a fastText model does."""
    with open(path, "rb") as stream:
        return stream.read(4) == FASTTEXT_MAGIC
