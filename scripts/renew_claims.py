"""Renew the checksums of kept results of claims whose experiment is still the same.

    python scripts/renew_claims.py [--try-again] [A1 ...]

Kept results are renewed only where that is honest. Without a flag: what the claim's arms reach says the same as in the
commit that brought the results. With --try-again: seed 1 is run again and measures exactly what is kept, as where a
shared function was rewritten without effect. What is neither is named, with what was changed, and has to be run anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from hf_attention_zoo.history.experiment import ROOT, Package, checksum, experiment, fingerprint
from hf_attention_zoo.history.kept_results import KEPT
from hf_attention_zoo.history.running import run_unit
from hf_attention_zoo.history.table import CLAIMS, load_claim


def git(*words: str, root: Path = ROOT) -> str | None:
    """What git prints, None if it fails."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def package_at(commit: str, root: Path = ROOT) -> Package:
    """The package as a commit has it."""
    return Package(lambda path: git("show", f"{commit}:{path}", root=root))


def brought_by(path: Path, root: Path = ROOT) -> str:
    """The commit that brought the runs that a kept file holds.

    Raises:
        ValueError: they are in no commit yet, or this is no git repository.
    """
    name = path.relative_to(root).as_posix()
    units, found = json.loads(path.read_text(encoding="utf-8"))["units"], None
    for commit in (git("log", "--format=%H", "--", name, root=root) or "").split():
        text = git("show", f"{commit}:{name}", root=root)
        if text is None or json.loads(text)["units"] != units:
            break
        found = commit
    if found is None:
        raise ValueError(f"{name}: no commit has these runs; commit them with the code that made them")
    return found


def changed_since(number: str, path: Path, root: Path = ROOT) -> list[str]:
    """The parts of a claim's experiment that say something else than in the commit that brought its results."""
    then, now = experiment(number, package_at(brought_by(path, root), root)), experiment(number)
    if checksum(then) == checksum(now):
        return []
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def tried_again(number: str, path: Path) -> list[str]:
    """The arms whose measures with seed 1 are not those that are kept."""
    kept = {unit["arm"]: unit["measures"] for unit in json.loads(path.read_text())["units"] if unit["seed"] == 1}
    return [arm for arm in load_claim(number).arms if run_unit(number, arm, 1, False)[0] != kept.get(arm)]


def renew(path: Path, experiment_now: str) -> None:
    """Put the checksum into a kept file and leave the rest as it is."""
    text = path.read_text(encoding="utf-8")
    old = f'"experiment": "{json.loads(text)["experiment"]}"'
    path.write_text(text.replace(old, f'"experiment": "{experiment_now}"', 1), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="default: all that are kept")
    parser.add_argument("--try-again", action="store_true", help="run seed 1 again where the code was changed")
    options = parser.parse_args()
    left = 0
    for number in options.claims or CLAIMS:
        path = KEPT / f"{number}.json"
        if not path.is_file() or json.loads(path.read_text(encoding="utf-8"))["experiment"] == fingerprint(number):
            continue
        different = changed_since(number, path)
        if different and options.try_again:
            different = tried_again(number, path)
        if different:
            left += 1
            print(f"{number}: changed since it was run: {', '.join(different)}; run it again")
        else:
            renew(path, fingerprint(number))
            print(f"{number}: renewed")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
