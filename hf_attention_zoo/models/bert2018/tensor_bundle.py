"""Reading TensorFlow's checkpoint files (the tensor bundle, `NAME.index` and `NAME.data-...`) without TensorFlow.

The index is a sorted table of LevelDB's form: blocks of entries whose keys leave out what they share with the key
before, and a footer that says where the block of blocks stands. Each value is a protocol buffer that says the type and
shape of a variable and where its bytes are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = bytes.fromhex("57fb808b247547db")
FOOTER = 48
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # of TensorFlow's DataType


_CHECKSUM_OF_BYTE = [0] * 256
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = _crc >> 1 ^ (0x82F63B78 if _crc & 1 else 0)
    _CHECKSUM_OF_BYTE[_byte] = _crc


class _Damaged(Exception):
    """The bytes are not what the form allows."""


def checksum(data: bytes) -> int:
    """CRC-32C, turned as LevelDB keeps it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CHECKSUM_OF_BYTE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _taken(data: bytes, place: int, count: int) -> bytes:
    """So many bytes from a place on."""
    if place + count > len(data):
        raise _Damaged(f"{count:,} bytes are wanted at {place:,} of {len(data):,}")
    return data[place : place + count]


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at a place, seven bits a byte and at most 64, and where the next thing begins."""
    number = 0
    for shift in range(0, 70, 7):
        (byte,) = _taken(data, place, 1)
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
    raise _Damaged("a number has more than 64 bits")


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and content of each field of a protocol buffer."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        value: int | bytes
        if kind == 0:
            value, place = _varint(message, place)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                length, place = _varint(message, place)
            if length is None:
                raise _Damaged(f"there is no field of kind {kind}")
            value, place = _taken(message, place, length), place + length
        yield tag >> 3, value


def _block(data: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of the block that a handle (place and size) points to."""
    start, after = _varint(handle, 0)
    size, _ = _varint(handle, after)
    content, kept = _taken(data, start, size + 1), _taken(data, start + size + 1, 4)
    if checksum(content) != int.from_bytes(kept, "little"):
        raise _Damaged(f"the checksum of the block at {start:,} is another")
    if content[-1] != 0:
        raise ValueError("the index is compressed; TensorFlow writes checkpoints uncompressed: save it again with it")
    block = content[:-1]
    restarts = int.from_bytes(block[-4:], "little")
    end, place, key = len(block) - 4 * (restarts + 1), 0, b""
    if end < 0:
        raise _Damaged(f"{restarts:,} places to begin at in a block of {size:,} bytes")
    while place < end:
        shared, place = _varint(block, place)
        own, place = _varint(block, place)
        length, place = _varint(block, place)
        key = _taken(key, 0, shared) + _taken(block, place, own)
        yield key, _taken(block, place + own, length)
        place += own + length


def _entry(message: bytes) -> tuple[int, tuple[int, ...], int, int, int]:
    """Type, shape, number of the data file, place and size of a variable."""
    numbers = {1: 0, 3: 0, 4: 0, 5: 0}
    shape: list[Any] = []
    for number, value in _fields(message):
        if isinstance(value, int) is not (number in numbers) and number in (1, 2, 3, 4, 5):
            raise _Damaged(f"field {number} of a variable is of another kind")
        if number == 2 and isinstance(value, bytes):
            for inner, dimension in _fields(value):
                if inner == 2 and isinstance(dimension, bytes):
                    shape.append(dict(_fields(dimension)).get(1, 0))
        elif number in numbers and isinstance(value, int):
            numbers[number] = value
    if not all(isinstance(size, int) and size < 1 << 40 for size in shape):
        raise _Damaged("a shape is no list of numbers that an array can have")
    return numbers[1], tuple(shape), numbers[3], numbers[4], numbers[5]


def read_bundle(index: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """All variables of numbers of a checkpoint, by name.

    Args:
        index: the file that ends in `.index`; the data files stand beside it.

    Raises:
        ValueError: it is no such file, its checksums or entries say that it is damaged, or a data file is missing or
            too short.
    """
    index = Path(index)
    try:
        entries = _entries(index)
    except (_Damaged, UnicodeDecodeError) as error:
        raise ValueError(f"{index} is damaged ({error}); fetch it again") from error
    files = sorted(index.parent.glob(f"{index.name.removesuffix('.index')}.data-*"))
    variables = {}
    for name, (kind, shape, shard, offset, size) in entries:
        if kind not in TYPES:
            continue  # strings and what else is no number
        if shard >= len(files):
            raise ValueError(f"{name} stands in data file {shard} of {index.name}, but there are {len(files)}")
        dtype = np.dtype(TYPES[kind])
        if size != dtype.itemsize * math.prod(shape) or offset + size > files[shard].stat().st_size:
            raise ValueError(f"{files[shard]} is too short for {name} {shape}; the download may be incomplete")
        with files[shard].open("rb") as file:
            file.seek(offset)
            variables[name] = np.frombuffer(file.read(size), dtype).reshape(shape).copy()
    return variables


def _entries(index: Path) -> list[tuple[str, tuple[int, tuple[int, ...], int, int, int]]]:
    """Names and entries of all variables."""
    data = index.read_bytes()
    if len(data) < FOOTER or not data.endswith(MAGIC):
        raise ValueError(f"{index} is no index of a TensorFlow checkpoint (its last bytes are not those of a table)")
    footer = data[-FOOTER:]
    _, place = _varint(footer, 0)
    _, place = _varint(footer, place)
    return [
        (key.decode(), _entry(value))
        for _, handle in _block(data, footer[place:])
        for key, value in _block(data, handle)
        if key
    ]
