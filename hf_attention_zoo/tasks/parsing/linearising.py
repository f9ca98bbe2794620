"""Trees as sequences of symbols and back (Vinyals et al. 2015, "Grammar as a foreign language", section 3).

A parser that is a translation model reads the words and writes the tree without them: a symbol where a phrase opens,
one for the tag of each word, one where the phrase closes, with its label again. Two spellings:

* "brackets", Vinyals's: `(S (NP NNP )NP (VP VBZ )VP . )S`;
* "slashes", that of the Transformer's code: `S NP NNP /NP VP VBZ /VP . /S`. An opening symbol looks like a tag there
  and is told by its label: one that has a closing symbol.

With `tags="XX"` every tag is written XX, as Vinyals does.

**Repair.** A model may write what is no tree of the sentence. `restore` never fails; it mends in this order while it
reads from left to right, and counts what it did:

1. a closing symbol closes the innermost open phrase of its label, and those opened inside that one before it
   (`closed_for`: so many); with no such phrase open it is passed over (`closings_dropped`);
2. a tag takes the next word; with no word left it is passed over (`tags_dropped`); unknown symbols count as tags;
3. phrases still open at the end are closed (`closed_at_end`); before that, words left over join the innermost open
   phrase, or the root if all are closed, with the tag XX (`words_added`);
4. phrases without a word are left out (`empty_dropped`);

Several phrases at the top, or a word there, come under one TOP. That is no repair: treebanks have such trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hf_attention_zoo.tasks.parsing.bracket_trees import TOP, Tree, walk

BRACKETS = "brackets"
SLASHES = "slashes"
STYLES = (BRACKETS, SLASHES)
ANY_TAG = "XX"


def check_style(style: str) -> None:
    """Raise ValueError for an unknown spelling."""
    if style not in STYLES:
        raise ValueError(f"style={style!r}; it is one of {', '.join(STYLES)}")


def linearise(tree: Tree, *, style: str = BRACKETS, tags: str = "keep") -> list[str]:
    """The symbols of a tree, without its words and without a TOP bracket.

    Args:
        style: "brackets" or "slashes".
        tags: "keep", or "XX" to write every tag as XX.

    Raises:
        ValueError: an unknown style or way with tags.
    """
    check_style(style)
    if tags not in ("keep", ANY_TAG):
        raise ValueError(f"tags={tags!r}; it is 'keep' or {ANY_TAG!r}")
    opening, closing = ("(", ")") if style == BRACKETS else ("", "/")
    symbols = []
    for node, closes in walk(tree):
        if node.is_word:
            symbols.append(ANY_TAG if tags == ANY_TAG else node.label)
        elif node.label != TOP:
            symbols.append((closing if closes else opening) + node.label)
    return symbols


@dataclass(frozen=True)
class RestoredTree:
    """A tree made from a model's output.

    Attributes:
        tree: always a tree of exactly the sentence's words; None for a sentence without words.
        repairs: what had to be mended, by the names in this module's description; empty if nothing.
    """

    tree: Tree | None
    repairs: dict[str, int] = field(default_factory=dict)

    @property
    def well_formed(self) -> bool:
        """Whether the output was a tree of the sentence as it stood."""
        return not self.repairs


@dataclass
class _Phrase:
    label: str
    children: list[Tree] = field(default_factory=list)


def restore(
    symbols: Sequence[str],
    words: Sequence[str],
    *,
    style: str = BRACKETS,
    phrase_labels: Collection[str] | None = None,
) -> RestoredTree:
    """The tree that a model's output describes over the words of its sentence, mended where it is no tree.

    Args:
        symbols: what the model wrote.
        words: of the sentence, in the form that the tree shall have.
        style: spelling of the symbols.
        phrase_labels: with "slashes", the labels that open phrases; left out, those that are closed somewhere.

    Raises:
        ValueError: an unknown style. Symbols raise nothing.
    """
    check_style(style)
    if not words:
        return RestoredTree(None, {"tags_dropped": len(symbols)} if symbols else {})
    if phrase_labels is None:
        phrase_labels = {symbol[1:] for symbol in symbols if symbol.startswith("/") and len(symbol) > 1}
    repairs: Counter[str] = Counter()
    left = list(reversed(words))
    stack = [_Phrase(TOP)]
    for symbol in symbols:
        kind, label = _kind(symbol, style, phrase_labels)
        if kind == "open":
            stack.append(_Phrase(label))
        elif kind == "close":
            depth = next((i for i in range(len(stack) - 1, 0, -1) if stack[i].label == label), 0)
            if not depth:
                repairs["closings_dropped"] += 1
                continue
            repairs["closed_for"] += len(stack) - 1 - depth
            while len(stack) > depth:
                _close(stack, repairs)
        elif left:
            stack[-1].children.append(Tree(label, word=left.pop()))
        else:
            repairs["tags_dropped"] += 1
    repairs["closed_at_end"] += len(stack) - 1
    if left:
        repairs["words_added"] += len(left)
        _add_words(stack, [Tree(ANY_TAG, word=word) for word in reversed(left)])
    while len(stack) > 1:
        _close(stack, repairs)
    top = stack[0].children
    tree = top[0] if len(top) == 1 and not top[0].is_word else Tree(TOP, tuple(top))
    return RestoredTree(tree, {name: count for name, count in repairs.items() if count})


def _kind(symbol: str, style: str, phrase_labels: Collection[str]) -> tuple[str, str]:
    """What a symbol does, "open", "close" or "tag", and its label."""
    if style == BRACKETS:
        if symbol.startswith("(") and len(symbol) > 1:
            return "open", symbol[1:]
        if symbol.startswith(")") and len(symbol) > 1:
            return "close", symbol[1:]
    elif symbol.startswith("/") and len(symbol) > 1:
        return "close", symbol[1:]
    elif symbol in phrase_labels:
        return "open", symbol
    # A bracket alone is no label: it would make a tree that cannot be read back.
    return "tag", ANY_TAG if any(mark in symbol for mark in "() \t\n") or not symbol else symbol


def _close(stack: list[_Phrase], repairs: Counter[str]) -> None:
    phrase = stack.pop()
    if phrase.children:
        stack[-1].children.append(Tree(phrase.label, tuple(phrase.children)))
    else:
        repairs["empty_dropped"] += 1


def _add_words(stack: list[_Phrase], leaves: list[Tree]) -> None:
    """Words that the output forgot: into the innermost open phrase, or the one phrase at the top."""
    top = stack[0].children
    if len(stack) > 1 or len(top) != 1 or top[0].is_word:
        stack[-1].children.extend(leaves)
    else:
        top[0] = Tree(top[0].label, (*top[0].children, *leaves))
