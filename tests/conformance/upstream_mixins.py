"""transformers' own test mixins, in exactly the installed version, as the importable package `upstream_tests`.

They are not part of the wheel, and nothing of them is part of this project. They come from a work tree of the
installed version named by the environment variable TRANSFORMERS_CHECKOUT, or else from the source distribution, which
pip downloads into a cache folder ($HF_ATTENTION_ZOO_TEST_CACHE, by default below ~/.cache). The source distribution
has the files directly under `tests/` only: what they import from subfolders is replaced by empty classes then.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import transformers

VERSION = transformers.__version__
PACKAGE = "upstream_tests"
STAND_INS = {
    "generation/test_utils.py": "class GenerationTesterMixin:\n    pass\n",
    "exporters/test_export.py": (
        "class ExportTesterMixin:\n    pass\n\n\nclass ExportGenerateTesterMixin:\n    pass\n"
    ),
    # The config tester sets these and looks whether they come back.
    "utils/test_configuration_utils.py": (
        "config_common_kwargs = {'return_dict': False, 'output_hidden_states': True, 'output_attentions': True,\n"
        "    'dtype': 'float16', 'chunk_size_feed_forward': 5, 'architectures': ['SomeModel'],\n"
        "    'id2label': {0: 'label'}, 'label2id': {'label': '0'}, 'problem_type': 'regression'}\n"
    ),
}


class Unavailable(Exception):
    """The mixins cannot be had on this machine; the message says why."""


def source_distribution(folder: Path) -> Path:
    """The downloaded archive of the installed version."""
    if not list(folder.glob("*.tar.gz")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
        command += ["--no-binary", "transformers", "--dest", str(folder), f"transformers=={VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or not list(folder.glob("*.tar.gz")):
            raise Unavailable(f"pip could not download transformers {VERSION}: {done.stderr.strip()[-300:]}")
    return next(folder.glob("*.tar.gz"))


def from_checkout(checkout: Path) -> dict[str, str]:
    """Files of a work tree by their path under `tests/`."""
    version = re.search(r'version="([^"]+)"', (checkout / "setup.py").read_text(encoding="utf-8"))
    if version is None or version[1] != VERSION:
        raise Unavailable(f"{checkout} is not transformers {VERSION}; check out the tag v{VERSION}")
    tests = checkout / "tests"
    paths = [*tests.glob("test_*.py"), tests / "generation/test_utils.py", *tests.glob("exporters/test_*.py")]
    return {str(path.relative_to(tests)): path.read_text(encoding="utf-8") for path in paths}


def from_archive(archive: Path) -> dict[str, str]:
    """Files of a source distribution by their path under `tests/`."""
    files = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            found = re.fullmatch(r"[^/]+/tests/(test_[^/]+\.py)", member.name)
            if found:
                files[found[1]] = tar.extractfile(member).read().decode()
    return files


def make_importable() -> Path:
    """Write the package below the cache folder, once per version, and put its parent on `sys.path`.

    Raises:
        Unavailable: without a checkout of the right version and without a package index.
    """
    default = Path.home() / ".cache" / "hf_attention_zoo" / "tests"
    root = Path(os.environ.get("HF_ATTENTION_ZOO_TEST_CACHE", default)) / VERSION
    checkout = os.environ.get("TRANSFORMERS_CHECKOUT")
    root = root / ("checkout" if checkout else "archive")
    package, complete = root / PACKAGE, root / "complete"
    if not complete.exists():
        root.mkdir(parents=True, exist_ok=True)
        files = from_checkout(Path(checkout)) if checkout else from_archive(source_distribution(root))
        for name, text in {**STAND_INS, **files}.items():
            path = package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / "__init__.py").touch()
            path.write_text(re.sub(r"^(\s*(?:from|import) )tests\.", rf"\1{PACKAGE}.", text, flags=re.M))
        complete.touch()
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return package
