"""The package as a whole: what importing it costs, and the rules of the house that a program can check."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import hf_attention_zoo
from hf_attention_zoo import list_architectures

PACKAGE = Path(hf_attention_zoo.__file__).parent
ROOT = PACKAGE.parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


def place(path: Path, node: ast.AST | None = None) -> str:
    return str(path.relative_to(ROOT)) + (f":{node.lineno}" if node is not None else "")


def nodes(paths: list[Path]) -> Iterator[tuple[Path, ast.AST]]:
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield path, node


# --- importing -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fresh_import() -> dict[str, list[str]]:
    """Modules that `import hf_attention_zoo` adds to those of the Auto classes, and further uses add to that."""
    script = """
import json, sys
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer
auto = set(sys.modules)
import hf_attention_zoo
package = set(sys.modules)
hf_attention_zoo.list_architectures()[0].paper_config()
row = set(sys.modules)
hf_attention_zoo.RNNsearchModel
model = set(sys.modules)
AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])("ein Wort")
loaded = set(sys.modules)
print(json.dumps({"package": sorted(package - auto), "row": sorted(row - package), "model": sorted(model - row),
    "loaded": sorted(loaded - row)}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(ROOT / "model_cards" / "rnnsearch-de-en")],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_the_package_imports_no_model(fresh_import: dict[str, list[str]]) -> None:
    assert "hf_attention_zoo.registry" in fresh_import["package"]
    assert [name for name in fresh_import["package"] if "modeling_" in name or name == "hf_attention_zoo.hub"] == []


def test_importing_the_package_adds_few_modules_and_no_large_library(fresh_import: dict[str, list[str]]) -> None:
    roots = Counter(name.partition(".")[0] for name in fresh_import["package"])
    assert roots.keys() <= {"hf_attention_zoo", "wrapt", "_wrapt"}, roots
    tokenizers = {row.tokenizer for row in list_architectures()}
    tokenizers |= {part for row in list_architectures() for part in (row.image_processor, row.processor) if part}
    assert roots["hf_attention_zoo"] <= 21 + 2 * len(list_architectures()) + len(tokenizers)


def test_any_module_may_be_imported_first() -> None:
    """Alone, in a process each, those that import transformers' pipelines, which import them; the others backwards."""
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES]
    alone = [
        name
        for name, path in zip(names, SOURCES, strict=True)
        if re.search(r"^from transformers.pipelines|^from hf_\S+tasks\S*pipeline", path.read_text("utf-8"), re.M)
    ]
    script = """
import importlib, json, os, sys, torch, transformers
alone, names = json.loads(sys.argv[1])
for name in alone:
    child = os.fork()
    if not child:
        importlib.import_module(name)
        importlib.import_module("transformers.pipelines")
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
for name in reversed(names):
    importlib.import_module(name)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps([alone, names])],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert len(alone) >= 5 and done.returncode == 0, done.stderr


def test_facts_about_a_row_need_no_model(fresh_import: dict[str, list[str]]) -> None:
    assert all("modeling_" not in name for name in fresh_import["row"])


def test_a_model_class_is_imported_when_it_is_asked_for(fresh_import: dict[str, list[str]]) -> None:
    assert "hf_attention_zoo.models.rnnsearch.modeling_rnnsearch" in fresh_import["model"]
    roots = {name.partition(".")[0] for name in fresh_import["model"]}
    assert not roots & {"datasets", "matplotlib", "evaluate", "sacrebleu", "pandas"}


def test_loading_a_model_and_its_tokenizer_imports_no_library_that_they_do_not_need(fresh_import: dict) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = [
        *project["dependencies"],
        *(line for lines in project["optional-dependencies"].values() for line in lines),
    ]
    named = {re.split(r"[\[<>=]", line)[0].lower().replace("-", "_") for line in every}
    named |= {"pil", "sklearn", "pandas"}
    needed = {"transformers", "torch", "safetensors", "tokenizers", "huggingface_hub", "numpy", "wrapt"}
    needed |= {"hf_attention_zoo", "accelerate", "sklearn", "pandas", "pil"}  # the last four by transformers itself
    loaded = {name.partition(".")[0].lower() for name in fresh_import["loaded"]}
    assert loaded & named <= needed


def test_every_public_name_is_there_and_listed() -> None:
    for name in hf_attention_zoo.__all__:
        assert getattr(hf_attention_zoo, name) is not None, name
    assert set(hf_attention_zoo.__all__) <= set(dir(hf_attention_zoo))
    for row in list_architectures():
        assert {f"{row.prefix}Config", *row.models.values()} <= set(hf_attention_zoo.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'BERTish'"):
        hf_attention_zoo.BERTish  # noqa: B018


def test_the_version_is_that_of_the_project_file() -> None:
    stated = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert hf_attention_zoo.__version__ == stated


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


# --- configs ---------------------------------------------------------------------------------------------------------

READ_BY_TRANSFORMERS = {"bos_token_id", "eos_token_id", "is_encoder_decoder", "tie_word_embeddings", "use_cache"}


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_every_field_of_a_config_is_documented_and_read_by_its_model(row: object) -> None:
    folder = (PACKAGE / "models" / row.model_type).glob("*.py")
    own = [path for path in folder if path.name.startswith(("modeling_", "layers_"))]
    rooms = ("recurrent", "seq2seq", "parts", "losses")
    shared = [path for room in rooms for path in (PACKAGE / room).glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in [*own, *shared])
    config_text = (PACKAGE / "models" / row.model_type / f"configuration_{row.model_type}.py").read_text()
    fields = [name for name in row.config_class.__annotations__ if name not in READ_BY_TRANSFORMERS]
    assert fields
    for name in fields:
        fixed = re.search(rf"self\.{name} !=", config_text)  # a field for tools that a check pins to one value
        assert fixed or re.search(rf"\bconfig\.{name}\b", text), f"{name} is never read"
    documented = [name for name in fields if not name.endswith("_token_id") and not name.startswith("num_")]
    for name in documented:
        assert re.search(rf"^        {name}[:,]", row.config_class.__doc__, re.M), f"{name} is not documented"


# --- rules of the house ----------------------------------------------------------------------------------------------


def test_module_names_are_unique() -> None:
    """The exporter of code writes the modules that a model needs as siblings; no model needs a task."""
    names = Counter(path.name for path in SOURCES if path.name != "__init__.py" and "tasks" not in path.parts)
    assert [name for name, times in names.items() if times > 1] == []


def test_every_module_says_what_it_is() -> None:
    empty = [place(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert empty == []


def test_imports_inside_the_package_are_absolute_and_name_what_they_want() -> None:
    wrong = [
        place(path, node)
        for path, node in nodes(SOURCES)
        if (isinstance(node, ast.ImportFrom) and node.level)
        or (isinstance(node, ast.Import) and any(name.name.startswith("hf_attention_zoo.") for name in node.names))
    ]
    assert wrong == []


def test_rooms_import_from_floors_below_alone() -> None:
    """The contracts in pyproject.toml: floors, models and tasks apart, results without drawings, no circles.

    In a process of its own: the linter configures logging, and every logger that is there already falls silent.
    """
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def places_named(docstring: str) -> Iterator[str]:
    """What the tables of equations point at: the last column of lines that are indented."""
    for line in docstring.splitlines():
        if line.startswith("    ") and len(columns := re.split(r"\s{2,}", line.strip())) > 1:
            for name in re.findall(r"[A-Za-z_][\w./]*\w", re.sub(r"\{[^}]*\}", "*", columns[-1])):
                if re.search(r"[._/]|[a-z][A-Z]|^[A-Z]{2}", name) and not re.match(r"Eq\.|Section|HN-", name):
                    yield name


def test_the_places_of_equations_exist() -> None:
    """A model's file says at its top where each equation is: a file, a class with what it has, or a name."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    classes: dict[str, set[str]] = {}
    names: set[str] = {path.stem for path in SOURCES}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                names.add(node.name)
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            if isinstance(node, ast.ClassDef):
                inner = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
                inner |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                classes[node.name] = inner
    unknown, seen = [], 0
    for path in PACKAGE.glob("models/*/modeling_*.py"):
        for name in places_named(ast.get_docstring(trees[path]) or ""):
            seen += 1
            owner, _, part = name.partition(".")
            if "/" in name or name.endswith(".py"):
                known = any(place.as_posix().endswith(name) or f"/{name}" in place.as_posix() for place in SOURCES)
            elif part:
                known = part in classes.get(owner, names if owner in names else ())
            else:
                known = name in names
            unknown += [] if known else [f"{place(path)}: {name}"]
    assert seen > 60 and unknown == []


