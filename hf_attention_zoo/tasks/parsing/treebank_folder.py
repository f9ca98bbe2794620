"""From trees to a folder that `attention-zoo train` reads: sentences as sources, linear trees as targets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.checkpoint_folder import new_folder
from hf_attention_zoo.tasks.parsing.bracket_trees import TOP, Tree, clean, read_tree_files, surface
from hf_attention_zoo.tasks.parsing.linearising import BRACKETS, linearise

TREE_SUFFIXES = (".mrg", ".ptb", ".parse", ".trees", ".psd", ".prd")
TREEBANK_FILE = "treebank.json"
SPLITS = ("train", "validation", "test")


def tree_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files named, and for a folder all tree files below it in order of their names.

    Raises:
        ValueError: a path does not exist, or a folder holds no tree files.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix in TREE_SUFFIXES)
            if not inside:
                raise ValueError(f"folder {path} holds no tree files ({', '.join(TREE_SUFFIXES)})")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise ValueError(f"{path} does not exist; give files of trees in Penn brackets, or folders of them")
    return found


def source_text(words: Iterable[str]) -> str:
    """The sentence that the model reads: words with blanks between, brackets as themselves."""
    return " ".join(map(surface, words))


def one_line(tree: Tree) -> str:
    """A tree as scorers read it: on one line, under TOP."""
    return str(tree if tree.label == TOP else Tree(TOP, (tree,)))


def cleaned_trees(
    trees: Iterable[Tree], *, keep_functions: bool = False, max_words: int | None = None
) -> tuple[list[Tree], dict[str, int]]:
    """Trees without roots, traces and (unless kept) function tags, and how many were left out for what."""
    kept: list[Tree] = []
    left_out = {"empty": 0, "too_long": 0}
    for tree in trees:
        cleaned = clean(tree, keep_functions=keep_functions)
        if cleaned is None:
            left_out["empty"] += 1
        elif max_words is not None and len(cleaned.leaves()) > max_words:
            left_out["too_long"] += 1
        else:
            kept.append(cleaned)
    return kept, left_out


def write_treebank(
    splits: Mapping[str, Sequence[Tree]],
    out: str | Path,
    *,
    style: str = BRACKETS,
    tags: str = "keep",
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write for each split `SPLIT.jsonl` (source, target) and `SPLIT.trees` (the gold trees), and treebank.json.

    Args:
        splits: cleaned trees by split: train, validation, test.
        style, tags: see `linearise`.
        facts: more for treebank.json, such as where the trees come from.

    Raises:
        ValueError: an unknown or empty split, or `out` is not an empty or new folder.
    """
    target = new_folder(out)
    for split, trees in splits.items():
        if split not in SPLITS:
            raise ValueError(f"no split is called {split!r}; there are {', '.join(SPLITS)}")
        if not trees:
            raise ValueError(f"no tree is left for the split {split}; give more files, or raise the limit of words")
    written = {split: _lines(trees, style, tags) for split, trees in splits.items()}
    target.mkdir(parents=True, exist_ok=True)
    for split, lines in written.items():
        (target / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        in_brackets = "".join(one_line(tree) + "\n" for tree in splits[split])
        (target / f"{split}.trees").write_text(in_brackets, encoding="utf-8")
    counts = {
        split: {"sentences": len(trees), "words": sum(len(tree.leaves()) for tree in trees)}
        for split, trees in splits.items()
    }
    content = {"style": style, "tags": tags, **(facts or {}), "splits": counts}
    (target / TREEBANK_FILE).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def _lines(trees: Iterable[Tree], style: str, tags: str) -> list[str]:
    return [
        json.dumps(
            {"source": source_text(tree.words()), "target": " ".join(linearise(tree, style=style, tags=tags))},
            ensure_ascii=False,
        )
        + "\n"
        for tree in trees
    ]


def read_treebank(paths: Iterable[str | Path]) -> list[Tree]:
    """All trees of files and folders."""
    return list(read_tree_files(tree_files(paths)))
