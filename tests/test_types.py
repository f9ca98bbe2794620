"""What type checkers see: every public name with its own type, and nothing that is not there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import hf_attention_zoo
from hf_attention_zoo import list_architectures

# Names alone: mypy reads the written types and leaves out what they import, which takes seconds instead of a minute.
NAMES_ALONE = "[mypy]\nfollow_imports = skip\n[mypy-hf_attention_zoo]\nfollow_imports = normal\n"

USER_SCRIPT = """
from typing import assert_type

from transformers import PreTrainedConfig

from hf_attention_zoo import {names}
from hf_attention_zoo import TranslationTokenizer, align, get_architecture, load_data, translate

{loads}
model = RNNsearchForConditionalGeneration.from_pretrained("folder")
tokenizer = TranslationTokenizer.from_pretrained("folder")
assert_type(tokenizer, TranslationTokenizer)
assert_type(translate(model, tokenizer, ["ein Hund"]), list[str])
for alignment in align(model, tokenizer, ["ein Hund"]):
    alignment.plot("picture.png")
data = load_data("translation_de_en", max_words=20)
print(data["train"])
row = get_architecture("rnnsearch")
assert_type(row.paper_config(), PreTrainedConfig)
assert_type(row.paper_parameters, int)
config = RNNsearchConfig(hidden_size=8)
assert_type(RNNsearchForConditionalGeneration(config), RNNsearchForConditionalGeneration)
"""

# A checker must refuse the lines marked so, and no other.
MISTAKES = """
import hf_attention_zoo
from hf_attention_zoo import nonexistent  # wrong
from hf_attention_zoo import RNNsearchConfig, translate, get_architecture

hf_attention_zoo.Nonexistent  # wrong
RNNsearchConfig(hiden_size=8)  # wrong
translate("model", None, 3)  # wrong
get_architecture("rnnsearch").paper_confg()  # wrong
get_architecture(1)  # wrong
"""


def errors(command: list[str], file: Path) -> dict[int, str]:
    """Line -> message of what a checker refuses in a file; it is told where the package is, installed to be edited."""
    source = str(Path(hf_attention_zoo.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", *command, str(file)],
        capture_output=True,
        text=True,
        cwd=file.parent,
        env={**os.environ, "MYPYPATH": source, "PYTHONPATH": source},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        if " error: " in line and file.name in line:
            number = line.split(f"{file.name}:")[1].split(":")[0]
            found[int(number)] = line
    return found


@pytest.fixture(scope="module")
def user_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user writes, with every public class of the registry loaded from a folder."""
    classes = sorted({name for row in list_architectures() for name in row.models.values()})
    configs = [f"{row.prefix}Config" for row in list_architectures()]
    loads = [f'assert_type({name}.from_pretrained("folder"), {name})' for name in [*classes, *configs]]
    file = tmp_path_factory.mktemp("types") / "user_script.py"
    file.write_text(USER_SCRIPT.format(names=", ".join([*classes, *configs]), loads="\n".join(loads)))
    (file.parent / "mistakes.py").write_text(MISTAKES)
    (file.parent / "pyrightconfig.json").write_text("{}")
    return file


def test_the_written_types_are_those_of_the_lazy_table(load_script: Callable[[str], ModuleType]) -> None:
    script = load_script("write_types")
    assert script.TYPES.read_text(encoding="utf-8") == script.written_types(), "run `python scripts/write_types.py`"


def test_a_checker_knows_every_public_name_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "names.py"
    names = [*hf_attention_zoo.__all__, "__version__", "nonexistent"]
    file.write_text("\n".join(f"from hf_attention_zoo import {name}" for name in names))
    (tmp_path / "mypy.ini").write_text(NAMES_ALONE)
    found = errors(["mypy", "--cache-dir", str(tmp_path / "cache"), "--config-file", str(tmp_path / "mypy.ini")], file)
    assert list(found) == [len(names)] and 'no attribute "nonexistent"' in found[len(names)]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["mypy", "--ignore-missing-imports"], ["pyright"]], ids=["mypy", "pyright"])
def test_a_users_script_is_checked_against_real_types(user_script: Path, command: list[str]) -> None:
    assert errors(command, user_script) == {}
    found = errors(command, user_script.with_name("mistakes.py"))
    wrong = [number for number, line in enumerate(MISTAKES.splitlines(), 1) if line and "RNNsearchConfig," not in line]
    assert list(found) == [
        number for number in wrong if MISTAKES.splitlines()[number - 1] != "import hf_attention_zoo"
    ]