# Files that were longer when the bound came: they may shrink.
LONGER = {
    "hf_attention_zoo/registry.py": 500,  # a row for each architecture
    "scripts/benchmark.py": 427,
    "scripts/compare_classification.py": 430,
    "tests/models/elmo/test_elmo_equations.py": 499,
    "tests/models/show_attend_tell/test_show_attend_tell_properties.py": 747,
    "tests/models/test_generation_properties.py": 476,
    "tests/models/test_text_model_properties.py": 493,
    "tests/tokenization/test_translation_tokenizer.py": 455,
}


def test_files_are_short_enough_to_read_at_one_sitting() -> None:
    """400 lines, 450 of a model that is read beside its paper."""
    lengths = {
        place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*SOURCES, *SCRIPTS, *TESTS]
    }
    bounds = {name: LONGER.get(name, 450 if "/modeling_" in name else 400) for name in lengths}
    assert {name: lines for name, lines in lengths.items() if lines > bounds[name]} == {}


def test_nothing_is_left_to_do() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    own = Path(__file__).resolve()
    found = [
        f"{place(path)}:{number}"
        for path in [*SOURCES, *SCRIPTS, *TESTS]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line) and path.resolve() != own
    ]
    assert found == []


def test_no_function_only_says_that_it_is_not_implemented() -> None:
    stubs = []
    for path, node in nodes(SOURCES):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [
                part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
            if len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" in ast.dump(body[0]):
                stubs.append(place(path, node))
    assert stubs == []


def test_no_error_is_swallowed() -> None:
    swallowed = [
        place(path, node)
        for path, node in nodes([*SOURCES, *SCRIPTS])
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
        and all(isinstance(part, ast.Pass | ast.Continue) for part in node.body)
    ]
    assert swallowed == []


def checks_something(node: ast.AST) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert | ast.Raise):
            return True
        if isinstance(inner, ast.Call):
            name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
            if re.match(r"(assert|check|raises|warns|fail)", name):
                return True
    return False


