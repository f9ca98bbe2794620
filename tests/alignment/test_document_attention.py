"""Documents with the weights of their sentences and words: values, JSON, page, picture, and their call."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
import torch

import hf_attention_zoo
from hf_attention_zoo import DocumentAttention, HANConfig, HANForSequenceClassification, HierarchicalTokenizer
from hf_attention_zoo.alignment.results.document_attention import align_documents

TEXTS = ["It was <b>good</b> & cheap. Really good!", "", "이 영화는 좋았다. $5 정말? 네.", "Bad."]


@pytest.fixture(scope="module")
def classifier(tiny_han: Callable[..., Any]) -> tuple[HANForSequenceClassification, HierarchicalTokenizer]:
    return tiny_han(TEXTS, seed=1, num_labels=3)


@pytest.fixture
def document() -> DocumentAttention:
    return DocumentAttention(
        sentences=(("Good", "<i>"), ("Korean", "영화", "$x$")),
        word_weights=(np.array([0.75, 0.25]), np.array([0.2, 0.5, 0.3])),
        sentence_weights=np.array([0.64, 0.36]),
        scores={"pos": 0.9, "n&g": 0.1},
        label="pos",
    )


def test_each_document_comes_with_the_models_own_weights(classifier: tuple) -> None:
    model, tokenizer = classifier
    model.train()
    made = hf_attention_zoo.align(model, tokenizer, TEXTS, batch_size=2)
    assert model.training
    model.eval()
    assert [len(one.sentences) for one in made] == [2, 0, 3, 1]
    assert made[0].sentences[0] == ("It", "was", "<", "b", ">", "good", "<", "/", "b", ">", "&", "cheap", ".")
    for text, one in zip(TEXTS, made, strict=True):
        with torch.no_grad():
            alone = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
        wanted = alone.logits.softmax(-1)[0].tolist()
        assert list(one.scores.values()) == pytest.approx(wanted, abs=1e-6)
        assert one.label == model.config.id2label[int(np.argmax(wanted))]
        for line, weights in enumerate(one.word_weights):
            assert weights.sum() == pytest.approx(1, abs=1e-6)
            np.testing.assert_allclose(weights, alone.attentions[0][0, line, : len(weights)], atol=1e-6)
        np.testing.assert_allclose(one.sentence_weights, alone.attentions[1][0, : len(one.sentences)], atol=1e-6)


def test_the_tokenizers_padding_side_changes_no_weight(classifier: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    right = align_documents(*classifier, TEXTS)
    monkeypatch.setattr(classifier[1], "padding_side", "left")
    left = align_documents(*classifier, TEXTS)
    assert all(weights.sum() == pytest.approx(1, abs=1e-6) for one in left for weights in one.word_weights)
    for one, other in zip(left, right, strict=True):
        assert one.sentences == other.sentences
        np.testing.assert_allclose(one.sentence_weights, other.sentence_weights, atol=1e-6)
        np.testing.assert_allclose(
            np.concatenate([[], *one.word_weights]), np.concatenate([[], *other.word_weights]), atol=1e-6
        )


@pytest.mark.parametrize("problem_type", ["regression", "multi_label_classification"])
def test_numbers_and_several_labels_are_shown_as_the_model_means_them(
    tiny_han: Callable[..., Any], problem_type: str
) -> None:
    model, tokenizer = tiny_han(TEXTS, seed=2, num_labels=2, problem_type=problem_type)
    (one,) = hf_attention_zoo.align(model, tokenizer, TEXTS[:1])
    with torch.no_grad():
        logits = model(**tokenizer(TEXTS[0], return_tensors="pt")).logits[0]
    wanted = logits if problem_type == "regression" else logits.sigmoid()
    assert list(one.scores.values()) == pytest.approx(wanted.tolist(), abs=1e-6)


def test_one_text_known_sentences_and_limits_are_taken(classifier: tuple) -> None:
    assert align_documents(*classifier, TEXTS[0]) == align_documents(*classifier, TEXTS[:1])
    (known,) = align_documents(*classifier, [["Really good!", "Bad."]], max_words=2)
    assert known.sentences == (("Really", "good"), ("Bad", "."))
    (bare,) = align_documents(classifier[0].model, classifier[1], TEXTS[:1])
    (whole,) = align_documents(*classifier, TEXTS[:1])
    assert (bare.label, bare.scores) == ("", {}) and np.array_equal(bare.sentence_weights, whole.sentence_weights)
    bare.plot()
    with pytest.raises(ValueError, match="batch_size=0"):
        align_documents(*classifier, TEXTS, batch_size=0)


def test_a_model_without_weights_is_refused(classifier: tuple) -> None:
    config = HANConfig(vocab_size=60, embedding_size=4, hidden_size=4, attention_size=4, pooling="max")
    with pytest.raises(ValueError, match="gives no weights"):
        hf_attention_zoo.align(HANForSequenceClassification(config), classifier[1], TEXTS)


def test_strengths_and_shares_are_those_of_the_paper(document: DocumentAttention) -> None:
    first, second = document.word_strengths()
    np.testing.assert_allclose(first, [0.8 * 0.75, 0.8 * 0.25], rtol=1e-6)
    np.testing.assert_allclose(second, 0.6 * np.array([0.2, 0.5, 0.3]), rtol=1e-6)
    (best, share), *rest = document.top_words(5)
    assert best == "Good" and share == pytest.approx(0.48) and len(rest) == 4
    assert sum(share for _, share in document.top_words(9)) == pytest.approx(1)


def test_json_gives_the_same_document_back(document: DocumentAttention, tmp_path: Path) -> None:
    file = tmp_path / "a" / "document.json"
    text = document.to_json(file)
    assert DocumentAttention.from_json(text) == DocumentAttention.from_json(file) == document
    for wrong in ("{", "{}", '{"label": "a"}'):
        with pytest.raises(ValueError, match="not the JSON of a document's attention"):
            DocumentAttention.from_json(wrong)


class Page(HTMLParser):
    """The words of a page, and every tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.inside = ("class", "word") in attrs

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.words.append(data)
        self.inside = False


