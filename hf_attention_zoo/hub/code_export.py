"""Exports a checkpoint together with its code, so that it loads where this package is not installed.

transformers copies a repository's Python files flat into one folder and follows only `from .sibling import name`. So
the modules behind the config, model and tokenizer classes are collected by walking their imports, every
`from hf_attention_zoo.some.place import name` becomes `from .place import name`, and the configs of the *exported*
folder get an `auto_map`. The original folder keeps working as before and never asks for `trust_remote_code`.
"""

import ast
import importlib.metadata
import importlib.util
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.checkpoint_folder import (
    check_checkpoint,
    check_nothing_private,
    copy_files,
    new_folder,
    published_files,
    required_json,
)
from hf_attention_zoo.hub.cards import build_card, generated_name
from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.whole_files import whole_folder

PACKAGE = __name__.split(".")[0]

MODULES_BY_NAME = {"import_module", "__import__", "find_spec", "files"}
"""Calls that reach a module through a string, which the walk over the import statements cannot follow."""


def export_with_code(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> Path:
    """Copies a checkpoint to `out` and adds the code it needs and the `auto_map` that points to it.

    `out` must not exist or be empty; it appears complete or not at all. Raises ValueError for an incomplete
    checkpoint, pickled weights, an access token or a user's folder in a file, an unknown model type, or code that
    cannot be flattened.
    """
    source = check_checkpoint(folder)
    if Path(out).resolve() == source.resolve():
        raise ValueError(f"{out} is the checkpoint itself. Export into another folder, which must be new or empty.")
    target = new_folder(out)
    row = get_architecture(required_json(source / "config.json")["model_type"])
    classes = exported_classes(row)
    modules = flatten_modules({cls.__module__ for cls in classes.values()})

    files = published_files(source)
    check_nothing_private(source, files)
    code_names = {f"{name}.py" for name in modules}
    clash = code_names & {str(path) for path in files}
    carries_code = "auto_map" in required_json(source / "config.json")
    if clash and not carries_code:
        raise ValueError(
            f"{source} already holds {', '.join(sorted(clash))}, which the export would write. Rename them."
        )

    with whole_folder(target) as staging:
        copy_files(source, staging, files)
        for module, text in modules.items():
            (staging / f"{module}.py").write_text(text, encoding="utf-8")
        check_written_imports(staging, modules)
        write_auto_map(staging, classes)
        write_notices(staging)
        name = generated_name(source)
        if name is not None:
            (staging / "README.md").write_text(build_card(staging, name=name), encoding="utf-8")
    return target


def exported_classes(row: Any) -> dict[str, type]:
    """Auto class name -> class, for everything the registry row knows about its architecture."""
    classes: dict[str, type] = {"AutoConfig": row.config_class, **row.model_classes}
    if row.tokenizer_class is not None:
        classes["AutoTokenizer"] = row.tokenizer_class
    if row.image_processor_class is not None:
        classes["AutoImageProcessor"] = row.image_processor_class
    if row.processor_class is not None:
        classes["AutoProcessor"] = row.processor_class
    return classes


def flatten_modules(module_names: set[str], package: str = PACKAGE) -> dict[str, str]:
    """The sources of these modules and of all modules of the package they import, with imports made flat.

    Returns last part of the module name -> source text. Raises ValueError for any form of import that cannot survive:
    relative imports, `import package`, names taken from a package's `__init__`, modules named by a string, two modules
    with the same last part.
    """
    flat: dict[str, str] = {}
    origin: dict[str, str] = {}
    waiting = sorted(module_names)
    while waiting:
        module = waiting.pop()
        name = module.rpartition(".")[2]
        if origin.get(name) == module:
            continue
        if name in origin:
            raise ValueError(
                f"{module} and {origin[name]} would both be written as {name}.py. Give one of them another file name."
            )
        origin[name] = module
        text = source_of(module)
        wanted: dict[str, str] = {}
        for node in internal_imports(text, module, package):
            wanted[node.module or ""] = (node.module or "").rpartition(".")[2]
        flat[name] = header(module) + rewrite_imports(text, wanted)
        waiting.extend(sorted(wanted))
    return dict(sorted(flat.items()))


def source_of(module: str) -> str:
    """The source text of a module, found without executing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"the source of {module} was not found, so its code cannot be exported.")
    if spec.submodule_search_locations is not None:
        raise ValueError(
            f"{module} is a package. Import names from the module that defines them: only single files can be "
            "exported."
        )
    return Path(spec.origin).read_text(encoding="utf-8")


def internal_imports(text: str, module: str, package: str = PACKAGE) -> Iterator[ast.ImportFrom]:
    """Every `from package.place import name` of a source text, at the top or inside functions; other forms raise."""
    for node in ast.walk(ast.parse(text)):
        where = f"{module}, line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            if any(inside(alias.name, package) for alias in node.names):
                raise ValueError(
                    f"{where}: `{ast.unparse(node)}` cannot be exported. Write `from {package}... import`."
                )
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(
                    f"{where}: the relative import `{ast.unparse(node)}` cannot be exported. Write it as an absolute "
                    "one."
                )
            if inside(node.module, package):
                if any(alias.name == "*" for alias in node.names):
                    raise ValueError(f"{where}: `{ast.unparse(node)}` cannot be exported. Name what is imported.")
                spec = importlib.util.find_spec(node.module or "")
                if spec is None:
                    raise ValueError(f"{where}: `{ast.unparse(node)}` names a module that does not exist.")
                if spec.submodule_search_locations is not None:
                    raise ValueError(
                        f"{where}: `{ast.unparse(node)}` imports from a package, which cannot be exported. Import "
                        "from the module that defines the name."
                    )
                yield node
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            strings = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            if called in MODULES_BY_NAME and any(inside(string, package) for string in strings):
                raise ValueError(
                    f"{where}: `{ast.unparse(node)}` names a module by a string, which cannot be exported. Use an "
                    "import statement, inside the function if it must wait."
                )


def inside(module: str | None, package: str) -> bool:
    """Whether a dotted name is the package or something in it."""
    return module == package or (module or "").startswith(f"{package}.")


def rewrite_imports(text: str, wanted: Mapping[str, str]) -> str:
    """Replaces the module name in each internal import statement and leaves every other character alone."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    content = text.encode()
    spans = [
        (starts[node.lineno - 1] + node.col_offset, node.module)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module in wanted
    ]
    for start, module in sorted(spans, reverse=True):
        at = content.index(str(module).encode(), start)
        content = content[:at] + f".{wanted[str(module)]}".encode() + content[at + len(str(module)) :]
    return content.decode()


def header(module: str) -> str:
    """The lines that say where an exported file comes from and under which terms."""
    return (
        f"# {module} of {PACKAGE} {installed_version()}, exported as a single file.\n"
        "# SPDX-License-Identifier: Apache-2.0 (see LICENSE-CODE and NOTICE-CODE)\n\n"
    )


def installed_version() -> str:
    """The version of the installed distribution, or "(source)" when it runs from a plain source tree."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "(source)"


def check_written_imports(folder: Path, modules: Mapping[str, str]) -> None:
    """transformers finds siblings by a regular expression over the text: hold its result against ours."""
    from transformers.dynamic_module_utils import get_relative_imports

    for name, text in modules.items():
        tree = ast.walk(ast.parse(text))
        ours = sorted({str(node.module) for node in tree if isinstance(node, ast.ImportFrom) and node.level})
        theirs = sorted(set(get_relative_imports(folder / f"{name}.py")))
        if ours != theirs:
            raise ValueError(
                f"{name}.py imports {ours} from its siblings, but transformers would read {theirs} out of its "
                "text. Put each import on a line of its own, and write no text that reads like a relative import."
            )


def write_auto_map(folder: Path, classes: Mapping[str, type]) -> None:
    """Enters the classes in config.json (all of them) and in the tokenizer's and processor's own files."""
    auto_map: dict[str, Any] = {
        name: f"{cls.__module__.rpartition('.')[2]}.{cls.__qualname__}" for name, cls in classes.items()
    }
    if "AutoTokenizer" in auto_map:
        auto_map["AutoTokenizer"] = [None, auto_map["AutoTokenizer"]]  # (slow, fast): ours run on `tokenizers`
    own_files = {
        "tokenizer_config.json": "AutoTokenizer",
        "processor_config.json": "AutoProcessor",
    }
    write_key(folder / "config.json", auto_map)
    for file, auto_class in own_files.items():
        if (folder / file).is_file() and auto_class in auto_map:
            write_key(folder / file, {auto_class: auto_map[auto_class]})
    path = folder / "processor_config.json"
    if "AutoImageProcessor" in auto_map and path.is_file():  # what reads pictures has a part of that file
        content = required_json(path)
        content["image_processor"]["auto_map"] = {"AutoImageProcessor": auto_map["AutoImageProcessor"]}
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_key(path: Path, auto_map: dict[str, Any]) -> None:
    """Sets `auto_map` in one JSON file."""
    content = {**required_json(path), "auto_map": auto_map}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_notices(folder: Path) -> None:
    """Copies the licence and notice of the code, under names that do not claim to be those of the weights."""
    for name in ("LICENSE", "NOTICE"):
        path = notice_path(name)
        if path is None:
            raise ValueError(
                f"the {name} file of {PACKAGE} was not found. Install the package again and export again."
            )
        shutil.copyfile(path, folder / f"{name}-CODE")


def notice_path(name: str) -> Path | None:
    """Where the licence files lie: in the metadata of the installed distribution, or at the root of a source tree."""
    root = Path(__file__).parents[2]
    if (root / "pyproject.toml").is_file() and (root / name).is_file():
        return root / name
    try:
        listed = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(entry.locate())) for entry in listed if entry.name == name]
    return next((path for path in paths if path.is_file()), None)
