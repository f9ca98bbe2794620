"""The value class: checks, equality, JSON and HTML."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from hf_attention_zoo import Alignment


@pytest.fixture
def alignment() -> Alignment:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=4)
    return Alignment(["한국", "<b>&'\"", "</s>"], ["a", "b$", "ü", "</s>"], weights, "한국 <b>&'\"", "a b$ ü")


def test_json_round_trips_to_the_last_bit(alignment: Alignment, tmp_path: Path) -> None:
    text = alignment.to_json(tmp_path / "new" / "a.json")
    assert Alignment.from_json(text) == alignment
    assert Alignment.from_json(tmp_path / "new" / "a.json") == alignment
    assert Alignment.from_json(str(tmp_path / "new" / "a.json")).weights.dtype == np.float32
    assert "한국" in text


def test_alignments_differ_when_a_weight_or_a_token_does(alignment: Alignment) -> None:
    weights = alignment.weights.copy()
    weights[0, 0] += 1e-6
    texts = (alignment.source_text, alignment.target_text)
    assert Alignment(alignment.source_tokens, alignment.target_tokens, weights, *texts) != alignment
    assert Alignment(("x", "y", "z"), alignment.target_tokens, alignment.weights, *texts) != alignment
    assert alignment != "a string"


@pytest.mark.parametrize("text", ["{", "{}", '{"weights": []}', '{"a": 1}'])
def test_other_json_is_refused_and_says_what_is_missing(text: str) -> None:
    with pytest.raises(ValueError, match="not the JSON of an alignment"):
        Alignment.from_json(text)


@pytest.mark.parametrize(
    ("source", "target", "weights", "message"),
    [
        (["a"], ["b"], [[1, 0]], r"shape \(1, 2\)"),
        (["a", "b"], ["c"], [[1], [0]], "rows are target tokens"),
        (["a"], ["b"], [[float("nan")]], "NaN"),
        (["a"], ["b"], "no", "matrix of numbers"),
        ("ab", ["b"], [[1, 0]], "source_tokens"),
        (["a"], [1], [[1]], "target_tokens"),
    ],
)
def test_what_is_no_alignment_is_refused(source: object, target: object, weights: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Alignment(source, target, weights)


def test_the_weights_cannot_be_changed_from_outside(alignment: Alignment) -> None:
    given = np.ones((1, 1))
    copy = Alignment(["a"], ["b"], given)
    given[0, 0] = 5
    assert copy.weights[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        copy.weights[0, 0] = 2


def test_the_best_source_is_the_largest_weight() -> None:
    assert Alignment(["a", "b"], ["c", "d"], [[0.1, 0.9], [0.5, 0.5]]).best_sources() == [1, 0]


class Reader(HTMLParser):
    """Collects tags, texts and the hover text of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.hover: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.hover += [value for name, value in attrs if name == "data-pair"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_escapes_every_text_and_loads_nothing(alignment: Alignment, tmp_path: Path) -> None:
    page = alignment.to_html(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    reader = Reader()
    reader.feed(alignment._repr_html_())
    allowed = {"div", "style", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(reader.tags) <= allowed | {"span", "br", "small"}
    assert {*alignment.source_tokens, *alignment.target_tokens} <= set(reader.texts)
    assert not re.search(r"https?:|src=|@import|url\(", page.replace("panel.src", ""))


def test_hovering_shows_both_tokens_and_the_weight(alignment: Alignment) -> None:
    reader = Reader()
    reader.feed(alignment._repr_html_())
    assert len(reader.hover) == 12
    assert reader.hover[1] == f"a ← <b>&'\"  {alignment.weights[0, 1]:.3f}"


def test_a_notebook_gets_the_same_table_without_a_page_around_it(alignment: Alignment) -> None:
    fragment = alignment._repr_html_()
    assert fragment in alignment.to_html() and "<html" not in fragment
