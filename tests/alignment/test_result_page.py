"""The page of every result: its data are whole and cannot leave their place, and nothing is loaded from elsewhere."""

import json
import re

import numpy as np
import pytest
from attended_results import EVIL, MADE, an_alignment, heads

from hf_attention_zoo import Alignment


def data_of(page: str) -> dict:
    """The JSON that the page's script reads."""
    return json.loads(re.search(r"<script type='application/json' id='zoo-data'>(.*?)</script>", page)[1])


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_one_file_whose_texts_stay_texts(name: str) -> None:
    page = MADE[name]().to_html()
    assert page.count("<script") == 2 and page.count("</script>") == 2 and "alert('&')</script>" not in page
    assert EVIL in json.dumps(data_of(page), ensure_ascii=False)
    outside = re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"https?:|@import|url\(|(src|href)=(?!'data:)", outside)
    assert not re.search(r"https?:|import\(|fetch\(|XMLHttpRequest|eval\(|innerHTML", page)


def test_weights_come_with_four_digits() -> None:
    (stop,) = data_of(an_alignment().to_html())["stops"]
    assert stop["maps"][0]["weights"] == [[0.25, 0.75]] and stop["target"] == ["cat"]
    (stop,) = data_of(heads().to_html())["stops"]
    assert [(entry["layer"], entry["head"]) for entry in stop["maps"]] == [(1, 0), (1, 1)]


def test_a_text_that_looks_at_itself_is_no_translation() -> None:
    (translated,), (itself,) = data_of(an_alignment().to_html())["stops"], data_of(heads().to_html())["stops"]
    assert itself["itself"] and not translated["itself"]
    same = Alignment(("a", "b"), ("a", "b"), np.full((2, 2), 0.5), "a b", "a b")
    assert data_of(same.to_html())["stops"][0]["itself"]