def test_every_test_asserts_something_that_can_fail() -> None:
    wrong = []
    for path, node in nodes(TESTS):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not checks_something(node):
            wrong.append(f"{place(path, node)} {node.name}")
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and node.test.value:
            wrong.append(place(path, node))
    assert wrong == []


def test_names_of_test_files_are_unique() -> None:
    names = Counter(path.name for path in TESTS)
    assert [name for name, times in names.items() if times > 1] == []
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_public_functions_are_typed() -> None:
    untyped = []
    for path, node in nodes(SOURCES):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            bare = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
            if node.returns is None or bare:
                untyped.append(f"{place(path, node)} {node.name} {bare}")
    assert untyped == []


IGNORED = re.compile(r"# type: ignore\b(\[[a-z-]+(, ?[a-z-]+)*\])?")


def test_types_are_checked_everywhere_and_few_lines_are_left_out_by_name() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["files"] == ["hf_attention_zoo"] and settings["disallow_untyped_defs"]
    assert not {"exclude", "ignore_errors", "disable_error_code"} & set(settings)
    assert "hf_attention_zoo" not in str(settings["overrides"])
    found = [match for path in SOURCES for match in IGNORED.finditer(path.read_text(encoding="utf-8"))]
    assert all(match[1] for match in found), [match.string[match.start() - 80 : match.end()] for match in found]
    assert len(found) <= 20  # each where the types of a library are wrong


@pytest.mark.slow
def test_mypy_finds_nothing_in_the_package(tmp_path: Path) -> None:
    """As `scripts/check.py` calls it, from nothing: a minute of one core."""
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
