"""The pages in a real browser: no error on the console, and every control does what it says.

Needs Chromium with its driver (Debian: chromium, chromium-driver) and selenium.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attended_results import EVIL, MADE

from hf_attention_zoo import DocumentAttention
from hf_attention_zoo.alignment.results.lineage import follow

pytestmark = pytest.mark.slow
selenium = pytest.importorskip("selenium")
CARDS = Path(__file__).parents[2] / "model_cards"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1300,1400"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no Chromium with its driver")
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with Chrome(options=options, service=Service(driver)) as made:
        yield made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "lineage.html"
    follow("Klicken Sie auf OK.", sorted(CARDS.glob("*-de-en"))).to_html(file, language="en")
    return file.as_uri()


def find(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)


def test_stepping_choosing_and_hovering(browser: Any, page: str) -> None:
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.support.ui import Select

    browser.get(page)
    assert len(find(browser, ".stop")) == 5
    rnnsearch = next(one for one in find(browser, ".stop") if "RNNsearch" in one.text)

    def now() -> str:
        return rnnsearch.find_element("css selector", ".tokens li.now").text

    first = now()
    find(browser, "#zoo-next")[0].click()
    assert now() != first and "2 of" in find(browser, ".bar")[0].text
    find(browser, "#zoo-previous")[0].click()
    assert now() == first
    find(browser, "body")[0].send_keys(Keys.ARROW_RIGHT)
    assert now() != first
    sources = rnnsearch.find_elements("css selector", ".tokens")[0].find_elements("css selector", "li")
    assert any("rgba" in one.get_attribute("style") for one in sources)

    cell = rnnsearch.find_elements("css selector", "td[aria-label]")[1]
    ActionChains(browser).move_to_element(cell).perform()
    told = rnnsearch.find_elements("css selector", ".value")[-1]
    assert told.text == cell.get_attribute("aria-label")
    cell = rnnsearch.find_element("css selector", "td[tabindex='0']")
    cell.send_keys(Keys.ARROW_DOWN)
    focused = browser.switch_to.active_element
    assert focused.tag_name == "td" and focused != cell and told.text == focused.get_attribute("aria-label")

    transformer = next(one for one in find(browser, ".stop") if "Transformer" in one.text)
    kind, layer, head = (Select(one) for one in transformer.find_elements("css selector", "select"))
    before = transformer.find_element("css selector", "table.matrix").get_attribute("innerHTML")
    head.select_by_index(1)
    assert transformer.find_element("css selector", "table.matrix").get_attribute("innerHTML") != before
    layer.select_by_index(0)
    kind.select_by_value("encoder")
    rows = transformer.find_elements("css selector", "tbody th")
    assert [row.text for row in rows][:2] == ["Klicken", "Sie"]
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_theme_and_language(browser: Any, page: str, tmp_path: Path) -> None:
    browser.get(page)
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(colour)
    find(browser, "#zoo-theme")[0].click()
    assert browser.execute_script(colour) != light
    find(browser, "#zoo-language")[0].click()
    assert "한 문장이 지나온 길" in find(browser, "h1")[0].text
    assert browser.execute_script("return document.documentElement.lang") == "ko"
    browser.save_screenshot(str(tmp_path / "dark.png"))
    assert (tmp_path / "dark.png").stat().st_size > 20_000
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def contrast(one: str, other: str) -> float:
    """Of two colours as browsers write them, rgb(r, g, b), by the formula of WCAG 2."""

    def light(colour: str) -> float:
        shares = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_words_can_be_read_on_every_colour(browser: Any, tmp_path: Path) -> None:
    weights = np.linspace(0.0, 1.0, 21)
    words = tuple(f"w{number}" for number in range(len(weights)))
    DocumentAttention((words,), (weights,), np.ones(1), {"a": 1.0}, "a").to_html(tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    for _ in ("light", "dark"):
        behind = browser.execute_script("return getComputedStyle(document.querySelector('.stop')).backgroundColor")
        for word in find(browser, ".sentence > span > span"):
            shown = word.value_of_css_property("background-color")
            share = float(re.findall(r"[\d.]+", shown)[3])
            mixed = [
                round(share * int(over) + (1 - share) * int(under))
                for over, under in zip(re.findall(r"\d+", shown)[:3], re.findall(r"\d+", behind)[:3], strict=True)
            ]
            ink = word.value_of_css_property("color")
            assert contrast(ink, f"rgb{tuple(mixed)}") >= 3.8, (word.text, ink, mixed)
        find(browser, "#zoo-theme")[0].click()


def test_pages_of_other_results(browser: Any, tmp_path: Path) -> None:
    for name, make in MADE.items():
        file = tmp_path / f"{name}.html"
        make().to_html(file)
        browser.get(file.as_uri())
        text = find(browser, "#zoo-root")[0].text
        assert EVIL in text or name == "picture", name
        assert ("Translation" in text) == (name == "translation") and ("What it looks at" in text) == (name == "heads")
        assert [one.text for one in find(browser, "h2")] == []  # the title stands once
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
