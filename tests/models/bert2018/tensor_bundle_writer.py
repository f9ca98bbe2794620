"""Writes tiny checkpoints in the form of TensorFlow's tensor bundle, straight from the description of that form."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

TYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9}


def varint(number: int) -> bytes:
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def field(number: int, value: int | bytes) -> bytes:
    """A field of a protocol buffer: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(array: np.ndarray, offset: int) -> bytes:
    shape = b"".join(field(2, field(1, size) if size else b"") for size in array.shape)
    return (
        field(1, TYPES[array.dtype.name])
        + field(2, shape)
        + (field(4, offset) if offset else b"")
        + field(5, array.nbytes)
        + varint(6 << 3 | 5)
        + b"\0\0\0\0"  # the checksum of the numbers is not read
    )


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """Entries that leave out what their key shares with the one before, all in one run."""
    data, before = b"", b""
    for key, value in entries:
        shared = next(
            (i for i, (a, b) in enumerate(zip(before, key, strict=False)) if a != b), min(len(before), len(key))
        )
        data += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    return data + struct.pack("<II", 0, 1)


def sealed(content: bytes) -> bytes:
    """A block that is not compressed, and its checksum: CRC-32C bit by bit, turned by 15 bits."""
    crc = 0xFFFFFFFF
    for byte in content + b"\0":
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    turned = (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8
    return content + b"\0" + struct.pack("<I", turned & 0xFFFFFFFF)


def write_bundle(path: Path, arrays: dict[str, np.ndarray]) -> list[int]:
    """`path`.index and `path`.data-00000-of-00001; returns the sizes of the index's blocks."""
    data, entries = b"", [(b"", field(1, 1))]  # the header: one data file
    for name in sorted(arrays):
        entries.append((name.encode(), entry(arrays[name], len(data))))
        data += arrays[name].tobytes()
    Path(f"{path}.data-00000-of-00001").write_bytes(data)
    half = len(entries) // 2
    table, handles, sizes = b"", [], []
    for part in (entries[:half], entries[half:]):
        content = block(part)
        sizes.append(len(content))
        handles.append((part[-1][0], varint(len(table)) + varint(len(content))))
        table += sealed(content)
    places = []
    for content in (block([]), block(handles)):
        sizes.append(len(content))
        places.append(varint(len(table)) + varint(len(content)))
        table += sealed(content)
    footer = b"".join(places).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    Path(f"{path}.index").write_bytes(table + footer)
    return sizes
