"""No empty boxes: each label gets a font that has its glyphs, or is spelled with glyphs that there are."""

import sys
import warnings
from pathlib import Path

import matplotlib
import pytest
from hypothesis import given, strategies
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from hf_attention_zoo.alignment.drawing.fonts import DrawableLabel, drawable_labels, installed_font_files, romanised

DEJAVU = str(font_manager.findfont("DejaVu Sans"))


def covers(label: DrawableLabel) -> bool:
    return {ord(char) for char in label.text} <= set(FT2Font(label.font_file).get_charmap())


def test_latin_labels_need_nothing_but_the_default_font() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = drawable_labels(["Haus", "größer", "élève", "</s>"])
    assert labels == [DrawableLabel(text, DEJAVU) for text in ("Haus", "größer", "élève", "</s>")]


def test_without_a_korean_font_labels_are_romanised_and_one_warning_says_what_to_install() -> None:
    with pytest.warns(UserWarning, match="Hangul .*koreanize-matplotlib") as caught:
        labels = drawable_labels(["무지개", "우산", "a"], [DEJAVU])
    assert len(caught) == 1
    assert [label.text for label in labels] == ["mujigae", "usan", "a"]
    assert all(map(covers, labels))


def test_characters_without_a_font_and_a_romanisation_become_code_points() -> None:
    with pytest.warns(UserWarning, match=r"Cjk \(中\)"):
        (label,) = drawable_labels(["中a"], [DEJAVU])
    assert label.text == "U+4E2D a" and covers(label)


def test_loose_jamo_and_accents_are_composed_before_the_glyphs_are_looked_up() -> None:
    with pytest.warns(UserWarning, match="Hangul"):
        jamo, accent = drawable_labels(["\u1112\u1161\u11ab", "u\u0308"], [DEJAVU])
    assert (jamo.text, accent.text) == ("han", "ü")


def test_line_breaks_and_invisible_characters_are_not_drawn() -> None:
    assert [label.text for label in drawable_labels(["a\nb", "\u200bc", "d\t"], [DEJAVU])] == ["a b", "c", "d "]


@pytest.mark.parametrize(
    ("korean", "latin"), [("한국어", "hangukeo"), ("여자", "yeoja"), ("값", "kap".replace("k", "g", 1)), ("ab", "ab")]
)
def test_romanisation_is_letter_by_letter(korean: str, latin: str) -> None:
    assert romanised(korean) == latin


def test_a_file_that_is_no_font_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    assert drawable_labels(["a"], [str(broken), DEJAVU]) == [DrawableLabel("a", DEJAVU)]
    with pytest.raises(ValueError, match="no font file"):
        drawable_labels(["a"], [])


def test_a_font_from_an_installed_package_is_found_without_importing_it() -> None:
    pytest.importorskip("importlib.util")
    from importlib.util import find_spec

    if find_spec("koreanize_matplotlib") is None:
        pytest.skip("koreanize-matplotlib is not installed")
    families = list(matplotlib.rcParams["font.family"])
    labels = drawable_labels(["무지개", "rainbow"])
    assert [label.text for label in labels] == ["무지개", "rainbow"] and all(map(covers, labels))
    assert "koreanize_matplotlib" not in sys.modules
    assert list(matplotlib.rcParams["font.family"]) == families


def test_every_candidate_is_a_file_and_the_default_comes_first() -> None:
    files = installed_font_files()
    assert files[0] == DEJAVU and all(Path(file).is_file() for file in files)


@pytest.mark.filterwarnings("ignore:No installed font")
@given(strategies.text())
def test_no_text_whatever_is_drawn_with_a_missing_glyph(sample: str) -> None:
    (label,) = drawable_labels([sample], [DEJAVU])
    assert covers(label)
