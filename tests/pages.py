"""The pages of the repository that people read, and the scripts that keep them true."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
FRONT = [ROOT / "README.md", ROOT / "README.ko.md"]
DOCS = sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    if not {"_build", "generated", "notebooks"} & set(path.relative_to(ROOT / "docs").parts)
)
PAGES = [*FRONT, *DOCS]


def load_file(path: Path) -> ModuleType:
    """A Python file that lies in no package, as a module."""
    name = f"file_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def commands(path: Path) -> list[str]:
    """The lines of a page's bash blocks."""
    return [line for block in blocks(path, "bash") for line in block.splitlines() if line.strip()]
