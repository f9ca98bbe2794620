"""Exact match and F1 of answers, the threshold of the empty one, scores of tags."""

import itertools

import numpy as np
import pytest

from hf_attention_zoo.metrics.answer_scoring import answer_scores, best_null_threshold, exact_match, word_f1
from hf_attention_zoo.metrics.tag_scoring import entities, entity_f1, entity_scores, most_frequent_tags, tag_scores


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


SCHEMES = {
    "IOB": ("B", "I"),
    "IOE": ("I", "E"),
    "IOBES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
    "BMES": ("B", "M", "E", "S"),
}
AS_SEQEVAL = str.maketrans("LUM", "ESI")


@pytest.mark.parametrize("form", ["{mark}-{kind}", "{mark}_{kind}", "{kind}-{mark}", "{kind}_{mark}"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_names_are_those_of_seqeval_in_every_scheme(scheme: str, form: str) -> None:
    from seqeval.metrics import f1_score
    from seqeval.metrics.sequence_labeling import get_entities, precision_recall_fscore_support

    pairs = [(mark, kind) for mark in SCHEMES[scheme] for kind in ("PER", "LOC", "b-x")]
    names = ["O", *(form.format(mark=mark, kind=kind) for mark, kind in pairs)]
    theirs = ["O", *(f"{mark.translate(AS_SEQEVAL)}-{kind}" for mark, kind in pairs)]
    random = np.random.default_rng(0)
    rows = [random.integers(0, len(names), length).tolist() for length in random.integers(1, 12, 300)]
    for row in rows:
        wanted = {(start, end + 1, kind) for kind, start, end in get_entities([theirs[tag] for tag in row])}
        assert entities(row, names) == wanted
    guesses = [[tag if random.random() < 0.7 else int(random.integers(len(names))) for tag in row] for row in rows]
    told = [[[theirs[tag] for tag in row] for row in part] for part in (rows, guesses)]
    assert tag_scores(guesses, rows, names)["entity_f1"] == pytest.approx(f1_score(*told))
    report = zip(*precision_recall_fscore_support(*told, average=None), strict=True)  # kinds in order of the alphabet
    for score, wanted in zip(entity_scores(guesses, rows, names), report, strict=True):
        assert (score.precision, score.recall, score.f1, score.texts) == pytest.approx(wanted)


@pytest.mark.parametrize("scheme", ["IOB2", "IOE2", "IOBES", "BILOU"])
def test_well_formed_tags_have_the_names_of_their_scheme(scheme: str) -> None:
    """seqeval's own reading of each scheme, over all sequences of one kind of at most five words."""
    from seqeval import scheme as schemes

    kind = getattr(schemes, scheme)
    marks = {"IOB2": "BI", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU"}[scheme]
    names = ["O", *(f"{mark}-X" for mark in marks)]
    checked = 0
    for length in range(1, 6):
        for row in itertools.product(range(len(names)), repeat=length):
            read = {
                (one.start, one.end, one.tag) for one in schemes.Entities([[names[t] for t in row]], kind).entities[0]
            }
            if sum(end - start for start, end, _ in read) == sum(tag > 0 for tag in row):  # every mark has its place
                assert entities(row, names) == read
                checked += 1
    assert checked >= 100


@pytest.mark.parametrize("names", [["DET", "NOUN"], ["O", "X"], ["S-TIME", "NOUN"], ["O", "S-A"], ["B-A", "NOUN"]])
def test_tags_that_mark_no_names_have_no_score_of_names(names: list[str]) -> None:
    assert "entity_f1" not in tag_scores([[0, 1]], [[1, 0]], names)
