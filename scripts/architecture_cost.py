"""What architectures cost in files: folder, mechanisms that nothing else uses, tests, pages, and shared files.

    python scripts/architecture_cost.py elman lstm1997 fasttext nnlm
    python scripts/architecture_cost.py --names

Counted in the files that git knows. A module is an architecture's own if only its folder, its row or other modules of
its own lead to it. Shared files are those elsewhere that name it; what scripts write from the rows is counted apart,
and so are claims of papers that are tried on it.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from pathlib import Path

from hf_attention_zoo.registry import get_architecture, list_architectures

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "hf_attention_zoo"
WRITTEN = {"README.md", "README.ko.md", "docs/results/checkpoints.md", "docs/tools.md", f"{PACKAGE}/__init__.pyi"}
COLUMNS = (
    "its folder",
    "own mechanisms",
    "shared code",
    "own tests",
    "shared tests",
    "pages",
    "claims",
    "written by scripts",
)


def known_files() -> list[str]:
    """The text files that git knows, but the published folders."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = (".py", ".pyi", ".md", ".yaml", ".toml")
    return [name for name in listed.splitlines() if name.endswith(kinds) and not name.startswith("model_cards/")]


def importers(files: list[str]) -> dict[str, set[str]]:
    """For each file of the package those that import it."""
    found: dict[str, set[str]] = {}
    for name in files:
        if name.startswith(f"{PACKAGE}/") and name.endswith(".py"):
            for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    found.setdefault(node.module.replace(".", "/") + ".py", set()).add(name)
    for row in list_architectures():
        for part in (row.tokenizer, row.image_processor, row.processor, row.aligner):
            if part is not None:
                reader = f"{PACKAGE}/models/{row.model_type}/"  # named in its row
                found.setdefault(part.partition(":")[0].replace(".", "/") + ".py", set()).add(reader)
    return found


def own_modules(model_type: str, reached: dict[str, set[str]]) -> set[str]:
    """Modules outside of its folder to which nothing but the architecture leads."""
    folder, own = f"{PACKAGE}/models/{model_type}/", set[str]()
    while True:
        more = {
            module
            for module, users in reached.items()
            if not module.startswith(f"{PACKAGE}/models/")
            and module not in own
            and all(user.startswith(folder) or user in own for user in users)
        }
        if not more:
            return own
        own |= more


def cost(model_type: str, files: list[str], reached: dict[str, set[str]]) -> dict[str, list[str]]:
    """Column -> files."""
    get_architecture(model_type)
    own = own_modules(model_type, reached)
    word = re.compile(rf"(?<![\w-]){re.escape(model_type)}(?![\w-])")
    found: dict[str, list[str]] = {column: [] for column in COLUMNS}
    for name in files:
        if name.startswith(f"{PACKAGE}/models/{model_type}/"):
            column = "its folder"
        elif name in own:
            column = "own mechanisms"
        elif name.startswith(f"tests/models/{model_type}/"):
            column = "own tests"
        elif not word.search((ROOT / name).read_text(encoding="utf-8")) and Path(name).stem != model_type:
            continue
        elif name in WRITTEN:
            column = "written by scripts"
        elif name.startswith("tests/"):
            column = "shared tests"
        elif name.endswith(".md"):
            column = "pages"
        elif name.startswith(f"{PACKAGE}/history/claims/"):
            column = "claims"  # an experiment of its own, which the architecture does not need
        else:
            column = "shared code"
        found[column].append(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("architectures", nargs="*", help="by default all")
    parser.add_argument("--names", action="store_true", help="the files themselves, too")
    options = parser.parse_args()
    files = known_files()
    reached = importers(files)
    print("| | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
    names = options.architectures or [row.model_type for row in list_architectures()]
    counted = {name: cost(name, files, reached) for name in names}
    for name, found in counted.items():
        print(f"| `{name}` | " + " | ".join(str(len(found[column])) for column in COLUMNS) + " |")
    if options.names:
        for name, found in counted.items():
            for column in COLUMNS:
                print(f"\n{name}, {column}:", *found[column], sep="\n  ")


if __name__ == "__main__":
    main()
