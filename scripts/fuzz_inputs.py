"""Bad inputs for every reader and command: a clean error, success, or an exception listed here with its reason.

    python scripts/fuzz_inputs.py --output fuzz.json              # all cases, a table of counts
    python scripts/fuzz_inputs.py --only "word vectors" --seed 7   # other cases of one reader
    python scripts/fuzz_inputs.py --only pictures --case 12        # one case again, with its traceback

A reader may raise ValueError, OSError or ImportError; a command ends with 0 or 2, and with 2 writes one line. Anything
else is a failure, as is a case that runs longer than its limit, or one that is known to be wrong and taken without a
word. A run that is stopped goes on where it was (`--output` keeps each case).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz_cases import READERS, Case
from fuzz_commands import COMMANDS
from fuzz_symbols import SYMBOLS

MAKERS = {**READERS, **SYMBOLS, **COMMANDS}
LIMIT = 60  # seconds of one case
# What the command has no such form of: its flags are `--name value`.
PYTHON_ARGUMENT = re.compile(r"(?<![\w.\-'\"/])[a-z][a-z0-9_]*=")
CLEAN = (ValueError, OSError, ImportError)
# Outcomes that are no clean error and are right as they are: (reader, part of what was done) -> why.
LISTED: dict[tuple[str, str], str] = {}


class Hang(BaseException):
    """A case took too long."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `Hang` inside after so many seconds."""

    def stop(number: int, frame: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(case: Case) -> tuple[str, str]:
    """What became of a case, "success", "error" or "failure", and the words for it."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    try:
        with (
            limited(LIMIT),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            code = case.call()
    except Hang:
        return "failure", f"no end after {LIMIT} s"
    except SystemExit as stopped:
        code = stopped.code
    except CLEAN as error:
        return clean(str(error) or type(error).__name__)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "failure", "".join(traceback.format_exception(error))
    lines = err.getvalue().splitlines()
    if isinstance(code, int) and code == 2:
        said = [line for line in lines if line.startswith("attention-zoo: ")]
        if said and PYTHON_ARGUMENT.search(said[-1]):
            return "failure", f"the message names an argument of Python: {said[-1]}"
        one_line = said and lines[-1] == said[-1] and lines[-1].isprintable() and "Traceback" not in err.getvalue()
        return clean(lines[-1]) if one_line else ("failure", f"exit code 2 with {err.getvalue()[-600:]!r}")
    if isinstance(code, int) and code != 0:
        return "failure", f"exit code {code}: {err.getvalue()[-600:]}"
    return ("failure", "taken without a word") if case.must_fail else ("success", "")


def clean(said: str) -> tuple[str, str]:
    """An error is clean if it says what came: what a library says of bytes alone names no file."""
    bare = said.removeprefix("attention-zoo: ")
    if bare.startswith(("'utf-8' codec", "Expecting ", "Extra data", "Unterminated")) or " " not in bare.strip():
        return "failure", f"the message names no file: {said}"
    return "error", said


def run_case(reader: str, number: int, seed: int) -> dict[str, Any]:
    """Make a case anew and run it in a folder of its own."""
    rng = random.Random(f"{seed}/{reader}/{number}")
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "in"
        folder.mkdir()
        os.chdir(scratch)
        try:
            case = MAKERS[reader][1](rng, folder)
            found, said = outcome(case)
        finally:
            os.chdir(here)
    why = next((why for (of, part), why in LISTED.items() if of == reader and part in case.said), None)
    if found == "failure" and why is not None:
        found = "listed"
    return {"reader": reader, "case": number, "done": case.said, "outcome": found, "said": said.replace(scratch, "")}


def counts(results: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Outcomes by reader."""
    found: dict[str, Counter[str]] = {}
    for result in results:
        found.setdefault(result["reader"], Counter())[result["outcome"]] += 1
    return {reader: dict(sorted(counter.items())) for reader, counter in found.items()}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=list(MAKERS), help="these readers alone")
    parser.add_argument("--cases", type=int, help="so many of each reader; default: as many as it has")
    parser.add_argument("--case", type=int, help="this number alone")
    parser.add_argument("--output", type=Path, help="counts as JSON; NAME.cases.jsonl beside it keeps every case")
    options = parser.parse_args(argv)

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries

    silence_libraries()
    kept = None if options.output is None else options.output.with_suffix(".cases.jsonl")
    results: list[dict[str, Any]] = []
    if kept is not None and kept.is_file():
        results = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    known = {(result["reader"], result["case"]) for result in results}
    for reader in options.only or MAKERS:
        total = MAKERS[reader][0] if options.cases is None else options.cases
        for number in [options.case] if options.case is not None else range(total):
            if (reader, number) in known:
                continue
            result = run_case(reader, number, options.seed)
            results.append(result)
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
            if result["outcome"] == "failure" or options.case is not None:
                print(f"{reader} {number}, {result['done']}: {result['outcome']}: {result['said'][-3000:]}")
    table = counts(results)
    for reader, found in table.items():
        print(f"{reader:<24}" + "  ".join(f"{name} {count}" for name, count in found.items()))
    total = sum(count for found in table.values() for count in found.values())
    failed = sum(found.get("failure", 0) for found in table.values())
    print(f"{total} bad inputs, {failed} failures")
    if options.output is not None:
        summary = {"seed": options.seed, "cases": total, "failures": failed, "by_reader": table}
        options.output.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
