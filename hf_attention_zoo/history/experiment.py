"""Tells experiments of a claim apart: a checksum of the code that its arms reach.

Results of one experiment are never mixed with those of another. What counts is the arms of the claim and, from there,
each function, class and constant of this room that the code names, in the claim's own file or in one that several
claims share. Comments, layout, docstrings and annotations do not count, nor do texts, pictures and what is compared.
Outside this room constants of the package count by their value, everything else by its name: models and layers are
held to their equations by their own tests.
"""

from __future__ import annotations

import ast
import hashlib
import symtable
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

from hf_attention_zoo.history.table import CLAIMS

ROOM = "hf_attention_zoo.history"
ROOT = Path(__file__).resolve().parents[2]

Source: TypeAlias = Callable[[str], "str | None"]  # path of a file, from the root -> its text, None without it
Place: TypeAlias = "tuple[str, str]"  # a module and a name in it
IMPORTS = (ast.Import, ast.ImportFrom)


def fingerprint(number: str) -> str:
    """The checksum of a claim's experiment as its files are now."""
    return checksum(experiment(number))


def checksum(parts: dict[str, str]) -> str:
    """The checksum of an experiment's parts. Where a part is defined does not count: it may move between files."""
    return hashlib.sha256("\n".join(sorted(set(parts.values()))).encode()).hexdigest()[:16]


def text_now(path: str) -> str | None:
    """The text of a file of the package as it is now, None if there is none."""
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


@cache
def _package_now() -> Package:
    """The package as this process found it: who edits a file during a long run does not change what has run."""
    return Package(text_now)


def experiment(number: str, package: Package | None = None) -> dict[str, str]:
    """The parts of a claim's experiment: the full name of each -> what it says, without what does not count.

    Args:
        package: where they are looked up, as it was at another time for example; None is as this process found it.

    Raises:
        ValueError: the claim has no file there.
    """
    package = package or _package_now()
    claim = f"{ROOM}.claims.{CLAIMS[number]}"
    if claim not in package:
        raise ValueError(f"there is no file of claim {number}")
    parts: dict[str, str] = {}
    waiting: list[Place] = [(claim, "CLAIM"), (f"{ROOM}.claim", "Budget")]
    seen: set[Place] = set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        said, reached = package.read(*place)
        if said:
            parts[".".join(place)] = said
        waiting += reached
    return parts


