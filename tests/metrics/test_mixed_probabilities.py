"""Mixed language models and the interpolated trigram: sums of 1, numbers by hand, weights that only get better."""

import itertools
import math

import numpy as np
import pytest

from hf_attention_zoo.metrics.interpolated_trigram import InterpolatedTrigram
from hf_attention_zoo.metrics.mixed_probabilities import fitted_weight, mixed
from hf_attention_zoo.metrics.ngram_perplexity import NGramModel

RANDOM = np.random.default_rng(0)
VOCABULARY = 6
CHAIN = np.array([[0.1, 0.6, 0.1, 0.1, 0.1, 0.0], [0.0, 0.1, 0.8, 0.1, 0.0, 0.0]] * 3)  # what follows a token


def text(tokens: int) -> np.ndarray:
    ids = [0]
    for _ in range(tokens - 1):
        ids.append(int(RANDOM.choice(VOCABULARY, p=CHAIN[ids[-1]])))
    return np.array(ids)


TRAINING, HELD_OUT, TEST = [text(300), text(40)], [text(120)], text(200)


def by_hand(model: InterpolatedTrigram, context: tuple[int, ...], token: int) -> float:
    """The paper's sum, counted in lists."""
    texts = [one.tolist() for one in TRAINING]
    tokens = sum(map(len, texts))

    def count(*gram: int) -> int:
        n = len(gram)
        return sum(tuple(one[i : i + n]) == gram for one in texts for i in range(len(one) - n + 1))

    def followed(*gram: int) -> int:
        return sum(count(*gram, word) for word in range(VOCABULARY))

    parts = [1 / VOCABULARY, count(token) / tokens]
    for n in (1, 2):
        before = context[len(context) - n :]
        known = len(before) == n and followed(*before) > 0
        parts.append(count(*before, token) / followed(*before) if known else parts[-1])
    seen = followed(*context[-2:]) if len(context) >= 2 else 0
    weights = model.weights[math.ceil(-math.log((1 + seen) / tokens))]
    return float(np.dot(weights, parts))


def test_an_interpolated_trigram_is_the_papers_sum_and_sums_to_one() -> None:
    model = InterpolatedTrigram(TRAINING, VOCABULARY, HELD_OUT)
    for context in [(), (3,), *itertools.product(range(VOCABULARY), repeat=2)]:
        rows = [model.log_probabilities(np.array([*context, token]))[-1] for token in range(VOCABULARY)]
        assert np.exp(rows).sum() == pytest.approx(1.0)
        np.testing.assert_allclose(np.exp(rows), [by_hand(model, context, token) for token in range(VOCABULARY)])


def test_its_weights_make_held_out_text_likelier_at_every_step() -> None:
    model = InterpolatedTrigram(TRAINING, VOCABULARY, HELD_OUT, iterations=8)
    assert len(model.losses) == 9 and np.all(np.diff(model.losses) <= 1e-12) and model.losses[-1] < model.losses[0]
    np.testing.assert_allclose(model.weights.sum(1), 1.0)


def test_what_cannot_be_counted_is_said() -> None:
    with pytest.raises(ValueError, match="needs tokens to count and held-out ones"):
        InterpolatedTrigram(TRAINING, VOCABULARY, [])
    with pytest.raises(ValueError, match="at most 2,000,000"):
        InterpolatedTrigram(TRAINING, 3_000_000, HELD_OUT)


def test_a_mixture_is_the_weighted_sum_of_probabilities() -> None:
    model, counted = np.log([0.5, 0.1, 0.2]), np.log([0.1, 0.4, 0.2])
    np.testing.assert_allclose(np.exp(mixed(model, counted, 0.25)), [0.4, 0.175, 0.2])
    for weight in (0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="above 0 and below 1"):
            mixed(model, counted, weight)
    with pytest.raises(ValueError, match="other tokens"):
        mixed(model, counted[:2], 0.5)


def test_the_fitted_share_is_the_best_one() -> None:
    first, second = (NGramModel(TRAINING, VOCABULARY, order).log_probabilities(TEST) for order in (1, 2))
    weight = fitted_weight(first, second)
    losses = {share: -mixed(first, second, share).mean() for share in np.linspace(0.01, 0.99, 99)}
    assert abs(weight - min(losses, key=losses.get)) < 0.02
    assert -mixed(first, second, weight).mean() <= min(losses.values()) + 1e-6
    assert fitted_weight(second, first) == pytest.approx(1 - weight, abs=1e-3)
