"""Constituency trees in the bracket notation of the Penn Treebank: reading, cleaning, writing.

A file holds any number of trees, each over one line or many: `(S (NP (NNP John)) (VP (VBZ sleeps)) (. .))`. The
outermost bracket may be unlabelled or called TOP, ROOT or S1. Nothing here recurses, so depth is no limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hf_attention_zoo.data.text_lines import file_lines, split_lines

TOP = "TOP"
ROOT_LABELS = frozenset({"", TOP, "ROOT", "S1"})
TRACE_TAG = "-NONE-"
ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}

# Blanks, tabs and line ends separate; other spaces of Unicode, such as U+00A0 in "10 000", are a part of a word.
_PIECE = re.compile(r"[()]|[^\s()]+", re.ASCII)
_FUNCTION = re.compile(r"(?<=.)[-=|].*")


@dataclass(frozen=True)
class Tree:
    """A phrase, or a word with its tag.

    Attributes:
        label: of the phrase, or the tag of the word.
        children: of a phrase; empty for a word.
        word: None for a phrase.
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    @property
    def is_word(self) -> bool:
        """Whether this is a word and not a phrase."""
        return self.word is not None

    def leaves(self) -> list[Tree]:
        """The words with their tags, from left to right."""
        return [node for node, closing in walk(self) if node.is_word and not closing]

    def words(self) -> list[str]:
        """The words as they stand in the tree, brackets escaped (`-LRB-`)."""
        return [leaf.word or "" for leaf in self.leaves()]

    def __str__(self) -> str:
        """One line in Penn brackets."""
        parts: list[str] = []
        for node, closing in walk(self):
            if closing:
                parts[-1] += ")"
            elif node.is_word:
                parts.append(f"({node.label} {node.word})")
            else:
                parts.append(f"({node.label}")
        return " ".join(parts)


def walk(tree: Tree) -> Iterator[tuple[Tree, bool]]:
    """Nodes in reading order, `(node, False)` when it opens and `(phrase, True)` when a phrase closes."""
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        node, closing = stack.pop()
        yield node, closing
        if not closing and not node.is_word:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))


@dataclass
class _Open:
    """A bracket that was opened and not yet closed."""

    line: int
    label: str | None = None
    children: list[Tree] = field(default_factory=list)
    word: str | None = None


def read_trees(text: str, where: str = "the text") -> Iterator[Tree]:
    """The trees of a text, in order.

    Args:
        text: trees in brackets, white space anywhere between the parts.
        where: name of the text for messages.

    Raises:
        ValueError: what is there is no tree: unbalanced brackets, a word without a tag of its own, an empty bracket,
            text outside brackets. The message has the line.
    """
    stack: list[_Open] = []
    for line, content in enumerate(split_lines(text), 1):
        for piece in _PIECE.findall(content):
            place = f"line {line} of {where}"
            if piece == "(":
                if stack and stack[-1].label is None:
                    stack[-1].label = ""
                if stack and stack[-1].word is not None:
                    raise ValueError(f"{place}: a phrase begins behind the word {stack[-1].word!r} in its bracket")
                stack.append(_Open(line))
            elif piece == ")":
                if not stack:
                    raise ValueError(f"{place}: a bracket is closed that was not opened")
                tree = _closed(stack.pop(), place)
                if stack:
                    stack[-1].children.append(tree)
                else:
                    yield tree
            elif not stack:
                raise ValueError(f"{place}: {piece!r} stands outside brackets; a file of trees in brackets is wanted")
            else:
                _take(stack[-1], piece, place)
    if stack:
        raise ValueError(f"{where}: the bracket opened in line {stack[0].line} is never closed")


def _take(bracket: _Open, piece: str, place: str) -> None:
    """A piece of text inside a bracket: first its label, then its word."""
    if bracket.label is None:
        bracket.label = piece
    elif bracket.children or bracket.word is not None or not bracket.label:
        raise ValueError(f"{place}: the word {piece!r} has no bracket with a tag of its own, like (NN {piece})")
    else:
        bracket.word = piece


def _closed(bracket: _Open, place: str) -> Tree:
    if bracket.word is not None:
        return Tree(bracket.label or "", word=bracket.word)
    if not bracket.children:
        raise ValueError(f"{place}: the bracket {bracket.label or ''!r} is empty; it needs a word or phrases")
    return Tree(bracket.label or TOP, tuple(bracket.children))


def read_tree_files(paths: Iterable[str | Path]) -> Iterator[Tree]:
    """The trees of files, one after the other.

    Raises:
        ValueError: a file is missing, not UTF-8 text, or not trees.
    """
    for path in map(Path, paths):
        if not path.is_file():
            raise ValueError(f"no such file: {path}; give a file of trees in Penn brackets")
        yield from read_trees("\n".join(file_lines(path)), str(path))


def without_root(tree: Tree) -> Tree:
    """The tree below brackets called TOP, ROOT, S1 or nothing; TOP stays where it holds several phrases or a word."""
    while tree.label in ROOT_LABELS and len(tree.children) == 1 and not tree.children[0].is_word:
        tree = tree.children[0]
    return Tree(TOP, tree.children) if tree.label in ROOT_LABELS and not tree.is_word else tree


def clean(tree: Tree, *, keep_traces: bool = False, keep_functions: bool = False) -> Tree | None:
    """A tree as parsers are trained and scored on it: no root bracket, no empty elements, no function tags.

    Args:
        keep_traces: keep words tagged -NONE- (traces, zeros); otherwise they go, and phrases that they leave empty.
        keep_functions: keep what follows the first -, = or | of a phrase's label: NP-SBJ-1, or else NP.

    Returns:
        The cleaned tree, None if only empty elements were in it.
    """
    built: list[list[Tree]] = [[]]
    for node, closing in walk(tree):
        if node.is_word:
            if keep_traces or node.label != TRACE_TAG:
                built[-1].append(node)
        elif not closing:
            built.append([])
        else:
            children = built.pop()
            if children:
                label = node.label if keep_functions else _FUNCTION.sub("", node.label)
                built[-1].append(Tree(label, tuple(children)))
    return without_root(built[0][0]) if built[0] else None


def surface(word: str) -> str:
    """A word of a tree as it stands in running text: `-LRB-` as `(`, `1\\/2` as `1/2`."""
    return ESCAPES.get(word, word.replace("\\/", "/").replace("\\*", "*"))


def escaped(word: str) -> str:
    """A word of running text as a tree holds it, brackets as names."""
    for name, mark in ESCAPES.items():
        if word == mark:
            return name
    return word.replace("(", "-LRB-").replace(")", "-RRB-")
