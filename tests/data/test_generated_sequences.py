"""Generated sequences are what the papers say that they are."""

import numpy as np
import pytest

from hf_attention_zoo.data import generated_sequences as generated


def test_every_third_bit_is_the_exclusive_or_of_the_two_before_it() -> None:
    bits = generated.exclusive_or(500, np.random.default_rng(1)).reshape(-1, 3)
    assert np.array_equal(bits[:, 0] ^ bits[:, 1], bits[:, 2])
    assert len(np.unique(bits, axis=0)) == 4


def test_consonants_say_which_vowels_follow() -> None:
    text = generated.letters(300, np.random.default_rng(1))
    assert text.replace("guuu", "").replace("dii", "").replace("ba", "") == ""
    bits = generated.letter_bits(text)
    assert bits.shape == (len(text), 6) and np.array_equal(bits[:, 0], 1 - bits[:, 1])
    assert len({tuple(row) for row in bits.tolist()}) == 6
    with pytest.raises(ValueError, match="'x' has no bits"):
        generated.letter_bits("bax")


def test_sentences_are_of_the_papers_29_words_and_their_likelihoods_sum_to_one() -> None:
    sentences = generated.simple_sentences(3000, np.random.default_rng(1))
    words = sorted({word for sentence in sentences for word in sentence})
    assert len(words) == 29 and {len(sentence) for sentence in sentences} == {2, 3}
    found = generated.next_word_likelihoods(sentences, words)
    assert all(abs(one.sum() - 1) < 1e-12 for one in found.values())
    after_eating = found["woman", "eat"]
    assert {words[place] for place in after_eating.nonzero()[0]} == set(generated.WORD_CLASSES["food"])


@pytest.mark.parametrize("lag", [10, 100])
def test_the_sum_of_two_marked_numbers_is_asked_for(lag: int) -> None:
    inputs, targets = generated.adding_problem(200, lag, np.random.default_rng(1))
    assert inputs.shape == (200, lag + lag // 10, 2) and np.abs(inputs[..., 0]).max() <= 1
    for (values, marks), target in zip(inputs.transpose(0, 2, 1), targets, strict=True):
        begun = int((marks == -1).argmax())
        assert (marks[:begun] == 0).all() and marks[-1] == -1 and lag <= len(marks) - begun
        assert (marks == 1).sum() in (1, 2) and (marks == -1).sum() == 2
        assert target == pytest.approx(0.5 + values[marks == 1].sum() / 4, abs=1e-6)
        assert not (marks[begun + (len(marks) - begun) // 2 : -1] == 1).any()
    with pytest.raises(ValueError, match="lag=3"):
        generated.adding_problem(1, 3, np.random.default_rng(1))
