"""The rule that turns seeds into verdicts: planted claims come out as they were planted."""

from __future__ import annotations

import numpy as np
import pytest

from hf_attention_zoo.history.claim import Alike, Difference, Exact, Part
from hf_attention_zoo.history.verdict import (
    HOLDS,
    NOT_HERE,
    UNDECIDED,
    judge_part,
    seeds_that_decide,
    student_quantile,
)

CLAIMED = Difference("first over second", "first/score", "second/score")


def drawn(gap: float, spread: float, seeds: int, draw: int) -> list[list[float]]:
    """Scores of two arms that share what a seed does to both, the first higher by `gap` and some noise."""
    random = np.random.default_rng(draw)
    shared = random.normal(0, 5, seeds)
    return [list(shared + gap + random.normal(0, spread, seeds)), list(shared)]


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.7062), (2, 4.30265), (4, 2.77645), (9, 2.26216), (30, 2.04227)]
)
def test_quantiles_are_those_of_the_tables(degrees: int, quantile: float) -> None:
    assert student_quantile(degrees) == pytest.approx(quantile, abs=1e-4)


def test_a_planted_true_claim_holds_and_its_opposite_does_not() -> None:
    for draw in range(50):
        first, second = drawn(gap=1.0, spread=0.05, seeds=3, draw=draw)
        assert judge_part(CLAIMED, [first, second]).verdict == HOLDS
        assert judge_part(CLAIMED, [second, first]).verdict == NOT_HERE


def test_noise_is_undecided_as_often_as_the_interval_says() -> None:
    verdicts = [judge_part(CLAIMED, drawn(0.0, 1.0, 3, draw)).verdict for draw in range(1000)]
    assert 0.92 < verdicts.count(UNDECIDED) / len(verdicts) < 0.98


def test_an_undecided_part_says_how_many_seeds_would_decide_it() -> None:
    found = judge_part(CLAIMED, [[1.0, 2.0, 4.5], [0.5, 2.2, 3.0]])
    assert found.verdict == UNDECIDED and found.seeds_needed is not None and found.seeds_needed > 3
    spread = float(np.std(found.differences, ddof=1))
    fewer = seeds_that_decide(CLAIMED, found.mean, spread, found.seeds_needed - 2)
    assert fewer == found.seeds_needed
    assert judge_part(CLAIMED, [[1.0], [0.0]]).verdict == UNDECIDED  # one seed decides nothing


@pytest.mark.parametrize(
    ("part", "measures", "verdict"),
    [
        (Difference("by 2 at least", "a/x", "b/x", least=2), [[3.0, 3.1, 3.2], [0.0, 0.1, 0.2]], HOLDS),
        (Difference("by 2 at least", "a/x", "b/x", least=2), [[1.0, 1.1, 1.2], [0.0, 0.1, 0.2]], NOT_HERE),
        (Alike("alike", "a/x", "b/x", margin=0.5), [[1.0, 1.1, 1.2], [0.95, 1.12, 1.15]], HOLDS),
        (Alike("alike", "a/x", "b/x", margin=0.5), [[2.0, 2.1, 2.2], [1.0, 1.1, 1.21]], NOT_HERE),
        (Alike("alike", "a/x", "b/x", margin=0.5), [[2.0, 1.0, 0.0], [1.0, 1.0, 1.0]], UNDECIDED),
        (Exact("exact", "a/x"), [[1.0, 1.0]], HOLDS),
        (Exact("exact", "a/x"), [[1.0, 0.0]], NOT_HERE),
        (Difference("all the same", "a/x", "b/x"), [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], UNDECIDED),
    ],
)
def test_each_kind_of_part_is_judged_by_where_its_interval_lies(part: Part, measures: list[list[float]], verdict: str):
    assert judge_part(part, measures).verdict == verdict


@pytest.mark.parametrize("measures", [[[], []], [[1.0, 2.0], [1.0]], [[float("nan")], [1.0]]])
def test_numbers_that_say_nothing_are_refused(measures: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="first over second"):
        judge_part(CLAIMED, measures)
