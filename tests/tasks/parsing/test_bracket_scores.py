"""Bracket scores: counted by hand, rule by rule, and against PYEVALB where it follows the same rules."""

import random

import pytest

from hf_attention_zoo.tasks.parsing.bracket_scores import BracketScores, brackets, score_trees
from hf_attention_zoo.tasks.parsing.bracket_trees import Tree, read_trees
from hf_attention_zoo.tasks.parsing.linearising import linearise, restore
from hf_attention_zoo.tasks.parsing.tree_grammar import sample_trees


def tree(text: str) -> Tree:
    return next(read_trees(text))


def score(gold: str, test: str) -> BracketScores:
    return score_trees([tree(gold)], [tree(test)])


def counts(scores: BracketScores) -> tuple[int, int, int]:
    return scores.matched, scores.gold_brackets, scores.test_brackets


GOLD = "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (NP (DT a) (NN dog)) (PP (IN with) (NP (NNS eyes))))) (. .))"


def test_the_brackets_of_a_tree_are_its_phrases_over_words() -> None:
    gold = tree(GOLD)
    counted = [leaf.label != "." for leaf in gold.leaves()]
    assert brackets(gold, counted) == [
        ("NP", 0, 2),
        ("NP", 3, 5),
        ("NP", 6, 7),
        ("PP", 5, 7),
        ("NP", 3, 7),
        ("VP", 2, 7),
        ("S", 0, 7),
    ]


def test_another_attachment_costs_what_the_hand_counts() -> None:
    """The phrase at the verb: NP 3-7 is missing from the test tree, which has six brackets, all of them right."""
    test = "(S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT a) (NN dog)) (PP (IN with) (NP (NNS eyes)))) (. .))"
    scores = score(GOLD, test)
    assert counts(scores) == (6, 7, 6)
    assert scores.recall == pytest.approx(600 / 7) and scores.precision == 100.0
    assert scores.f1 == pytest.approx(1200 / 13)
    assert scores.exact_match == 0.0 and scores.crossing == 0 and scores.tag_accuracy == 100.0


def test_crossing_brackets_are_counted_in_the_test_tree() -> None:
    scores = score("(S (A (X a) (X b)) (X c))", "(S (X a) (B (X b) (X c)))")
    assert counts(scores) == (1, 2, 2)
    assert (scores.crossing, scores.not_crossing) == (1, 0)


def test_a_label_must_be_right_but_particles_are_adverbs() -> None:
    assert counts(score("(S (NP (X a)) (X b))", "(S (VP (X a)) (X b))")) == (1, 2, 2)
    assert counts(score("(S (PRT (X a)) (X b))", "(S (ADVP (X a)) (X b))")) == (2, 2, 2)


def test_function_tags_do_not_matter() -> None:
    assert counts(score("(S (NP-SBJ (X a)) (X b))", "(S-ADV (NP=2 (X a)) (X b))")) == (2, 2, 2)


def test_top_does_not_count_and_a_chain_of_one_label_counts_each_time() -> None:
    assert counts(score("(TOP (S (X a)))", "(ROOT (S (X a)))")) == (1, 1, 1)
    assert counts(score("(S (NP (NP (X a))))", "(S (NP (X a)))")) == (2, 3, 2)
    assert counts(score("(S (NP (X a)))", "(S (NP (NP (NP (X a)))))")) == (2, 2, 4)


def test_punctuation_is_nowhere() -> None:
    inside = "(S (NP (X a) (, ,)) (VP (X b)) (. .))"
    outside = "(S (NP (X a)) (, ,) (VP (X b) (. .)))"
    assert counts(score(inside, outside)) == (3, 3, 3)
    quoted = "(S (PRN (`` ``) ('' '')) (X a))"
    assert counts(score(quoted, "(S (`` ``) ('' '') (X a))")) == (1, 1, 1)


def test_the_gold_tags_say_what_is_punctuation() -> None:
    gold, test = "(S (NP (X a)) (, ,) (VP (X b)))", "(S (NP (X a) (NN ,)) (VP (, b)))"
    scores = score(gold, test)
    assert counts(scores) == (3, 3, 3) and scores.errors == 0
    assert (scores.words, scores.right_tags) == (2, 1)


def test_traces_count_in_neither_tree() -> None:
    assert counts(score("(S (NP (-NONE- *)) (VP (X a)))", "(S (VP (X a)))")) == (2, 2, 2)


def test_other_words_are_errors_and_punctuation_alone_is_skipped() -> None:
    gold = [tree("(S (X a) (X b))"), tree("(NP (: --))"), tree("(S (X c))")]
    test = [tree("(S (X a) (X d))"), tree("(NP (: --))"), tree("(S (X c))")]
    scores = score_trees(gold, test)
    assert (scores.sentences, scores.errors, scores.skipped, scores.scored) == (3, 1, 1, 1)
    assert counts(scores) == (1, 1, 1) and scores.exact_match == 100.0


def test_a_sentence_without_a_tree_loses_its_recall() -> None:
    scores = score_trees([tree("(S (NP (X a)) (X b))")], [None])
    assert counts(scores) == (0, 2, 0) and (scores.words, scores.right_tags) == (2, 0)
    assert scores.f1 == 0.0


def test_sums_run_over_the_corpus() -> None:
    gold = [tree(GOLD), tree("(S (X a))")]
    scores = score_trees(gold, [tree(GOLD), tree("(NP (X a))")])
    assert counts(scores) == (7, 8, 8)
    assert scores.as_dict()["f1"] == 87.5
    assert "bracketing F1           87.50" in scores.report()


def test_every_sentence_needs_both_trees() -> None:
    with pytest.raises(ValueError, match="1 gold trees and 0 test trees"):
        score_trees([tree(GOLD)], [])


def test_pyevalb_counts_the_same_where_it_follows_the_same_rules() -> None:
    """It keeps punctuation and counts equal brackets once: trees without either."""
    scorer = pytest.importorskip("PYEVALB.scorer")
    parser = pytest.importorskip("PYEVALB.parser")
    rng = random.Random(3)
    compared, wrong = 0, 0
    for gold in sample_trees(150, seed=11):
        gold = Tree(gold.label, tuple(child for child in gold.children if child.label not in (".", ",")))
        symbols = [
            rng.choice("()") + rng.choice(("NP", "VP", "PP")) if len(one) > 1 and rng.random() < 0.08 else one
            for one in linearise(gold)
        ]
        test = restore(symbols, gold.words()).tree
        if test.label == "TOP" or len({str(b) for b in brackets(test, [True] * 99)}) < str(test).count("(") - len(
            test.leaves()
        ):
            continue
        theirs = scorer.Scorer().score_trees(
            parser.create_from_bracket_string(str(gold)), parser.create_from_bracket_string(str(test))
        )
        ours = score_trees([gold], [test])
        assert counts(ours) == (theirs.matched_brackets, theirs.gold_brackets, theirs.test_brackets)
        assert (ours.words, ours.right_tags) == (theirs.words, theirs.correct_tags)
        compared += 1
        wrong += ours.f1 < 100
    assert compared > 60 and wrong > 20
