"""How long each quick start takes, as `attention-zoo quickstart --architecture X` runs it, one after another.

    python scripts/time_quickstarts.py --json scripts/benchmarks/quickstarts.json               # all, half an hour
    python scripts/time_quickstarts.py --json scripts/benchmarks/quickstarts.json --only elman  # one of them anew

Processor seconds are those of the command and of all processes that it started; other programs hardly change them,
as they change the seconds on the clock. Rows of the file that are not measured anew stay. `scripts/update_readme.py`
writes the table of the documentation from it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmark import machine

from hf_attention_zoo.cli.quickstart import default_sample
from hf_attention_zoo.registry import get_architecture, list_architectures
from hf_attention_zoo.whole_files import json_if_any, write_json

START = "from hf_attention_zoo.cli.command import main; raise SystemExit(main())"


def measure(model_type: str, folder: Path) -> dict[str, Any]:
    """One quick start into the folder: its seconds, and what its training and its scores are.

    Raises:
        SystemExit: the quick start failed; the message is the end of what it printed.
    """
    command = ["quickstart", "--architecture", model_type, "--output_dir", str(folder), "--overwrite_output_dir"]
    log = folder.with_suffix(".txt")
    begun = time.monotonic()
    with log.open("w", encoding="utf-8") as printed:
        child = subprocess.Popen(
            [sys.executable, "-c", START, *command], stdout=printed, stderr=subprocess.STDOUT, env=one_thread()
        )
        _, status, used = os.wait4(child.pid, 0)  # with the processes that it waited for
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}:\n{log.read_text()[-2000:]}")
    training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return {
        "sample": default_sample(get_architecture(model_type)),
        "processor_seconds": round(used.ru_utime + used.ru_stime),
        "clock_seconds": round(time.monotonic() - begun),
        "steps": training["steps"],
    }


def one_thread() -> dict[str, str]:
    """The environment of a reader who has set nothing: the quick start takes one thread by itself."""
    return {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}


def main() -> None:
    known = [row.model_type for row in list_architectures()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=known, default=known, metavar="ARCHITECTURE")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where the rows are kept")
    parser.add_argument("--folders", type=Path, help="keep what the quick starts make, and print, in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folders = options.folders or Path(made)
        folders.mkdir(parents=True, exist_ok=True)
        for model_type in options.only:
            row = measure(model_type, folders / model_type)
            print(f"{model_type}: {row['processor_seconds']} s processor, {row['clock_seconds']} s clock", flush=True)
            rows = {**(json_if_any(options.json).get("rows") or {}), model_type: row}
            ordered = {name: rows[name] for name in known if name in rows}
            write_json(options.json, {"machine": machine(), "rows": ordered})


if __name__ == "__main__":
    main()
