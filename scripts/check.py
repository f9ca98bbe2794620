"""Runs what reads the code without running it: ruff, its format, the contracts between rooms, and mypy.

    python scripts/check.py

The exit status is 1 if one of them finds something. mypy reads the whole package, which takes a minute the first time.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("lint-imports",),
    ("mypy",),
)


def main() -> int:
    """Run all, also behind one that failed, and name those that did."""
    programs = Path(sys.executable).parent
    failed = []
    for name, *arguments in CHECKS:
        program = programs / name
        done = subprocess.run([program if program.is_file() else name, *arguments], cwd=ROOT, check=False)
        if done.returncode:
            failed.append(" ".join([name, *arguments]))
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
