"""Pages and notebooks that follow from the code and the lessons, written before each build.

    python docs/generate.py        # writes docs/reference/generated/ and docs/notebooks/

* reference/generated/python.md: every public name of the package, from its docstring
* reference/generated/commands.md: every command, from its parser
* reference/generated/configurations.md: every field of every configuration, with its default and its description
* reference/generated/architectures.md: the registry
* results/generated/claims.md and ko/generated/claims.md: the claims of the papers, with the results that are kept
* notebooks/: the lessons as Jupyter notebooks, the included code written out
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Warns):\s*$")
INCLUDE = re.compile(r"```\{literalinclude\} (?P<path>\S+)\n(?P<options>(?::.*\n)*)```", re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}.*?\n(?::.*\n)*(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
HEADER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def write_all(folder: Path = HERE) -> None:
    """Write every generated page and notebook below the documentation's folder."""
    import hf_attention_zoo  # noqa: F401 (registers the architectures)

    pages = {
        "python": python_page,
        "commands": commands_page,
        "configurations": configurations_page,
        "architectures": architectures_page,
    }
    target = folder / "reference" / "generated"
    target.mkdir(parents=True, exist_ok=True)
    for name, make in pages.items():
        _write(target / f"{name}.md", make())
    from history_pages import history_page

    for language, place in (("en", "results/generated"), ("ko", "ko/generated")):
        page = folder / place / "claims.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        _write(page, history_page(language, "../../pictures/history"))
    for lesson in lessons(folder):
        notebook = folder / "notebooks" / notebook_name(lesson, folder)
        notebook.parent.mkdir(parents=True, exist_ok=True)
        _write(notebook, notebook_of(lesson))
    (folder / "extra").mkdir(exist_ok=True)
    _write(folder / "extra" / "lineage.html", lineage_page())


def lineage_page(text: str = "Klicken Sie auf OK.") -> str:
    """A sentence through the published German translators, a page that stands for itself."""
    from hf_attention_zoo.alignment.results.lineage import follow, published_folders

    return follow(text, published_folders(text, HERE.parent / "model_cards")).to_html()


def _write(path: Path, text: str) -> None:
    """Only what has changed, so that Sphinx does not read an unchanged page again."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def lessons(folder: Path = HERE) -> list[Path]:
    """The lessons, in both languages."""
    found = [*(folder / "lessons").glob("*.md"), *(folder / "ko" / "lessons").glob("*.md")]
    return sorted(path for path in found if path.stem != "index")


def notebook_name(lesson: Path, folder: Path = HERE) -> str:
    """rnnsearch.ipynb, rnnsearch.ko.ipynb."""
    korean = "ko" in lesson.relative_to(folder).parts
    return f"{lesson.stem}{'.ko' if korean else ''}.ipynb"


def escaped(text: str) -> str:
    """Prose of a docstring as Markdown: what is code stays code, no other character means anything."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_\[\]<>$#|{}])", r"\\\1", part) for part in parts)


def docstring_blocks(doc: str) -> Iterator[str]:
    """A docstring as Markdown blocks: prose, fenced code as it is, sections as lists."""
    lines, prose, place = doc.splitlines(), [], 0

    def spoken() -> Iterator[str]:
        if any(line.strip() for line in prose):
            yield escaped("\n".join(prose).strip())
        prose.clear()

    while place < len(lines):
        line = lines[place]
        if line.strip().startswith("```"):
            yield from spoken()
            last = next(n for n in range(place + 1, len(lines)) if lines[n].strip() == "```")
            yield inspect.cleandoc("\n".join(lines[place : last + 1]))
            place = last + 1
        elif SECTION.match(line):
            yield from spoken()
            last = place + 1
            while last < len(lines) and (not lines[last].strip() or lines[last].startswith(" ")):
                last += 1
            yield f"**{line.strip(' :')}**"
            yield section_list(lines[place + 1 : last])
            place = last
        else:
            prose.append(line)
            place += 1
    yield from spoken()


def section_list(lines: list[str]) -> str:
    """`name: what it is`, perhaps over several lines, as a list."""
    items: list[str] = []
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        if line.startswith(" ") and items:
            items[-1] += " " + line.strip()
        elif line.strip():
            items.append(line.strip())
    shown = []
    for item in items:
        name, colon, said = item.partition(": ")
        shown.append(f"- `{name}`: {escaped(said)}" if colon and "`" not in name else f"- {escaped(item)}")
    return "\n".join(shown)


def signature(thing: Any) -> str:
    """The parameters of a function or class as they are called."""
    try:
        shown = str(inspect.signature(thing)).replace("hf_attention_zoo.", "")
        return re.sub(r"<class '([\w.]+)'>", r"\1", shown)
    except (TypeError, ValueError):
        return "(...)"


def python_page() -> str:
    """Every public name, with the public methods that a class has of its own."""
    import hf_attention_zoo

    parts = ["# Python", "Every name of `hf_attention_zoo`, from its docstring."]
    for name in sorted(hf_attention_zoo.__all__, key=str.lower):
        thing = getattr(hf_attention_zoo, name)
        parts.append(f"## {name}")
        if inspect.isclass(thing) and issubclass(thing, configuration_base()):
            parts.append(f"Its fields stand under [configurations](configurations.md#{thing.__name__.lower()}).")
            doc = inspect.getdoc(thing) or ""
            parts.append(escaped(doc.split("\n\n")[0]))
            continue
        parts.append(f"```python\n{name}{signature(thing)}\n```")
        parts += docstring_blocks(inspect.getdoc(thing) or "")
        if inspect.isclass(thing):
            for key, value in vars(thing).items():
                inner = getattr(value, "__func__", value)
                if key.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
                    continue
                parts.append(f"**`{name}.{key}`**")
                parts.append(f"```python\n{key}{signature(inner)}\n```")
                parts += docstring_blocks(inspect.getdoc(inner) or "")
    return "\n\n".join(parts) + "\n"


