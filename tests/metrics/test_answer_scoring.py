"""Exact match and F1 of answers, the threshold of the empty one, scores of tags."""

import pytest

from hf_attention_zoo.metrics.answer_scoring import answer_scores, best_null_threshold, exact_match, word_f1
from hf_attention_zoo.metrics.tag_scoring import entities, entity_f1, most_frequent_tags, tag_scores


def test_case_marks_and_articles_do_not_count() -> None:
    assert exact_match("The Cat!", "cat") == 1.0
    assert word_f1("a black cat", "the cat sat") == pytest.approx(0.5)
    assert word_f1("", "") == 1.0 and word_f1("", "cat") == 0.0


def test_the_best_of_several_right_answers_counts() -> None:
    scores = answer_scores(["in 1820", ""], [["1820", "in the year 1820"], []])
    assert scores["exact_match"] == 50.0
    assert scores["unanswerable_f1"] == 100.0 and scores["answerable_f1"] == pytest.approx(80.0)


def test_the_threshold_is_the_best_one() -> None:
    answers, margins = ["right", "wrong", "right", "any"], [-3.0, 2.0, 0.5, 1.0]
    threshold, scores = best_null_threshold(answers, margins, [["right"], [], ["right"], []])
    assert 0.5 < threshold < 1.0 and scores["f1"] == 100.0
    assert best_null_threshold(["a"], [5.0], [["a"]])[1]["f1"] == 100.0
    assert best_null_threshold(["a"], [-5.0], [[]])[1]["f1"] == 100.0


NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def test_names_count_from_end_to_end() -> None:
    right = [[1, 2, 0, 3], [4, 4, 1, 1]]
    assert entities(right[0], NAMES) == {(0, 2, "PER"), (3, 4, "LOC")}
    assert entities(right[1], NAMES) == {(0, 2, "LOC"), (2, 3, "PER"), (3, 4, "PER")}
    assert entity_f1([[1, 0, 0, 3], [4, 4, 1, 1]], right, NAMES) == pytest.approx(2 * 4 / 10)


def test_words_that_were_not_read_are_wrong() -> None:
    scores = tag_scores([[0, -1, 1]], [[0, 1, 1]], ["A", "B"])
    assert scores["accuracy"] == pytest.approx(2 / 3) and "entity_f1" not in scores
    assert scores["macro_f1"] == pytest.approx((1 + 2 / 3) / 2)


def test_most_frequent_tags() -> None:
    usual = most_frequent_tags([["a", "b"], ["a", "c"], ["a"]], [[0, 1], [0, 1], [1]])
    assert usual == {"": 1, "a": 0, "b": 1, "c": 1}
