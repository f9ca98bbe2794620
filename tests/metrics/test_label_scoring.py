"""Scores of labels equal scikit-learn's and numbers counted by hand; baselines give what they say."""

import numpy as np
import pytest

from hf_attention_zoo.data.labels import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from hf_attention_zoo.metrics.label_scoring import (
    class_scores,
    confusion_matrix,
    mean_loss,
    score_class_sets,
    score_classes,
    score_numbers,
)
from hf_attention_zoo.tasks.labels.baselines import cosine_logits, majority_logits, tfidf_logits
from hf_attention_zoo.tasks.labels.rows import load_labelled

GENERATOR = np.random.default_rng(0)


def test_scores_of_classes_equal_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    logits, labels = GENERATOR.normal(size=(200, 6)), GENERATOR.integers(0, 5, 200)
    logits[:, 5] = -9  # a class that neither occurs nor is predicted
    predicted = logits.argmax(1)
    scores = score_classes(logits, labels)
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(labels, predicted))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(labels, predicted, average="macro"))
    confusion = confusion_matrix(labels, predicted, 6)
    assert (confusion[:5, :5] == metrics.confusion_matrix(labels, predicted)).all()
    report = metrics.precision_recall_fscore_support(labels, predicted, zero_division=0)
    for index, score in enumerate(class_scores(confusion, list("abcdef"))[:5]):
        assert (score.precision, score.recall, score.f1, score.texts) == pytest.approx(
            [part[index] for part in report]
        )


def test_scores_of_class_sets_equal_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    logits, labels = GENERATOR.normal(size=(100, 4)), GENERATOR.integers(0, 2, (100, 4)).astype(float)
    scores = score_class_sets(logits, labels)
    for name in ("micro", "macro"):
        assert scores[f"{name}_f1"] == pytest.approx(metrics.f1_score(labels, logits > 0, average=name))
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(labels, logits > 0))


def test_errors_and_correlation_of_numbers():
    predicted, wanted = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 5.0])
    scores = score_numbers(predicted, wanted)
    assert scores["mse"] == pytest.approx(2 / 3) and scores["mae"] == pytest.approx(2 / 3)
    assert scores["pearson"] == pytest.approx(np.corrcoef(predicted[:, 0], wanted)[0, 1])
    assert score_numbers(np.ones((3, 1)), wanted)["pearson"] == 0.0


def test_the_loss_is_torchs():
    import torch
    from torch.nn import functional

    logits, labels = GENERATOR.normal(size=(9, 3)) * 30, GENERATOR.integers(0, 3, 9)
    wide = torch.from_numpy(logits)
    assert mean_loss(logits, labels, SINGLE_LABEL) == pytest.approx(
        functional.cross_entropy(wide, torch.from_numpy(labels)).item()
    )
    marks = (GENERATOR.random((9, 3)) > 0.5).astype(float)
    assert mean_loss(logits, marks, MULTI_LABEL) == pytest.approx(
        functional.binary_cross_entropy_with_logits(wide, torch.from_numpy(marks)).item()
    )
    assert mean_loss(logits, marks, REGRESSION) == pytest.approx(((logits - marks) ** 2).mean())


def test_labels_outside_the_classes_are_refused():
    with pytest.raises(ValueError, match="a label is 0 or 3; classes go from 0 to 2"):
        confusion_matrix([0, 3], [0, 1], 3)
    with pytest.raises(ValueError, match="one class each"):
        confusion_matrix([0, 1], [0], 3)


def test_the_most_frequent_answer():
    assert majority_logits([1, 1, 0], 2, 3, SINGLE_LABEL).argmax(1).tolist() == [1, 1]
    assert (majority_logits([[1, 0], [1, 1], [1, 0]], 1, 2, MULTI_LABEL) > 0).tolist() == [[True, False]]
    assert majority_logits([1.0, 2.0], 2, 1, REGRESSION).tolist() == [[1.5], [1.5]]


def test_tfidf_learns_words_and_korean_characters():
    pytest.importorskip("sklearn")
    for good, bad in (("a good film", "a bad film"), ("정말 좋은영화", "정말 나쁜영화")):
        texts = [good, bad, [good, good], bad] * 3
        found = tfidf_logits(texts, [1, 0, 1, 0] * 3, [bad, good], num_labels=2, problem_type=SINGLE_LABEL)
        assert found.argmax(1).tolist() == [0, 1]
        numbers = tfidf_logits(texts, [1.0, -1.0] * 6, [bad, good], num_labels=1, problem_type=REGRESSION)
        assert numbers[0, 0] < 0 < numbers[1, 0]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")  # the solver says so where it stops before it has converged
def test_the_linear_model_is_fitted_to_the_end() -> None:
    pytest.importorskip("sklearn")
    train = load_labelled("sent_vader", splits=["train"])[0]["train"]
    found = tfidf_logits(train["text"], train["label"], ["great"], num_labels=5, problem_type=SINGLE_LABEL)
    assert found.argmax() == 4


def test_pairs_are_told_apart_by_what_they_share():
    pytest.importorskip("sklearn")
    words = ["red house", "old tree", "new boat", "wet dog"]
    texts, pairs = words * 2, [*words, *words[1:], words[0]]
    labels = [1, 1, 1, 1, 0, 0, 0, 0]
    assert cosine_logits(texts, pairs, labels, words[:2], [words[0], words[2]]).argmax(1).tolist() == [1, 0]
    shared = tfidf_logits(
        texts,
        labels,
        words[:2],
        num_labels=2,
        problem_type=SINGLE_LABEL,
        train_pairs=pairs,
        pairs=[words[0], words[2]],
    )
    assert shared.argmax(1).tolist() == [1, 0]
