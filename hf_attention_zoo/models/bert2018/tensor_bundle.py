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

import numpy as np

MAGIC = bytes.fromhex("57fb808b247547db")
FOOTER = 48
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # of TensorFlow's DataType


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at a place, seven bits a byte, and where the next thing begins."""
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and content of each field of a protocol buffer."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(message, place)
        elif kind == 2:
            length, place = _varint(message, place)
            value, place = message[place : place + length], place + length
        else:
            length = {1: 8, 5: 4}[kind]
            value, place = message[place : place + length], place + length
        yield tag >> 3, value


def _block(data: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of the block that a handle (place and size) points to."""
    start, after = _varint(handle, 0)
    size, _ = _varint(handle, after)
    if data[start + size] != 0:
        raise ValueError("the index is compressed; TensorFlow writes checkpoints uncompressed: save it again with it")
    block = data[start : start + size]
    restarts = int.from_bytes(block[-4:], "little")
    end, place, key = len(block) - 4 * (restarts + 1), 0, b""
    while place < end:
        shared, place = _varint(block, place)
        own, place = _varint(block, place)
        length, place = _varint(block, place)
        key = key[:shared] + block[place : place + own]
        place += own
        yield key, block[place : place + length]
        place += length


def _entry(message: bytes) -> tuple[int, tuple[int, ...], int, int, int]:
    """Type, shape, number of the data file, place and size of a variable."""
    numbers = {1: 0, 3: 0, 4: 0, 5: 0}
    shape: list[int] = []
    for number, value in _fields(message):
        if number == 2:
            for inner, dimension in _fields(value):
                if inner == 2:
                    shape.append(dict(_fields(dimension)).get(1, 0))
        elif number in numbers:
            numbers[number] = value
    return numbers[1], tuple(shape), numbers[3], numbers[4], numbers[5]


def read_bundle(index: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """All variables of numbers of a checkpoint, by name.

    Args:
        index: the file that ends in `.index`; the data files stand beside it.

    Raises:
        ValueError: it is no such file, or a data file is missing or too short.
    """
    index = Path(index)
    data = index.read_bytes()
    if len(data) < FOOTER or not data.endswith(MAGIC):
        raise ValueError(f"{index} is no index of a TensorFlow checkpoint (its last bytes are not those of a table)")
    footer = data[-FOOTER:]
    _, place = _varint(footer, 0)
    _, place = _varint(footer, place)
    entries = [
        (key.decode(), _entry(value))
        for _, handle in _block(data, footer[place:])
        for key, value in _block(data, handle)
        if key
    ]
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
