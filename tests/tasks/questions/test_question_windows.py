"""Windows on contexts: every token once, characters to the letter, answers found again."""

import unicodedata
from typing import Any

import numpy as np
import pytest
from transformers import BertTokenizer

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.questions.examples import answer_positions, question_windows
from hf_attention_zoo.tasks.questions.span_search import best_spans, null_probability

CONTEXT = "Łódź is a city.  In 1820 it had 767 inhabitants; 서울은 한국의 수도이다, and naïve cafés stayed—open."
QUESTION = "How many inhabitants had Łódź in 1820?"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    texts = [CONTEXT, QUESTION] * 3
    return get_architecture("bert2018").tokenizer_class.train(texts, vocab_size=150, lowercase=False)


def test_windows_move_on_by_the_stride_and_cover_the_context(tokenizer: Any) -> None:
    windows = question_windows(tokenizer, [QUESTION], [CONTEXT], max_length=24, stride=4)
    assert len(windows) > 2 and all(len(window.spans) <= 24 for window in windows)
    starts = [next(span[0] for span in window.spans if span) for window in windows]
    assert starts == sorted(set(starts))
    best = [
        span
        for window in windows
        for span, chosen in zip(window.spans, window.best_context, strict=True)
        if span and chosen
    ]
    whole = question_windows(tokenizer, [QUESTION], [CONTEXT], max_length=400, stride=8)
    assert len(whole) == 1
    assert sorted(best) == [span for span in whole[0].spans if span]  # each token counts in one window


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("answer", ["767", "서울은", "Łódź", "cafés", "naïve", "open"])
def test_answers_are_found_again_to_the_character(tokenizer: Any, form: str, answer: str) -> None:
    context, answer = unicodedata.normalize(form, CONTEXT), unicodedata.normalize(form, answer)
    start = context.index(answer)
    found = set()
    for window in question_windows(tokenizer, [QUESTION], [context], max_length=24, stride=4):
        first, last = answer_positions(window, start, start + len(answer))
        if first:
            found.add(context[window.spans[first][0] : window.spans[last][1]])
    assert found == {answer}


WORDS = ("नमस्ते", "q̣̇", "\N{NO-BREAK SPACE}café", "हिन्दी", "Łódź", " a b", "x\u200b", "😀\ufe0f")


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_no_character_of_an_answer_is_lost_and_no_window_with_all_of_it_misses_it(form: str, lowercase: bool) -> None:
    words = [unicodedata.normalize(form, word) for word in WORDS]
    train = get_architecture("bert2018").tokenizer_class.train
    tokenizer = train([" ".join(words), QUESTION] * 3, vocab_size=150, lowercase=lowercase)
    rng, found = np.random.default_rng(0), 0
    for _ in range(30):
        order = [words[place] for place in rng.permutation(len(words))]
        context = " ".join(order)
        whole = question_windows(tokenizer, ["who ?"], [context], max_length=200, stride=9)[0]
        windows = question_windows(tokenizer, ["who ?"], [context], max_length=14, stride=3)
        for number, answer in enumerate(order):
            start = sum(map(len, order[:number])) + number
            first, last = answer_positions(whole, start, start + len(answer))
            assert context[whole.spans[first][0] : whole.spans[last][1]] == answer.strip().removesuffix("\u200b")
            tokens = whole.spans[first : last + 1]
            for window in windows:
                first, last = answer_positions(window, start, start + len(answer))
                if set(tokens) <= set(window.spans):
                    assert window.spans[first : last + 1] == tokens
                    found += 1
                else:
                    assert (first, last) == (0, 0)
    assert found > 200


def test_tokenizers_of_others_find_decomposed_answers_too() -> None:
    words = dict.fromkeys(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "?", "서울은", "수도이다", "cafés", "."]
    )
    tokenizer = BertTokenizer(
        vocab={word: number for number, word in enumerate(words)}, do_lower_case=False, strip_accents=False
    )
    context = unicodedata.normalize("NFD", "서울은 수도이다 cafés.")
    (window,) = question_windows(
        tokenizer, [unicodedata.normalize("NFD", "who é?")], [context], max_length=40, stride=8
    )
    assert [context[slice(*span)] for span in window.spans if span] == [*context[:-1].split(), "."]
    short = question_windows(tokenizer, [context * 3], ["who"], max_length=40, stride=8, max_question_tokens=2)
    assert short[0].columns["input_ids"][1:3] == [7, 8]


def test_the_best_span_obeys_the_rules(tokenizer: Any) -> None:
    (window,) = question_windows(tokenizer, [QUESTION], [CONTEXT], max_length=400, stride=8)
    count = len(window.spans)
    inside = [place for place, span in enumerate(window.spans) if span]
    start, end = np.full(count, -5.0), np.full(count, -5.0)
    start[1] = end[1] = 50.0  # in the question
    start[inside[10]], end[inside[5]] = 9.0, 9.0  # ends before it starts
    end[inside[12]], end[inside[-1]] = 4.0, 8.0  # the last one is too far
    start[0] = end[0] = 1.0
    spans, null = best_spans([window], [start], [end], max_answer_tokens=5)
    assert (spans[0].start, spans[0].end) == (window.spans[inside[10]][0], window.spans[inside[12]][1])
    assert spans[0].logit == 13.0 and null == 2.0
    assert 0 < null_probability(spans, null) < spans[0].probability < 1


def test_a_long_question_is_cut_and_empty_texts_are_refused(tokenizer: Any) -> None:
    windows = question_windows(
        tokenizer, [QUESTION * 20], [CONTEXT], max_length=100, stride=30, max_question_tokens=16
    )
    assert all(window.spans[18] is not None for window in windows)
    with pytest.raises(ValueError, match="context 0 is"):
        question_windows(tokenizer, ["a"], [" "], max_length=100, stride=30)
    with pytest.raises(ValueError, match="have no room for a context"):
        question_windows(tokenizer, [QUESTION], [CONTEXT], max_length=6, stride=3)
