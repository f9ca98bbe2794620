"""Reading single files of a Debian package or of a package of npm, without unpacking it onto the disk."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import tarfile
from pathlib import Path
from typing import IO

from hf_attention_zoo.data.unpacking import BoundedUnpacking

AR_START, AR_HEADER = b"!<arch>\n", 60


def files_of_deb(package: Path, wanted: re.Pattern[str]) -> dict[str, bytes]:
    """Those files of a Debian package whose whole path fits the pattern, by path (`usr/lib/...`).

    Raises:
        ValueError: it is not a Debian package, is damaged, or is packed in another way than with xz or gzip.
    """
    if not package.is_file():
        raise ValueError(f"{package} is not a file; give a Debian package, a file that ends in .deb")
    members = dict(_members_of_ar(package))
    name = next((name for name in members if name.startswith("data.tar")), None)
    if name is None:
        raise ValueError(f"{package} has {', '.join(members) or 'nothing'} inside, and no data.tar; fetch it again")
    ending = Path(name).suffix
    if ending not in (".xz", ".gz"):
        raise ValueError(f"{package} has {name} inside; what is read is data.tar.xz or data.tar.gz")
    content = io.BytesIO(members[name])
    return _files_of_tar(content, len(members[name]), f"{name} of {package}", ending == ".xz", wanted)


def files_of_npm(package: Path, wanted: re.Pattern[str]) -> dict[str, bytes]:
    """Those files of a package of npm whose whole path fits the pattern, by path without the leading `package/`.

    Args:
        package: what `npm pack` writes, or the folder that it unpacks to.

    Raises:
        ValueError: it is neither, or is damaged.
    """
    if package.is_dir():
        root = package / "package" if (package / "package").is_dir() else package
        found = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if wanted.fullmatch(name)}
    if not package.is_file():
        raise ValueError(f"{package} does not exist; give a .tgz file of `npm pack`, or the folder that it unpacks to")
    with package.open("rb") as content:
        return _files_of_tar(content, package.stat().st_size, str(package), False, wanted, "package/")


def _members_of_ar(package: Path) -> list[tuple[str, bytes]]:
    """Name and content of what an `ar` archive holds, the outer form of a Debian package."""
    content = package.read_bytes()
    if not content.startswith(AR_START):
        raise ValueError(f"{package} is not a Debian package, it begins with {content[:8]!r}; give a .deb file")
    members, place = [], len(AR_START)
    while place < len(content):
        header = content[place : place + AR_HEADER]
        size = header[48:58].strip()
        place += AR_HEADER
        if len(header) < AR_HEADER or not size.isdigit() or place + int(size) > len(content):
            raise ValueError(f"{package} is damaged or was cut off at byte {len(content):,}; fetch it again")
        members.append((header[:16].decode("latin-1").strip(" /"), content[place : place + int(size)]))
        place += int(size) + int(size) % 2
    return members


def _files_of_tar(
    content: IO[bytes], size: int, name: str, is_xz: bool, wanted: re.Pattern[str], prefix: str = "./"
) -> dict[str, bytes]:
    """Files of a tar archive that is packed with xz or gzip."""
    found: dict[str, bytes] = {}
    with lzma.open(content) if is_xz else gzip.open(content) as packed:
        stream = io.BufferedReader(BoundedUnpacking(packed, size, name, "xz" if is_xz else "gzip"))
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    path = member.name.removeprefix(prefix)
                    file = archive.extractfile(member) if wanted.fullmatch(path) else None
                    if file:
                        found[path] = file.read()
        except tarfile.TarError as error:
            raise ValueError(f"{name} is not a whole tar archive ({error}); fetch it again") from error
    return dict(sorted(found.items()))
