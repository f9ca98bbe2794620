"""Installs the lowest version of everything that pyproject.toml allows, in an environment of its own, and runs tests.

    python scripts/check_lower_bounds.py [--environment DIR] [--extra NAME ...] [--torch VERSION] [-- PYTEST ARGUMENTS]
    python scripts/check_lower_bounds.py --highest

With `--highest` the newest versions that pip finds are installed. `--torch` takes another version of torch alone:
builds without CUDA, which are small, are not on every index. The versions that ran are printed, and the exit status is
pytest's.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each library is used by something in here: models and generation, tokenizers, training with Accelerate and Trainer,
# data sets from files, scores by sacrebleu and evaluate, pictures in and out, cards, recipes.
TESTS = (
    "tests/test_registry.py",
    "tests/models/test_saving_properties.py",
    "tests/tokenization/test_tokenizer_saving.py",
    "tests/training/test_zoo_trainer.py",
    "tests/metrics",
    "tests/alignment/test_plotting.py",
    "tests/hub/test_cards.py",
    "tests/tasks/translation",
    "tests/tasks/captions/test_captions.py",
    "tests/tasks/labels/test_labelled.py",
)
TEST_TOOLS = (
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "parameterized",
    "mypy",
    "ruff",
    "import-linter",
    "peft",
    "seqeval>=1.2",  # pip may else go back to one of the first
)


def lowest(requirement: str) -> str:
    """`name[extra]==version` of `name[extra]>=version`. Raises ValueError for a requirement without a lower bound."""
    found = re.match(r"([A-Za-z0-9_.\-]+(?:\[[\w,]+\])?)>=([\w.]+)", requirement)
    if found is None:
        raise ValueError(f"{requirement!r} in pyproject.toml has no lower bound; write `name>=version`")
    return f"{found[1]}=={found[2]}"


def requirements(extras: list[str], highest: bool, torch: str | None) -> list[str]:
    """The dependencies and those of the extras, pinned to their lower bounds unless the highest are wanted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += [line for line in project["optional-dependencies"][extra] if not line.startswith(project["name"])]
    pins = wanted if highest else [lowest(line) for line in wanted]
    if torch is not None:
        pins = [f"torch=={torch}" if re.match(r"torch\W", pin) else pin for pin in pins]
    return pins


def installed(python: Path, pins: list[str]) -> dict[str, str]:
    """Name -> version of what the pins name, as pip lists it."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format", "json"], capture_output=True, check=True)
    versions = {entry["name"].lower().replace("_", "-"): entry["version"] for entry in json.loads(listed.stdout)}
    names = sorted({re.split(r"[\[<>=]", pin)[0].lower().replace("_", "-") for pin in pins})
    return {name: versions[name] for name in names}


def main() -> int:
    """Install, run, say what ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, help="where to make it; default: a temporary folder")
    parser.add_argument("--extra", action="append", default=[], help="an extra whose lower bounds are installed too")
    parser.add_argument("--torch", help="this version of torch instead of the bound")
    parser.add_argument("--highest", action="store_true", help="the newest versions instead of the lowest")
    parser.add_argument("pytest", nargs="*", help="what to give pytest instead of the chosen tests")
    options = parser.parse_args()
    folder = options.environment or Path(tempfile.mkdtemp()) / "environment"
    pins = requirements(options.extra, options.highest, options.torch)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    newest = ["--upgrade", "--upgrade-strategy", "eager"] if options.highest else []
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--prefer-binary", *newest, *pins, *TEST_TOOLS], check=True
    )
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", ROOT], check=True)
    done = subprocess.run([python, "-m", "pytest", *(options.pytest or TESTS)], cwd=ROOT, check=False)
    print("\n".join(f"{name} {version}" for name, version in installed(python, pins).items()))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
