"""Files of measurements that grow row by row and are of one machine: what is done is not done again."""

from __future__ import annotations

import importlib.metadata
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark import machine

from hf_attention_zoo.whole_files import whole_file

Row = dict[str, Any]


def installed(name: str) -> bool:
    """Whether a package is here."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def surroundings(packages: Sequence[str]) -> Row:
    """What must be the same in all rows of a file: the machine and the releases of these packages."""
    found = machine()
    del found["load_average"]
    return {**found, "packages": {name: importlib.metadata.version(name) for name in packages}}


def opened(path: Path, packages: Sequence[str], anew: bool) -> Row:
    """The rows that are done, or a new file's beginning.

    Raises:
        SystemExit: the file is of another machine or of other releases.
    """
    here = surroundings(packages)
    if not path.is_file() or anew:
        return {"machine": here, "rows": {}}
    kept: Row = json.loads(path.read_text(encoding="utf-8"))
    if kept["machine"] != here:
        different = [name for name in here if kept["machine"].get(name) != here[name]]
        raise SystemExit(
            f"{path} was measured elsewhere ({', '.join(different)} differ), and rows of two machines are not put "
            "into one table; give another --json, or --anew to begin again"
        )
    return kept


def keep(path: Path, kept: Row, key: str, row: Row) -> None:
    """Put a row into the file, with the day and what else ran on the machine."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    kept["rows"][key] = {**row, "load_average": load, "measured": time.strftime("%Y-%m-%d")}
    with whole_file(path) as file:
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
