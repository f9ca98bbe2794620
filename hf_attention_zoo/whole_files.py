"""Files and folders that are there as a whole or not at all, whoever else writes them at the same time."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITE_ERRORS = re.compile(
    r"No space left|Disk quota|File too large|os error (28|122|27)\b|PytorchStreamWriter failed|unexpected pos \d+"
    r"|iostream error"
)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write a file: it takes the place of `path` when the block ends, and goes if the block fails.

    The name is its own, so that processes and threads that write the same file do not meet.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to fill a folder: it takes the place of `path`, new or empty, when the block ends, or goes if it fails."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as place:
        unfinished = Path(place) / "folder"
        unfinished.mkdir()
        yield unfinished
        if target.exists():
            target.rmdir()
        unfinished.rename(target)


def json_if_any(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty if there is no such file or it is broken."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file so that it is either there as a whole or not at all."""
    with whole_file(path) as unfinished:
        text = json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"
        unfinished.write_text(text, encoding="utf-8")


def checksum(path: Path) -> str:
    """Size and CRC-32 of a file: what tells a whole file from one that was cut off, emptied or changed."""
    crc, size = 0, 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            crc, size = zlib.crc32(block, crc), size + len(block)
    return f"{size}-{crc:08x}"


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_write_error(error: BaseException) -> bool:
    """Whether a file could not be written: a full disk, a quota, a limit. torch, safetensors and tokenizers each say
    so in their own way."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO):
        return True
    return bool(WRITE_ERRORS.search(str(error)))
