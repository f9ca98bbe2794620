"""Scores of captions: equal to the COCO evaluation code where they mean the same, and to hand counts."""

from __future__ import annotations

import numpy as np
import pytest

from hf_attention_zoo.alignment.results.picture_attention import PictureAttention
from hf_attention_zoo.metrics.caption_scoring import caption_scores, cider, exact_matches, meteor, tokens_of
from hf_attention_zoo.tasks.captions.pointing_accuracy import points_at

CAPTIONS = ["a man rides a brown horse on the beach", "two dogs play in the snow", "a red bus stands at the stop"]
REFERENCES = [
    ["a man rides a horse on the beach", "a man on a brown horse", "someone is riding a horse at the sea"],
    ["two dogs are running in the snow", "two dogs play in deep snow"],
    ["a red bus stands at a bus stop"],
]


def test_bleu_is_that_of_the_coco_code() -> None:
    scorer = pytest.importorskip("pycocoevalcap.bleu.bleu_scorer").BleuScorer(n=4)
    for caption, listed in zip(CAPTIONS, REFERENCES, strict=True):
        scorer += (caption, listed)
    wanted, _ = scorer.compute_score(option="closest", verbose=0)
    found = caption_scores(CAPTIONS, REFERENCES)
    for order, value in enumerate(wanted, 1):
        assert found[f"bleu{order}"] == pytest.approx(100 * value, abs=1e-4), order
    assert "nrefs:var" in found["signature"] and "case:lc" in found["signature"]


def test_cider_is_that_of_the_coco_code_and_ten_for_perfect_captions() -> None:
    pytest.importorskip("pycocoevalcap")
    perfect = [listed[0] for listed in REFERENCES[1:]]
    assert cider(perfect, [[text] for text in perfect]) == pytest.approx(10, abs=1e-6)
    assert 0 < cider(CAPTIONS, REFERENCES) < 10
    assert cider(["zebra"] * 3, REFERENCES) == 0


def test_cider_and_bleu_of_a_published_example() -> None:
    """The readme of aac-metrics (0.4.6, which follows the COCO code) has these captions with these two numbers."""
    pytest.importorskip("pycocoevalcap")
    references = ["a man speaks", "someone speaks", "a man is speaking while a bird is chirping in the background"]
    found = caption_scores(["a man is speaking", "rain falls"], [references, ["rain is falling hard on a surface"]])
    assert found["cider"] == pytest.approx(0.9614, abs=5e-5)
    assert found["bleu1"] == pytest.approx(42.78, abs=5e-3)


def test_meteor_of_the_example_that_nltk_documents() -> None:
    """The docstring of `nltk.translate.meteor_score.meteor_score`; no synonym takes part in this one."""
    pytest.importorskip("nltk")
    caption = "It is a guide to action which ensures that the military always obeys the commands of the party"
    references = [
        "It is a guide to action that ensures that the military will forever heed Party commands",
        "It is the guiding principle which guarantees the military forces always being under the command of the Party",
        "It is the practical guide for the army always to heed the directions of the party",
    ]
    assert meteor([caption], [references]) == pytest.approx(69.44, abs=5e-3)
    assert meteor(["non matching hypothesis"], [["this is a cat"]]) == 0


def test_meteor_counts_stems() -> None:
    pytest.importorskip("nltk")
    assert meteor(["dogs play"], [["dog plays"]]) > 90 > 1 > meteor(["zebra"], [["dog plays"]])


def test_exact_matches_look_past_case_and_spacing() -> None:
    assert exact_matches(["A  red Bus", "no"], [["x", "a red bus"], ["yes"]]) == 50


def test_korean_is_compared_by_words() -> None:
    assert tokens_of("노란 얼굴: 웃음", "ko") == ["노란", "얼굴", ":", "웃음"]
    found = caption_scores(["빨간 자동차"], [["빨간 자동차"]], "ko")
    assert found["exact"] == 100 and found["bleu1"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("captions", "references", "message"),
    [
        (["a"], [["a"], ["b"]], "1 captions for 2 pictures"),
        ([], [], "nothing to score"),
        (["a"], ["a"], "a list of one or more references"),
        (["a"], [[]], "a list of one or more references"),
    ],
)
def test_what_does_not_belong_together_is_refused(captions: list, references: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        caption_scores(captions, references)


def test_pointing_counts_the_region_with_the_largest_weight() -> None:
    weights = np.zeros((2, 4, 4), dtype=np.float32)
    weights[0, 0, 3], weights[1, 3, 0], weights[1, 2, 2] = 1.0, 0.6, 0.4
    seen = PictureAttention(("a", "b"), weights, None, np.zeros((8, 8, 3), dtype=np.uint8))
    corner = [(0.0, 0.5, 0.5, 1.0), (0.5, 0.5, 1.0, 1.0)]
    found = points_at(seen, corner)
    assert found["hit"].tolist() == [True, False]
    np.testing.assert_allclose(found["inside"], [1.0, 0.4])
    np.testing.assert_allclose(found["area"], [0.25, 0.25])
    with pytest.raises(ValueError, match="3 boxes for 2 tokens"):
        points_at(seen, [*corner, corner[0]])
