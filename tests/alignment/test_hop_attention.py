"""The hops of a classified text: values, drawings, pages, JSON, and the redundancy of hops."""

import re
import unicodedata
from html import unescape
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch

from hf_attention_zoo import HopAttention, TextTokenizer, align, get_architecture
from hf_attention_zoo.alignment.results.hop_attention import AttendedText
from hf_attention_zoo.alignment.results.hop_redundancy import hop_redundancy, measure_redundancy

TEXTS = ["A white dog, runs & <b>barks</b>.", "dog", "흰 개가 달린다", ""]


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.train([*TEXTS, "the cat"] * 2, vocab_size=48)


def build(pairs: bool = False) -> torch.nn.Module:
    torch.manual_seed(0)
    row = get_architecture("self_attentive")
    names = {0: "bad", 1: "fair", 2: "<good>"}
    config = row.config_class(**{**row.tiny_config().to_diff_dict(), "sentence_pairs": pairs, "id2label": names})
    model = row.model_classes["AutoModelForSequenceClassification"](config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model.train()


def test_weights_are_those_of_the_model_without_dropout_and_the_label_is_the_best(tokenizer: TextTokenizer) -> None:
    model = build()
    aligned = align(model, tokenizer, TEXTS, batch_size=3)
    assert model.training and len(aligned) == 4
    model.eval()
    for text, one in zip(TEXTS, aligned, strict=True):
        with torch.no_grad():
            made = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
        scores = dict(zip(("bad", "fair", "<good>"), made.logits.softmax(-1)[0].tolist(), strict=True))
        assert one.scores == pytest.approx(scores) and one.label == max(scores, key=scores.get)
        assert "".join(one.tokens) == text.replace(" ", "") and one.texts[0].text == text
        if text:
            np.testing.assert_allclose(one.weights, made.attentions[0][0, :, 0], rtol=0, atol=1e-6)
            assert one.summed.sum() == pytest.approx(1, abs=1e-6)
            np.testing.assert_allclose(one.summed, one.weights.mean(0))
            assert one.texts[0].top_words(1)[0][1] == one.summed.max()
    assert aligned[3].weights.shape == (4, 0)


def test_pairs_have_two_texts_and_come_as_tuples_or_as_pipelines_take_them(tokenizer: TextTokenizer) -> None:
    model = build(pairs=True)
    given = [(TEXTS[0], TEXTS[2]), ("", "dog")]
    aligned = align(model, tokenizer, given)
    again = align(model, tokenizer, [{"text": first, "text_pair": second} for first, second in given], batch_size=1)
    for one, same, pair in zip(aligned, again, given, strict=True):
        assert tuple(text.text for text in one.texts) == pair and one.label == same.label
        for first, second in zip(one.texts, same.texts, strict=True):
            np.testing.assert_allclose(first.weights, second.weights, rtol=0, atol=1e-6)
    assert align(model, tokenizer, given[0])[0] == aligned[0]
    assert aligned[0].texts[1].tokens == ("흰", "개가", "달린다")


def test_the_embedding_model_alone_has_hops_and_no_label(tokenizer: TextTokenizer) -> None:
    (one,) = align(build().base_model, tokenizer, "a dog")
    assert one.label == "" and one.scores == {} and one.weights.shape == (4, 2)
    assert "zoo-hops" in one.to_html() and one.plot() is not None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([3], "3 is no text"),
        ([["a", "b"]], "is no text; give strings, tuples"),
        ({"text": "a", "other": "b"}, "is no text"),
        ([("a", 3)], "second text is 3"),
        (("a", "b"), "made for single texts"),
    ],
)
def test_what_is_neither_text_nor_pair_is_refused(tokenizer: TextTokenizer, wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        align(build(), tokenizer, wrong)


def test_a_page_holds_the_text_as_written_escaped_and_nothing_from_elsewhere(
    tokenizer: TextTokenizer, tmp_path: Path
) -> None:
    (one,) = align(build(), tokenizer, TEXTS[0])
    page = one.to_html(tmp_path / "a" / "page.html")
    assert (tmp_path / "a" / "page.html").read_text(encoding="utf-8") == page
    assert one._repr_html_() in page
    page = one._repr_html_()
    assert "<b>barks" not in page and not re.search(r"<script|https?:|src=|href=", page)
    shown = re.findall(r"<div class='text'>(.*?)</div>", page)
    assert len(shown) == 1 + 4  # all hops together, then each
    assert {unescape(re.sub(r"<[^>]*>", "", line)) for line in shown} == {TEXTS[0]}
    weights = [float(found) for found in re.findall(r"title='([\d.]+)'", shown[0])]
    np.testing.assert_allclose(weights, one.summed, atol=5e-5)


def test_a_picture_has_words_and_a_heat_map_of_the_hops(tokenizer: TextTokenizer, tmp_path: Path) -> None:
    settings = dict(matplotlib.rcParams)
    first, second = align(build(pairs=True), tokenizer, [(TEXTS[0], TEXTS[2]), ("dog", "")])
    figure = first.plot(tmp_path / "pair.png")
    assert (tmp_path / "pair.png").read_bytes().startswith(b"\x89PNG")
    maps = [axes for axes in figure.axes if axes.images]
    assert [axes.images[0].get_array().shape for axes in maps] == [(4, len(text.spans)) for text in first.texts]
    assert [label.get_text() for label in maps[1].get_xticklabels()] == ["흰", "개가", "달린다"]
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[1:] == [token for text in first.texts for token in text.tokens]
    assert not first.plot(hops=False).axes[1:]
    assert len(second.plot().axes) == 2  # the empty text is left out
    with pytest.raises(ValueError, match="no text has a token"):
        align(build(), tokenizer, "")[0].plot()
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf"):
        first.plot("a.gif")
    assert dict(matplotlib.rcParams) == settings


def test_a_long_text_stays_within_the_largest_picture() -> None:
    text = " ".join(f"word{k}" for k in range(250))
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    weights = np.random.default_rng(0).dirichlet(np.ones(250), 30)
    size = HopAttention((AttendedText(text, spans, weights),)).plot(font_size=14).get_size_inches()
    assert size.max() <= 24.01


def test_json_gives_back_an_equal_value(tokenizer: TextTokenizer, tmp_path: Path) -> None:
    for one in align(build(pairs=True), tokenizer, [(TEXTS[0], TEXTS[2]), ("", "")]):
        assert HopAttention.from_json(one.to_json(tmp_path / "a.json")) == one
        assert HopAttention.from_json(tmp_path / "a.json") == one
    for wrong in ("{", "{}", '{"texts": [{}]}'):
        with pytest.raises(ValueError, match="not the JSON of a text's hops"):
            HopAttention.from_json(wrong)


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights of shape \(1, 1\) for 2 tokens"):
        AttendedText("a b", [(0, 1), (2, 3)], [[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        AttendedText("a", [(0, 1)], [[float("nan")]])
    for spans in ([(2, 3), (0, 1)], [(0, 1), (2, 9)]):
        with pytest.raises(ValueError, match="do not follow one another"):
            AttendedText("a b", spans, [[0.5, 0.5]])


def test_decomposed_texts_are_shown_composed(tokenizer: TextTokenizer) -> None:
    (one,) = align(build(), tokenizer, unicodedata.normalize("NFD", "흰 개가"))
    assert one.texts[0].text == "흰 개가" and one.tokens == ("흰", "개가")


def test_redundancy_is_largest_for_equal_hops_and_least_for_separate_ones() -> None:
    same = hop_redundancy(np.tile([[0.5, 0.3, 0.2, 0.0]], (3, 1)))
    assert same.overlap == pytest.approx(1) and same.effective_hops == pytest.approx(1)
    apart = hop_redundancy(np.eye(4)[:3])
    assert apart.overlap == 0 and apart.effective_hops == pytest.approx(3) and apart.penalty == 0
    half = hop_redundancy(np.array([[0.5, 0.5, 0], [0, 0.5, 0.5]]))
    assert half.overlap == pytest.approx(0.5) and 1 < half.effective_hops < 2
    assert hop_redundancy(np.array([[0.5, 0.5]])).overlap == 0
    with pytest.raises(ValueError, match="each row summing to 1"):
        hop_redundancy(np.zeros((2, 3)))


def test_redundancy_of_a_model_is_the_mean_over_texts_with_tokens(tokenizer: TextTokenizer) -> None:
    model = build()
    measured = measure_redundancy(model, tokenizer, TEXTS)
    single = [hop_redundancy(one.weights) for one in align(model, tokenizer, TEXTS[:3])]
    assert measured.texts == 3
    assert measured.overlap == pytest.approx(np.mean([one.overlap for one in single]))
    assert measured.effective_hops == pytest.approx(np.mean([one.effective_hops for one in single]))
    with pytest.raises(ValueError, match="no text has a token"):
        measure_redundancy(model, tokenizer, [""])
