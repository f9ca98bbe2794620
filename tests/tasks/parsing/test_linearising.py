"""Linear trees: both spellings, the way back, and every repair of malformed output."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_attention_zoo.tasks.parsing.bracket_trees import Tree, read_trees
from hf_attention_zoo.tasks.parsing.linearising import STYLES, RestoredTree, linearise, restore
from hf_attention_zoo.tasks.parsing.tree_grammar import sample_trees


def tree(text: str) -> Tree:
    return next(read_trees(text))


JOHN = tree("(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))")


def test_vinyals_and_the_authors_code_spell_trees_differently() -> None:
    assert " ".join(linearise(JOHN)) == "(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S"
    assert " ".join(linearise(JOHN, style="slashes")) == "S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S"
    assert " ".join(linearise(JOHN, tags="XX")) == "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"


@pytest.mark.parametrize("style", STYLES)
def test_the_way_back_is_exact(style: str) -> None:
    special = [tree("(TOP (S (NN a)) (NP (NN b)))"), tree("(TOP (VB Go))"), tree("(S (S (S (NN a))))"), JOHN]
    for one in [*sample_trees(200, seed=4), *special]:
        assert restore(linearise(one, style=style), one.words(), style=style) == RestoredTree(one)


def test_a_label_can_be_a_tag_too_when_phrases_are_known() -> None:
    symbols = ["S", "NP", "X", "/NP", "/S"]
    found = restore(symbols, ["a"], style="slashes", phrase_labels={"S", "NP", "PP"})
    assert str(found.tree) == "(S (NP (X a)))" and found.well_formed


@pytest.mark.parametrize(
    ("output", "words", "wanted", "repairs"),
    [
        ("(S (NP NN )VP )NP )S", "a", "(S (NP (NN a)))", {"closings_dropped": 1}),
        ("(S (NP NN )S", "a", "(S (NP (NN a)))", {"closed_for": 1}),
        ("(S (NP NN NN NN )NP )S", "a b", "(S (NP (NN a) (NN b)))", {"tags_dropped": 1}),
        ("(S (NP NN", "a", "(S (NP (NN a)))", {"closed_at_end": 2}),
        ("(S (NP NN )NP )S", "a b c", "(S (NP (NN a)) (XX b) (XX c))", {"words_added": 2}),
        ("(S (NP NN", "a b", "(S (NP (NN a) (XX b)))", {"closed_at_end": 2, "words_added": 1}),
        ("(S (NP )NP (VP NN )VP )S", "a", "(S (VP (NN a)))", {"empty_dropped": 1}),
        ("(S NN )S (NP NN )NP", "a b", "(TOP (S (NN a)) (NP (NN b)))", {}),
        ("NN NN", "a b", "(TOP (NN a) (NN b))", {}),
        ("", "a b", "(TOP (XX a) (XX b))", {"words_added": 2}),
        (")S )S", "a", "(TOP (XX a))", {"closings_dropped": 2, "words_added": 1}),
        ("( ) (S <unk> )S", "a b c", "(TOP (XX a) (XX b) (S (<unk> c)))", {}),
        ("(S (S (S", "a", "(S (S (S (XX a))))", {"closed_at_end": 3, "words_added": 1}),
        ("(S NN )S", "", None, {"tags_dropped": 3}),
    ],
)
def test_malformed_output_is_mended_as_documented(
    output: str, words: str, wanted: str | None, repairs: dict[str, int]
) -> None:
    found = restore(output.split(), words.split())
    assert (None if found.tree is None else str(found.tree)) == wanted
    assert found.repairs == repairs
    assert found.well_formed == (not repairs)


SYMBOLS = st.lists(st.sampled_from(["(S", ")S", "(NP", ")NP", "NN", "VB", "S", "NP", "/S", "/NP", "(", ")", "/", ""]))


@settings(max_examples=200, deadline=None)
@given(symbols=SYMBOLS, count=st.integers(1, 6), style=st.sampled_from(STYLES))
def test_any_output_gives_a_tree_of_the_sentence_that_can_be_read_back(
    symbols: list[str], count: int, style: str
) -> None:
    words = [f"w{i}" for i in range(count)]
    found = restore(symbols, words, style=style)
    assert found.tree is not None and found.tree.words() == words
    assert next(read_trees(str(found.tree))) == found.tree
    again = restore(linearise(found.tree, style=style), words, style=style)
    if style == "brackets":
        assert again == RestoredTree(found.tree)


def test_long_garbage_is_no_problem() -> None:
    rng = random.Random(0)
    symbols = [rng.choice(["(S", "(NP", ")NP", "NN"]) for _ in range(20_000)]
    assert restore(symbols, ["a", "b"]).tree.words() == ["a", "b"]


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="one of brackets, slashes"):
        linearise(JOHN, style="lisp")
    with pytest.raises(ValueError, match="one of brackets, slashes"):
        restore([], ["a"], style="lisp")
    with pytest.raises(ValueError, match="'keep' or 'XX'"):
        linearise(JOHN, tags="drop")


def test_made_up_trees_are_the_same_for_the_same_seed_and_never_twice() -> None:
    trees = sample_trees(300, seed=7, max_words=14)
    assert trees == sample_trees(300, seed=7, max_words=14)
    assert len({" ".join(one.words()) for one in trees}) == 300
    assert max(len(one.words()) for one in trees) <= 14
    with pytest.raises(ValueError, match="count=0"):
        sample_trees(0)
    with pytest.raises(ValueError, match="max_words=3"):
        sample_trees(5, max_words=3)
