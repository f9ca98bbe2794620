"""The n-gram baseline: probabilities that sum to one, Kneser-Ney's numbers by hand, what it learns."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from hf_attention_zoo.metrics.ngram_perplexity import NGramModel, _discounts

TEXTS = [np.array(row) for row in ([1, 2, 3, 1, 2, 4, 1, 2], [3, 1, 2, 3, 3], [4, 0, 1, 1, 2, 0, 3, 1, 2, 4], [2])]
VOCABULARY = 6


def by_loops(texts: list[np.ndarray], order: int, context: tuple[int, ...], token: int) -> float:
    """The definition with dictionaries: counts, or different left neighbours below the highest order."""
    grams: list[Counter] = [Counter() for _ in range(order + 1)]
    left: list[defaultdict] = [defaultdict(set) for _ in range(order + 1)]
    for text in texts:
        for n in range(1, order + 1):
            for place in range(n - 1, len(text)):
                gram = tuple(text[place - n + 1 : place + 1].tolist())
                grams[n][gram] += 1
                if place >= n:
                    left[n][gram].add(int(text[place - n]))
    for n in range(1, order):
        grams[n] = Counter({gram: max(1, len(left[n][gram])) for gram in grams[n]})
    probability = 1 / VOCABULARY
    for n in range(1, order + 1):
        history = context[len(context) - n + 1 :] if n > 1 else ()
        if len(history) < n - 1:
            break
        discount = _discounts(np.array(list(grams[n].values())))
        here = {gram: count for gram, count in grams[n].items() if gram[:-1] == history}
        if not here:
            break
        total = sum(here.values())
        count = here.get((*history, token), 0)
        rest = sum(discount[min(each, 3)] for each in here.values())
        probability = (count - discount[min(count, 3)] + rest * probability) / total
    return probability


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_equal_the_definition_and_sum_to_one(order: int) -> None:
    model = NGramModel(TEXTS, VOCABULARY, order)
    for context in ((), (1,), (1, 2), (5, 5), (3, 1, 2), (4, 1, 2), (0, 3, 1)):
        rows = [model.log_probabilities(np.array([*context, token]))[-1] for token in range(VOCABULARY)]
        expected = [by_loops(TEXTS, order, context, token) for token in range(VOCABULARY)]
        np.testing.assert_allclose(np.exp(rows), expected, rtol=1e-12)
        assert np.exp(rows).sum() == pytest.approx(1.0)


def test_longer_contexts_help_where_they_tell() -> None:
    random = np.random.default_rng(0)
    words = [[1, 2, 3], [1, 4, 5], [2, 6, 1]]
    texts = [np.concatenate([words[i] for i in random.integers(0, 3, 40)]) for _ in range(30)]
    found = [NGramModel(texts[:25], 8, order).perplexity(texts[25:]) for order in (1, 2, 3)]
    assert found[0] > found[1] > found[2]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="order=0"):
        NGramModel(TEXTS, VOCABULARY, 0)
    with pytest.raises(ValueError, match="vocabulary of 3"):
        NGramModel(TEXTS, 3)
    with pytest.raises(ValueError, match="at least one token"):
        NGramModel([], 3)
