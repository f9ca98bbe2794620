"""What an architecture costs in files: a folder and a row, as the house promises."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from hf_attention_zoo import list_architectures

Costs = dict[str, dict[str, list[str]]]


@pytest.fixture
def costs(load_script: Callable[[str], ModuleType]) -> Costs:
    script = load_script("architecture_cost")
    files = script.known_files()
    reached = script.importers(files)
    return {row.model_type: script.cost(row.model_type, files, reached) for row in list_architectures()}


def test_a_language_model_is_one_folder_one_mechanism_and_one_row(costs: Costs) -> None:
    assert costs["nnlm"]["own mechanisms"] == ["hf_attention_zoo/recurrent/word_window.py"]
    package = [name for name in costs["nnlm"]["shared code"] if name.startswith("hf_attention_zoo/")]
    assert package == ["hf_attention_zoo/registry.py"]
    assert costs["lstm1997"]["own mechanisms"] == [
        f"hf_attention_zoo/recurrent/{name}.py" for name in ("forgetting_blocks", "memory_blocks")
    ]


def test_every_row_has_a_folder_a_lesson_in_two_languages_and_what_scripts_write(costs: Costs) -> None:
    for name, found in costs.items():
        assert len(found["its folder"]) >= 4, name
        assert {f"docs/lessons/{name}.md", f"docs/ko/lessons/{name}.md"} <= set(found["pages"])
        assert {"README.md", "README.ko.md", "docs/tools.md"} <= set(found["written by scripts"])
