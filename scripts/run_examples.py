"""Run the Python examples of the front pages and of the how-to pages, and write what they print below them.

    python scripts/run_examples.py [--check] [PAGE ...]

The blocks of a page run one after the other, in a folder of their own that looks like the root of the repository, so
that files that they write go there. No block knows the names of those before: a reader may copy any of them. Where a
block of `text` follows a block, that holds its output. With --check nothing is written; the exit status is 1 if a page
prints something else than it says.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?P<output>\n\n```text\n.*?```)?", re.DOTALL)


def pages() -> list[str]:
    """The pages whose examples run."""
    guides = sorted(f"docs/howto/{path.name}" for path in (ROOT / "docs" / "howto").glob("*.md"))
    return ["README.md", "README.ko.md", *guides]


@contextlib.contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """A folder in which the published folders seem to lie, as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "model_cards").symlink_to(ROOT / "model_cards", target_is_directory=True)
        os.chdir(place)
        try:
            yield Path(place)
        finally:
            os.chdir(before)


def renewed(text: str, page: str) -> str:
    """The page's text with what its examples print now."""

    def run(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found["code"], page, "exec"), {})
        if found["output"] is None:
            return found[0]
        return f"```python\n{found['code']}```\n\n```text\n{printed.getvalue()}```"

    with folder_of_its_own():
        return BLOCK.sub(run, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="default: all of them")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is stale")
    options = parser.parse_args()
    stale = []
    for page in options.pages or pages():
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = renewed(old, page)
        if new != old:
            stale.append(page)
            if not options.check:
                path.write_text(new, encoding="utf-8")
    if options.check and stale:
        print(f"stale: {', '.join(stale)}; run python scripts/run_examples.py", file=sys.stderr)
    return int(options.check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
