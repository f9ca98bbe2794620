"""The alignment error rate: worked examples, bounds, files in both formats, and the command."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_attention_zoo.metrics.alignment_error_rate import (
    alignment_error_rate,
    main,
    read_links,
    strongest_links,
)

LINKS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def test_worked_example() -> None:
    predicted = [{(0, 0), (1, 1), (2, 3)}]
    sure, possible = [{(0, 0), (2, 2)}], [{(1, 1)}]
    scores = alignment_error_rate(predicted, sure, possible)
    # |A and S| = 1, |A and P| = 2, |A| = 3, |S| = 2
    assert scores.error_rate == pytest.approx(1 - 3 / 5)
    assert (scores.precision, scores.recall) == (pytest.approx(2 / 3), pytest.approx(1 / 2))
    assert (scores.links, scores.sure, scores.possible, scores.sentences) == (3, 2, 3, 1)


def test_counts_are_summed_over_the_corpus_before_they_are_divided() -> None:
    scores = alignment_error_rate([{(0, 0)}, {(0, 1), (1, 0)}], [{(0, 0)}, {(0, 0), (1, 1)}])
    assert scores.error_rate == pytest.approx(1 - 2 / 6)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=4))
def test_rate_lies_between_nought_and_one_and_sure_links_are_perfect(rows: list) -> None:
    predicted, sure, possible = (list(column) for column in zip(*rows, strict=True))
    if any(predicted) or any(sure):
        assert 0 <= alignment_error_rate(predicted, sure, possible).error_rate <= 1
    if any(sure):
        assert alignment_error_rate(sure, sure, possible).error_rate == 0
        both = [s | p for s, p in zip(sure, possible, strict=True)]
        assert alignment_error_rate(both, sure, possible).error_rate == pytest.approx(0)


def test_different_numbers_of_sentences_and_empty_corpora_are_refused() -> None:
    with pytest.raises(ValueError, match="2 predicted sentences, 1 with sure and 1 with possible"):
        alignment_error_rate([{(0, 0)}, set()], [{(0, 0)}])
    with pytest.raises(ValueError, match="nothing to score"):
        alignment_error_rate([set()], [set()])


def test_strongest_link_of_every_target_word_leaves_the_end_symbols_out() -> None:
    weights = [[0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.9, 0.0, 0.1]]  # the last row and column are end symbols
    assert strongest_links(weights) == {(1, 0), (1, 1)}
    assert strongest_links(np.array(weights), source_words=[0, 1, 2], target_words=[0, 1, 2]) == {
        (1, 0),
        (2, 1),
        (0, 2),
    }


def test_tokens_of_a_word_are_taken_together() -> None:
    weights = [[0.3, 0.3, 0.4, 0.0], [0.0, 0.0, 0.9, 0.1], [0.2, 0.2, 0.2, 0.4]]
    links = strongest_links(weights, source_words=[0, 0, 1, None], target_words=[0, 1, 1])
    assert links == {(0, 0), (1, 1)}  # 0.6 against 0.4; then 0.55 against 0.2


def test_a_row_without_weight_gives_no_link_and_shapes_are_checked() -> None:
    assert strongest_links([[0.0, 0.0], [0.0, 1.0]], [0, 1], [0, 1]) == {(1, 1)}
    with pytest.raises(ValueError, match="give one"):
        strongest_links([0.5, 0.5])
    with pytest.raises(ValueError, match="3 source tokens have a word, the weights have 2"):
        strongest_links([[1.0, 0.0]], source_words=[0, 1, 2])


def test_pharaoh_files_tell_sure_from_possible_links(tmp_path: Path) -> None:
    file = tmp_path / "gold.txt"
    file.write_text("0-0 1?2 3p4\n\n2-1:0.7\n", encoding="utf-8")
    sure, possible = read_links(file)
    assert sure == [{(0, 0)}, set(), {(2, 1)}]
    assert possible == [{(0, 0), (1, 2), (3, 4)}, set(), {(2, 1)}]


def test_naacl_files_count_from_one(tmp_path: Path) -> None:
    file = tmp_path / "gold.wa"
    file.write_text("0001 1 1 S\n0001 2 3 P\n\n3 2 2\n3 1 2 P 0.5\n", encoding="utf-8")
    sure, possible = read_links(file, "naacl")
    assert sure == [{(0, 0)}, set(), {(1, 1)}]
    assert possible == [{(0, 0), (1, 2)}, set(), {(1, 1), (0, 1)}]


@pytest.mark.parametrize(
    ("text", "file_format", "words"),
    [
        ("0-0 1:1", "pharaoh", "line 1: '1:1' is no link; write source-target"),
        ("0-0\n1 - 2", "pharaoh", "line 2"),
        ("1 0 1", "naacl", "line 1: .*counted from 1"),
        ("1 2", "naacl", "line 1"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, text: str, file_format: str, words: str) -> None:
    file = tmp_path / "links"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_links(file, file_format)


def test_missing_files_and_unknown_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file"):
        read_links(tmp_path / "nothing")
    with pytest.raises(ValueError, match="pharaoh, naacl"):
        read_links(tmp_path / "nothing", "giza")


def test_command_scores_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, gold = tmp_path / "made", tmp_path / "gold"
    made.write_text("0-0 1-1 3-2\n0-0\n", encoding="utf-8")
    gold.write_text("0-0 2-2 1?1\n0-0\n", encoding="utf-8")
    assert main([str(made), str(gold)]) == 0
    output = capsys.readouterr().out
    assert f"AER {1 - 5 / 7:.4f}" in output and "2 sentences, 4 links, reference: 3 sure, 4 sure" in output
    made.write_text("0-0 1-1 2-3\n0-0\n", encoding="utf-8")
    assert main([str(made), str(gold), "--reverse"]) == 0
    assert f"AER {1 - 5 / 7:.4f}" in capsys.readouterr().out


def test_command_fills_up_sentences_that_naacl_files_leave_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, gold = tmp_path / "made", tmp_path / "gold"
    made.write_text("1 1 1\n", encoding="utf-8")
    gold.write_text("1 1 1 S\n2 1 1 S\n", encoding="utf-8")
    assert main([str(made), str(gold), "--format", "naacl"]) == 0
    assert f"AER {1 - 2 / 3:.4f}" in capsys.readouterr().out