def configuration_base() -> type[Any]:
    """The class that all configurations extend."""
    from transformers import PreTrainedConfig

    return PreTrainedConfig


def help_of(command: str) -> str:
    """What `attention-zoo COMMAND --help` prints; of commands that train, what --help_all does."""
    from hf_attention_zoo.cli.command import main

    printed = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([command, "--help_all" if command in ("train", "pretrain") else "--help"])
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return printed.getvalue().strip()


def commands_page() -> str:
    """Every command with the help that its parser gives."""
    from hf_attention_zoo.cli.command import COMMANDS

    said = "What `attention-zoo COMMAND --help` says; of `train` and `pretrain`, what `--help_all` says."
    parts = ["# Commands", said]
    for name, (_, said) in COMMANDS.items():
        parts += [f"## {name}", escaped(said) + ".", f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def field_descriptions(config_class: type[Any]) -> dict[str, str]:
    """What the docstring says of each field."""
    found: dict[str, str] = {}
    for part in docstring_blocks(inspect.getdoc(config_class) or ""):
        for item in part.splitlines():
            match = re.match(r"- `([^`]+)`: (.*)", item)
            if match:
                for name in match[1].split(", "):
                    found[name] = match[2]
    return found


def configurations_page() -> str:
    """Every field of every configuration."""
    from hf_attention_zoo.registry import list_architectures

    parts = ["# Configurations", "Each field is a flag, too: `--config.hidden_size 256`. Defaults are the paper's."]
    for row in list_architectures():
        kind = row.config_class
        described = field_descriptions(kind)
        parts += [f"## {kind.__name__}", escaped((inspect.getdoc(kind) or "").split("\n\n")[0])]
        lines = ["| field | default | what it is |", "|---|---|---|"]
        own = set(described) | {name for base in kind.__mro__ for name in own_annotations(base)}
        for item in dataclasses.fields(kind):
            if item.name in own:
                lines.append(f"| `{item.name}` | `{default_of(item)!r}` | {described.get(item.name, '')} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def own_annotations(kind: type[Any]) -> dict[str, Any]:
    """The annotated fields of a class of this package."""
    return vars(kind).get("__annotations__", {}) if kind.__module__.startswith("hf_attention_zoo") else {}


def default_of(item: Any) -> Any:
    """The default of a dataclass's field."""
    return item.default if item.default is not dataclasses.MISSING else item.default_factory()


def architectures_page() -> str:
    """The registry's table, and the layers that adapters go on."""
    from hf_attention_zoo.registry import architecture_table, list_architectures

    adapted = "\n".join(
        f"| `{row.model_type}` | {', '.join(f'`{name}`' for name in row.adapter_targets)} |"
        for row in list_architectures()
    )
    return (
        f"# Architectures\n\n{architecture_table()}\n\n## Layers to adapt\n\n"
        f"| `model_type` | `row.adapter_targets` |\n|---|---|\n{adapted}\n"
    )


def included(lesson: Path, found: re.Match[str]) -> str:
    """The code that a `literalinclude` of a lesson shows.

    Raises:
        ValueError: the file has no object of that name; the message has both.
    """
    path = (lesson.parent / found["path"]).resolve()
    name = re.search(r":pyobject: (\S+)", found["options"])
    if not path.is_file() or name is None:
        raise ValueError(f"{lesson.name} includes {found['path']}: no such file, or no :pyobject:")
    source = path.read_text(encoding="utf-8")
    node: Any = ast.parse(source)
    for part in name[1].split("."):
        node = next((child for child in node.body if getattr(child, "name", None) == part), None)
        if node is None:
            raise ValueError(f"{lesson.name} includes {name[1]}, which {found['path']} does not have")
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return inspect.cleandoc("\n" + "\n".join(source.splitlines()[first - 1 : node.end_lineno]))


def code_cells(lesson: Path) -> list[str]:
    """The code of a lesson, cell by cell."""
    return [found["code"] for found in CELL.finditer(lesson.read_text(encoding="utf-8"))]


def notebook_of(lesson: Path) -> str:
    """A lesson as a Jupyter notebook, without outputs."""
    import nbformat

    text = HEADER.sub("", lesson.read_text(encoding="utf-8"))
    text = re.sub(r"^.*\{download\}.*\n", "", text, flags=re.MULTILINE)
    cells, place = [], 0

    def prose(part: str) -> None:
        part = INCLUDE.sub(lambda found: f"```python\n{included(lesson, found)}\n```", part).strip()
        if part:
            cells.append(nbformat.v4.new_markdown_cell(part, id=f"part-{len(cells)}"))

    for found in CELL.finditer(text):
        prose(text[place : found.start()])
        cells.append(nbformat.v4.new_code_cell(found["code"].strip(), id=f"part-{len(cells)}"))
        place = found.end()
    prose(text[place:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    return nbformat.writes(made) + "\n"


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(HERE.parent))
    write_all()