class Package:
    """The package's modules as what their names stand for.

    Args:
        source: gives the text of a file.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.modules: dict[str, dict[str, list[ast.stmt]] | None] = {}
        self.known: dict[Place, tuple[str, list[Place]]] = {}

    def __contains__(self, module: str) -> bool:
        return self.names(module) is not None

    def names(self, module: str) -> dict[str, list[ast.stmt]] | None:
        """Name -> the statements that bind it; "" -> those that bind none. None for what is no file of the package."""
        if module not in self.modules:
            inside = module.startswith(ROOM.partition(".")[0] + ".")
            text = self.source(module.replace(".", "/") + ".py") if inside else None
            self.modules[module] = None if text is None else _bound(_WithoutWords().visit(ast.parse(text)).body)
        return self.modules[module]

    def read(self, module: str, name: str) -> tuple[str, list[Place]]:
        """What a name of a module says, and the places that it names in turn."""
        if (module, name) not in self.known:
            self.known[module, name] = self.look_up(module, name)
        return self.known[module, name]

    def look_up(self, module: str, name: str) -> tuple[str, list[Place]]:
        """As `read`, which remembers it."""
        names = self.names(module)
        if names is None or name not in names:
            return (f"{module}.{name}" if name else ""), []  # of a library, or of what has no file
        here, constant = module.startswith(f"{ROOM}."), _constant(names[name])
        if constant or not here:
            return f"{name} = {constant}" if constant else f"{module}.{name}", [(module, "")] if here else []
        said, reached = "", [(module, "")]
        for statement in names[name]:
            if isinstance(statement, IMPORTS):
                reached += self.imported(statement, name)
                continue
            code = _arms(statement) if name == "CLAIM" else statement
            said += _said(code)
            reached += self.named(code, module)
        return said, reached

    def named(self, code: ast.AST, module: str) -> list[Place]:
        """The places that some code of a module names."""
        names = self.names(module) or {}
        attributes = [node for node in ast.walk(code) if isinstance(node, ast.Attribute)]
        of_attributes = {id(node.value) for node in attributes}
        alone = {node.id for node in ast.walk(code) if isinstance(node, ast.Name) and id(node) not in of_attributes}
        reached: list[Place] = []
        for name in _globals(code) & set(names):
            bound_by = [node for node in names[name] if isinstance(node, IMPORTS)]
            places = [place for node in bound_by for place in self.imported(node, name)]
            if len({where for where, _ in places}) == 1 and len(places) > 1 and name not in alone:
                used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == name}
                reached += [(places[0][0], attribute) for attribute in used]
            else:
                reached.append((module, name))
        for node in ast.walk(code):
            if isinstance(node, IMPORTS):  # within a function
                for alias in node.names:
                    reached += self.imported(node, alias.asname or alias.name.partition(".")[0])
        return reached

    def imported(self, statement: ast.Import | ast.ImportFrom, name: str) -> list[Place]:
        """What an imported name stands for: a whole module of this room is all that it defines."""
        for alias in statement.names:
            if (alias.asname or alias.name.partition(".")[0]) == name:
                module = statement.module if isinstance(statement, ast.ImportFrom) else None
                whole = f"{module}.{alias.name}" if module else alias.name
                if whole.startswith(f"{ROOM}.") and whole in self:
                    return [(whole, every) for every in self.names(whole) or ()]
                return [(module, alias.name)] if module else [(whole, "*")]
        return []


def _bound(body: Iterable[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Name -> the statements of a module that bind it; "" -> those that bind none, docstrings apart."""
    names: dict[str, list[ast.stmt]] = {"": []}
    for statement in (single for one in body for single in _singly(one)):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        for name in set(_binds(statement)) or {""}:
            names.setdefault(name, []).append(statement)
    return names


def _singly(statement: ast.stmt) -> list[ast.stmt]:
    """`A, B = 1, 2` as two statements, others as they are: who adds a constant to a line changes no other."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return [ast.copy_location(ast.Assign([one], given), statement) for one, given in pairs]
    return [statement]


def _binds(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds in its module."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, IMPORTS):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _arms(statement: ast.stmt) -> ast.stmt:
    """Of the statement that makes a claim its arms, of another one all."""
    value = getattr(statement, "value", None)
    words = value.keywords if isinstance(value, ast.Call) else []
    return next((ast.Expr(word.value) for word in words if word.arg == "arms"), statement)


def _constant(statements: list[ast.stmt]) -> str | None:
    """A constant as it is written down, None for all that is more than that."""
    if len(statements) != 1 or not isinstance(statements[0], ast.Assign | ast.AnnAssign):
        return None
    value = statements[0].value
    try:
        ast.literal_eval(value or ast.Name("missing"))
    except ValueError:
        return None
    return _said(value)  # not its repr: that of a set has another order in each process


class _WithoutWords(ast.NodeTransformer):
    """Takes docstrings and annotations out."""

    def visit_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        if not isinstance(node, ast.ClassDef):
            node.returns = None
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_body

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(None)
        return node


def _globals(code: ast.AST) -> set[str]:
    """The names of its module, or built-in ones, that some code reads."""
    top = symtable.symtable(ast.unparse(code), "experiment", "exec")
    tables, found = [top], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (table is top or symbol.is_global())
        }
    return found


def _said(node: object) -> str:
    """Code as one line, the same in all versions of Python (`ast.dump` leaves out more in newer ones)."""
    if isinstance(node, ast.AST):
        fields = [
            f"{name}={_said(value)}"
            for name, value in ast.iter_fields(node)
            if name not in ("ctx", "kind", "type_comment") and value is not None and value != []
        ]
        return f"{type(node).__name__}({', '.join(fields)})"
    return f"[{', '.join(map(_said, node))}]" if isinstance(node, list) else repr(node)