def test_the_page_shows_every_word_escaped_and_loads_nothing(document: DocumentAttention, tmp_path: Path) -> None:
    page = document.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    page = document._repr_html_()
    read = Page(page)
    assert read.words == ["Good", "<i>", "Korean", "영화", "$x$"]
    assert not {"script", "img", "link", "i"} & set(read.tags) and "http" not in page
    assert "rgba(40,110,240,1.000)" in page and "rgba(230,30,30,1.000)" in page and "title='0.7500'" in page
    assert page in document.to_html() and "n&amp;g 0.100" in page


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_picture_is_written(document: DocumentAttention, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / "new" / f"document{suffix}"
    document.plot(file)
    assert file.stat().st_size > 1000
    if suffix == ".png":
        pixels = matplotlib.image.imread(file)[..., :3]
        red = (pixels[..., 0] > 0.8) & (pixels[..., 1:] < 0.2).all(-1)
        blue = (pixels[..., 2] > 0.9) & (pixels[..., 0] < 0.2)
        assert red.sum() > 500 and blue.sum() > 200


def test_long_sentences_are_broken_and_long_documents_shrink() -> None:
    words = tuple("word" for _ in range(400))
    even = np.full(400, 1 / 400)
    long = DocumentAttention((words,) * 12, (even,) * 12, np.full(12, 1 / 12), {"a": 1.0}, "a")
    figure = long.plot()
    assert figure.get_size_inches()[1] <= 24.01
    placed = [text.get_position() for text in figure.axes[0].texts if text.get_text() == "word"]
    assert len(placed) == 4_800 and max(x for x, _ in placed) < 9.0


def test_documents_without_words_and_other_suffixes_are_refused(document: DocumentAttention) -> None:
    empty = DocumentAttention((), (), np.zeros(0), {"a": 1.0}, "a")
    with pytest.raises(ValueError, match="nothing to draw"):
        empty.plot()
    assert "without words" in empty.to_html()
    with pytest.raises(ValueError, match="suffix must be one of"):
        document.plot("picture.bmp")
    with pytest.raises(ValueError, match="must be positive"):
        document.plot(font_size=0)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"sentence_weights": [1.0]}, "1 sentence weights"),
        ({"word_weights": ([1.0], [0.2, 0.5, 0.3])}, r"shapes \[\(1,\), \(3,\)\]"),
        ({"sentence_weights": [float("nan"), 1.0]}, "NaN or infinity"),
    ],
)
def test_weights_that_do_not_fit_are_refused(document: DocumentAttention, changes: dict, message: str) -> None:
    fields = ("sentences", "word_weights", "sentence_weights", "scores", "label")
    with pytest.raises(ValueError, match=message):
        DocumentAttention(**{**{name: getattr(document, name) for name in fields}, **changes})
