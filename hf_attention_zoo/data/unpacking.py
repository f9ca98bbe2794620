"""Packed files, opened so that a small one cannot fill memory or disk: what they unpack to has a bound."""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, TextIO

PACKED = (".gz", ".xz")

# A packed file may always become so many bytes; a larger one so many times its own size. Text packs to a third up to a
# thirtieth; what packs to less than a hundredth is made of repetitions.
ALWAYS_ALLOWED = 1 << 28
LARGEST_RATIO = 100

DAMAGE = (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, EOFError, zlib.error)


def packing_of(path: Path) -> str | None:
    """How a file is packed by its name: "gzip", "xz", or None."""
    return {".gz": "gzip", ".xz": "xz"}.get(path.suffix.lower())


def most_unpacked(packed: int) -> int:
    """Bytes that so many packed bytes may become."""
    return max(ALWAYS_ALLOWED, LARGEST_RATIO * packed)


class BoundedUnpacking(io.RawIOBase):
    """What a packed stream unpacks to.

    Raises:
        ValueError: while it is read, for damage or for more than `most_unpacked` bytes; the message has the name.
    """

    def __init__(self, stream: Any, packed: int, name: str, packing: str) -> None:
        self._stream, self._most, self._name, self._packing = stream, most_unpacked(packed), name, packing
        self._packed, self._read = packed, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = self._stream.seek(offset, whence)
        self._read = place
        return place

    def tell(self) -> int:
        return self._read

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._stream.read(len(buffer))
        except DAMAGE as error:
            raise ValueError(f"{self._name} is not a whole {self._packing} file ({error}); fetch it again") from error
        buffer[: len(part)] = part
        self._read += len(part)
        if self._read > self._most:
            raise ValueError(
                f"{self._name} has {self._packed:,} bytes and unpacks to more than {self._most:,}; if that is meant, "
                "unpack it and give the unpacked file"
            )
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_binary(path: Path) -> BinaryIO:
    """Open a file, unpacked if its name ends in .gz or .xz.

    Raises:
        ValueError: see `BoundedUnpacking`.
    """
    packing = packing_of(path)
    if packing is None:
        return path.open("rb")
    opened = gzip.GzipFile if packing == "gzip" else lzma.LZMAFile
    return io.BufferedReader(BoundedUnpacking(opened(path), path.stat().st_size, str(path), packing), 1 << 16)


def open_text(path: Path, newline: str = "\n") -> TextIO:
    """Open a text file, packed or not; by default only a line feed ends a line, as texts may hold other breaks."""
    # utf-8-sig: spreadsheets put a byte order mark in front of the first column's name.
    return io.TextIOWrapper(open_binary(path), encoding="utf-8-sig", newline=newline)


def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> BinaryIO:
    """Open a file of a zip archive.

    Raises:
        ValueError: see `BoundedUnpacking`; or it is encrypted or packed in a way that Python does not know.
    """
    name = f"{member.filename} of {archive.filename}"
    try:
        stream = archive.open(member)
    except (*DAMAGE, RuntimeError, NotImplementedError) as error:
        raise ValueError(f"{name} cannot be unpacked ({error}); unpack the archive and give the file") from error
    return io.BufferedReader(BoundedUnpacking(stream, member.compress_size, name, "zip"), 1 << 16)
