"""Memory that one update frees is there for the next one.

glibc gives freed blocks of many megabytes back to the system at once, and every update asks for them anew, in pages
that the system fills with zeros one by one: tens of thousands of pages an update. Kept, they are asked for once.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # parameters of mallopt, as in malloc.h
NEVER, NONE = -1, 0
# What glibc itself comes to when blocks are large: a trim at twice the largest block that it does not map.
USUAL_TRIM, USUAL_MMAP_MAX = 1 << 26, 1 << 16
CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def glibc() -> ctypes.CDLL | None:
    """The C library if it is glibc and whoever runs the process has not set its memory up."""
    if "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}) or any(name in os.environ for name in CHOSEN):
        return None
    return ctypes.CDLL(None)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Inside, freed memory stays with the process; behind it, what is free goes back. Without glibc: nothing."""
    library = glibc()
    if library is None:
        yield
        return
    library.mallopt(MMAP_MAX, NONE)
    library.mallopt(TRIM_THRESHOLD, NEVER)
    try:
        yield
    finally:
        library.mallopt(MMAP_MAX, USUAL_MMAP_MAX)
        library.mallopt(TRIM_THRESHOLD, USUAL_TRIM)
        library.malloc_trim(0)
