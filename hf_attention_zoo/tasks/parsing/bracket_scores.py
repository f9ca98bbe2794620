"""Labelled bracket precision, recall and F1 (PARSEVAL), counted as the program evalb does with COLLINS.prm.

* A bracket is a phrase's label with the positions of its first and last word; words are not brackets, nor is TOP
  (ROOT, S1). Each bracket of one tree matches at most one of the other.
* Words tagged `,` `:` ```` `` ```` `''` `.` or -NONE- do not count: they are taken out before positions are given, and
  phrases that hold nothing else go with them.
* Labels end at their first - or = (NP-SBJ is NP); ADVP and PRT are the same label.
* Sums run over the corpus, so long sentences weigh more; sentences whose words differ are errors and count nothing,
  sentences without a word that counts are skipped.

One difference: the gold tree's tags say for both trees which words do not count. evalb asks each tree for itself, and
a parser that tags a comma as a noun then makes the whole sentence an error, which is left out of its score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from hf_attention_zoo.tasks.parsing.bracket_trees import ROOT_LABELS, TRACE_TAG, Tree, walk

UNCOUNTED_TAGS = frozenset({TRACE_TAG, ",", ":", "``", "''", "."})
SAME_LABELS = {"PRT": "ADVP"}

_LABEL_TAIL = re.compile(r"[-=].*")

Bracket = tuple[str, int, int]


@dataclass
class BracketScores:
    """Counts over a corpus, and the figures made from them (in percent, 0 where nothing was counted).

    Attributes:
        sentences: all pairs; of them `errors` with other words and `skipped` without a word that counts.
        matched, gold_brackets, test_brackets: brackets of the scored sentences.
        exact: sentences with all brackets right.
        crossing: test brackets that overlap a gold bracket without one holding the other.
        not_crossing: sentences without such a bracket.
        words, right_tags: counted words, and those with the gold tag.
    """

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    matched: int = 0
    gold_brackets: int = 0
    test_brackets: int = 0
    exact: int = 0
    crossing: int = 0
    not_crossing: int = 0
    words: int = 0
    right_tags: int = 0

    @property
    def scored(self) -> int:
        """Sentences that count."""
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        return _percent(self.matched, self.gold_brackets)

    @property
    def precision(self) -> float:
        return _percent(self.matched, self.test_brackets)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _percent(2 * self.matched, self.gold_brackets + self.test_brackets)

    @property
    def exact_match(self) -> float:
        return _percent(self.exact, self.scored)

    @property
    def tag_accuracy(self) -> float:
        return _percent(self.right_tags, self.words)

    def as_dict(self) -> dict[str, float | int]:
        """Figures and counts, for a file."""
        figures = {name: round(getattr(self, name), 2) for name in ("f1", "precision", "recall", "exact_match")}
        return {**figures, "tag_accuracy": round(self.tag_accuracy, 2), **asdict(self)}

    def report(self) -> str:
        """The figures as lines of text."""
        return "\n".join(
            [
                f"bracketing recall     {self.recall:7.2f}",
                f"bracketing precision  {self.precision:7.2f}",
                f"bracketing F1         {self.f1:7.2f}",
                f"complete match        {self.exact_match:7.2f}",
                f"average crossing      {self.crossing / max(self.scored, 1):7.2f}",
                f"no crossing           {_percent(self.not_crossing, self.scored):7.2f}",
                f"tagging accuracy      {self.tag_accuracy:7.2f}",
                f"sentences             {self.sentences:7d} ({self.errors} errors, {self.skipped} skipped)",
            ]
        )


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def brackets(tree: Tree, counted: Iterable[bool]) -> list[Bracket]:
    """The brackets of a tree, `(label, first, end)` over the words that count.

    Args:
        counted: for each word of the tree, whether it counts.
    """
    counts = iter(counted)
    found: list[Bracket] = []
    starts: list[int] = []
    position = 0
    for node, closing in walk(tree):
        if node.is_word:
            position += bool(next(counts))
        elif not closing:
            starts.append(position)
        else:
            start = starts.pop()
            label = _bracket_label(node.label)
            if start < position and label not in ROOT_LABELS and label not in UNCOUNTED_TAGS:
                found.append((label, start, position))
    return found


def _bracket_label(label: str) -> str:
    label = _LABEL_TAIL.sub("", label)
    return SAME_LABELS.get(label, label)


def score_trees(gold: Iterable[Tree], test: Iterable[Tree | None]) -> BracketScores:
    """Scores of test trees against gold trees of the same sentences, in the same order.

    A test tree of None (nothing was parsed) counts as a sentence with no brackets at all.

    Raises:
        ValueError: there are more of one than of the other.
    """
    gold, test = list(gold), list(test)
    if len(gold) != len(test):
        raise ValueError(f"{len(gold)} gold trees and {len(test)} test trees: each sentence needs one of both")
    scores = BracketScores()
    for right, answer in zip(gold, test, strict=True):
        _add_sentence(scores, right, answer)
    return scores


def _add_sentence(scores: BracketScores, gold: Tree, test: Tree | None) -> None:
    scores.sentences += 1
    gold_leaves = [leaf for leaf in gold.leaves() if leaf.label != TRACE_TAG]
    counted = [leaf.label not in UNCOUNTED_TAGS for leaf in gold_leaves]
    if not any(counted):
        scores.skipped += 1
        return
    gold_brackets = brackets(gold, _with_traces(gold, counted))
    test_brackets: list[Bracket] = []
    if test is not None:
        test_leaves = [leaf for leaf in test.leaves() if leaf.label != TRACE_TAG]
        if [leaf.word for leaf in test_leaves] != [leaf.word for leaf in gold_leaves]:
            scores.errors += 1
            return
        test_brackets = brackets(test, _with_traces(test, counted))
        scores.right_tags += sum(
            _bracket_tag(one) == _bracket_tag(other)
            for one, other, counts in zip(gold_leaves, test_leaves, counted, strict=True)
            if counts
        )
    matched = sum((Counter(gold_brackets) & Counter(test_brackets)).values())
    crossing = sum(any(_cross(one, other) for other in gold_brackets) for one in test_brackets)
    scores.words += sum(counted)
    scores.matched += matched
    scores.gold_brackets += len(gold_brackets)
    scores.test_brackets += len(test_brackets)
    scores.exact += matched == len(gold_brackets) == len(test_brackets)
    scores.crossing += crossing
    scores.not_crossing += crossing == 0


def _bracket_tag(leaf: Tree) -> str:
    return SAME_LABELS.get(leaf.label, leaf.label)


def _with_traces(tree: Tree, counted: list[bool]) -> list[bool]:
    """`counted` for all leaves of a tree, traces among them, which never count."""
    rest = iter(counted)
    return [leaf.label != TRACE_TAG and next(rest) for leaf in tree.leaves()]


def _cross(one: Bracket, other: Bracket) -> bool:
    return one[1] < other[1] < one[2] < other[2] or other[1] < one[1] < other[2] < one[2]
