"""The documentation holds together: links, included code, lessons in two languages, notebooks; and it builds."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, PAGES, ROOT, load_file, page_name

from hf_attention_zoo import list_architectures

ENGLISH, KOREAN = ROOT / "docs" / "lessons", ROOT / "docs" / "ko" / "lessons"
NAMES = [row.model_type for row in list_architectures()]
LESSONS = [folder / f"{name}.md" for folder in (ENGLISH, KOREAN) for name in NAMES]
generate = load_file(ROOT / "docs" / "generate.py")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target and not target.startswith("#"):
            path = (page.parent / target.partition("#")[0]).resolve()
            made = {"generated", "notebooks"} & set(path.relative_to(ROOT).parts)
            assert path.exists() or made, f"{page_name(page)} links {target}"


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {ROOT / "docs" / "index.md"}
    for page in DOCS:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{line}.md").resolve() for line in lines}
    assert [page_name(page) for page in DOCS if page not in listed] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=page_name)
def test_a_lesson_has_all_its_parts(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    found = list(generate.INCLUDE.finditer(text))
    assert found, "the equations stand beside no code"
    for one in found:
        assert "\n" in generate.included(lesson, one)
    assert "$$" in text and "metrics.json" in text
    assert len(generate.code_cells(lesson)) >= 3
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert len(titles) >= 5, titles
    after = NAMES.index(lesson.stem) + 1
    ending = text[text.rindex("\n## ") :]
    assert after == len(NAMES) or f"({NAMES[after]}.md)" in ending, "it ends in what the next one mends"


@pytest.mark.parametrize("lesson", LESSONS, ids=page_name)
def test_an_equation_stands_before_each_piece_of_code(lesson: Path) -> None:
    before, place = lesson.read_text(encoding="utf-8"), 0
    for found in generate.INCLUDE.finditer(before):
        assert before[place : found.start()].count("$$") >= 2, f"which equation is {found[0].splitlines()[1]}?"
        place = found.end()


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_equations_and_code(name: str) -> None:
    def parts(page: Path) -> list[str]:
        text = page.read_text(encoding="utf-8")
        return [*re.findall(r"\$\$\n.*?\$\$", text, re.DOTALL), *re.findall(r":pyobject: .*", text)]

    assert parts(ENGLISH / f"{name}.md") == parts(KOREAN / f"{name}.md")


@pytest.mark.parametrize("page", DOCS, ids=page_name)
def test_every_formula_is_understood(page: Path) -> None:
    convert = pytest.importorskip("latex2mathml.converter").convert
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    blocks = [part for found in re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL) for part in found.split(r"\qquad")]
    inline = re.findall(r"\$([^$\n]+)\$", re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL))
    for formula in [*blocks, *inline]:
        shown = re.sub(r"<[^>]*>", "", convert(formula))
        assert shown.strip() and "\\" not in shown, formula


@pytest.mark.parametrize("lesson", LESSONS, ids=page_name)
def test_a_lesson_is_a_notebook(lesson: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.reads(generate.notebook_of(lesson), as_version=4)
    nbformat.validate(notebook)
    prose = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "{literalinclude}" not in prose and "{download}" not in prose and "def " in prose
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert [one.strip() for one in generate.code_cells(lesson)] == code


class WithoutWords(ast.NodeTransformer):
    """Python without its strings: what two languages have in common."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_run_the_same_code(name: str) -> None:
    english, korean = (
        [ast.dump(WithoutWords().visit(ast.parse(cell))) for cell in generate.code_cells(folder / f"{name}.md")]
        for folder in (ENGLISH, KOREAN)
    )
    assert english == korean


def test_the_reference_has_every_name_command_and_field() -> None:
    import hf_attention_zoo
    from hf_attention_zoo.cli.command import COMMANDS

    python, configurations = generate.python_page(), generate.configurations_page()
    assert all(f"\n## {name}\n" in python for name in hf_attention_zoo.__all__)
    for row in list_architectures():
        assert f"## {row.config_class.__name__}\n" in configurations
        described = generate.field_descriptions(row.config_class)
        assert described and all(f"| `{name}` |" in configurations for name in described)
    said = generate.help_of("translate")
    assert said.startswith("usage: attention-zoo translate") and "translate" in COMMANDS


def draws(cell: str) -> bool:
    """Whether a cell ends in a figure."""
    last = cell.strip().splitlines()[-1].rstrip(";")
    return last == "figure" or re.search(r"\.plot\(.*\)$", last) is not None


@pytest.mark.parametrize("lesson", LESSONS, ids=page_name)
def test_nothing_keeps_a_figure_from_being_shown(lesson: Path) -> None:
    assert not [cell for cell in generate.code_cells(lesson) if cell.strip().endswith(";")]


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(ROOT / "docs"), str(tmp_path / "html")]
    # The tests' own backend draws to files alone; kernels of notebooks bring one that shows figures.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("MPLBACKEND", None)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    for page in (tmp_path / "html").rglob("*.html"):
        fetched = re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=.https?:[^>]*", page.read_text("utf-8"))
        assert not fetched, f"{page.name} needs a network: {fetched[0]}"
    for lesson in LESSONS:
        page = tmp_path / "html" / lesson.relative_to(ROOT / "docs").with_suffix(".html")
        wanted = sum(draws(cell) for cell in generate.code_cells(lesson))
        assert page.read_text(encoding="utf-8").count("_images/") >= wanted, (
            f"figures of {page_name(lesson)} are missing"
        )
