"""The page of every architecture under every tool: complete, without a silent difference, and as measured."""

import importlib.machinery
from collections.abc import Callable
from types import ModuleType

import pytest

from hf_attention_zoo import list_architectures


def test_the_page_has_every_architecture_under_every_tool_and_no_silent_difference(
    load_script: Callable[[str], ModuleType],
) -> None:
    script = load_script("tool_matrix")
    text = script.PAGE.read_text(encoding="utf-8")
    header, _, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header == "| | " + " | ".join(script.TOOLS) + " |"
    cells = {row.split("`")[1]: [cell.strip() for cell in row.strip("|").split("|")[1:]] for row in rows}
    assert list(cells) == [row.model_type for row in list_architectures()]
    for row in cells.values():
        assert len(row) == len(script.TOOLS) and set(row) <= {"equal", "close", "refused", "fails", "does not apply"}


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_a_graph_made_by_tracing_follows_other_lengths_or_is_refused(
    row: object, load_script: Callable[[str], ModuleType]
) -> None:
    script = load_script("tool_matrix")
    assert script.cell(script.head_of(row.model_type), "jit.trace").split(":")[0] in ("equal", "refused")


@pytest.mark.slow
def test_every_cell_is_what_the_page_says(load_script: Callable[[str], ModuleType]) -> None:
    script = load_script("tool_matrix")
    found, text = script.measured(), script.PAGE.read_text(encoding="utf-8")
    assert script.page(found) == text


def test_loading_it_hides_no_installed_package(load_script: Callable[[str], ModuleType]) -> None:
    """scripts/evaluate.py has the name of one."""
    load_script("tool_matrix")
    found = importlib.machinery.PathFinder.find_spec("evaluate")
    assert found is not None and found.submodule_search_locations
