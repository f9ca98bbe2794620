"""Fonts that really have the glyphs of a label, found without changing matplotlib's settings.

A font file is judged by its character map, not by its name. For each label the first of these that covers every
character is used: matplotlib's own default (DejaVu Sans), the fonts that matplotlib knows of on this machine, and the
fonts inside the packages of `FONT_PACKAGES` (installed as ordinary Python packages, found without importing them).
Where no font has a character, the label is spelled with what can be drawn: Hangul is romanised, other characters
become their code points (`U+4E2D`). One warning then says which script is missing and what to install.
"""

import logging
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

logger = logging.getLogger(__name__)

# Python packages that carry fonts -> the scripts they are there for
FONT_PACKAGES = {"koreanize_matplotlib": "HANGUL", "matplotlib_fontja": "CJK"}

# what to install, by the script's name as Unicode spells it
_REMEDIES = {
    "HANGUL": "the Python package koreanize-matplotlib, or the system fonts fonts-nanum or fonts-noto-cjk",
    "CJK": "the system fonts fonts-noto-cjk",
    "HIRAGANA": "the Python package matplotlib-fontja, or the system fonts fonts-noto-cjk",
    "KATAKANA": "the Python package matplotlib-fontja, or the system fonts fonts-noto-cjk",
}
_DEFAULT_REMEDY = "a font with these characters (for example the system fonts fonts-noto-core)"

# families tried first among those that cover a label: plain sans serif faces that go well together
_PREFERRED = ("DejaVu Sans", "Noto Sans", "NanumGothic", "Nanum Gothic", "Malgun Gothic", "Apple SD Gothic Neo")

# Revised Romanisation, letter by letter: initials, vowels, finals in the order of the Unicode syllable formula;
# "." stands for a letter without sound
_ROMAN_INITIALS = "g kk n d tt r m b pp s ss . j jj ch k t p h"
_ROMAN_VOWELS = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i"
_ROMAN_FINALS = ". k k k n n n t l k m l l l p l m p p t t ng t t k t p t"


@dataclass(frozen=True)
class DrawableLabel:
    """A label as it will be drawn: its text (perhaps respelled) and the file of a font that has all its glyphs."""

    text: str
    font_file: str


def drawable_labels(labels: Sequence[str], font_files: Iterable[str] | None = None) -> list[DrawableLabel]:
    """Choose a font for each label so that no empty box is drawn.

    One font is used for all labels where one covers them all; else each label gets the first font that covers it.

    Args:
        labels: the texts; composed (NFC) before anything else, since fonts rarely have loose jamo or accents.
        font_files: candidate files in order of preference; by default everything found on this machine.

    Returns:
        One `DrawableLabel` per label, in order. A warning is given once if any had to be respelled.
    """
    candidates = list(installed_font_files() if font_files is None else font_files)
    if not candidates:
        raise ValueError("no font file given; an alignment cannot be drawn without one")
    texts = [_printable(label) for label in labels]
    common = _first_covering("".join(texts), candidates)
    if common is not None:
        return [DrawableLabel(text, common) for text in texts]
    missing: list[str] = []
    drawn = []
    for text in texts:
        font_file = _first_covering(text, candidates)
        if font_file is None:
            font_file = max(candidates, key=lambda file: len(set(text) & _glyphs(file)))
            missing += [char for char in text if char not in _glyphs(font_file)]
            text = "".join(char if char in _glyphs(font_file) else _respelled(char) for char in text)
            font_file = _first_covering(text, candidates) or font_file
        drawn.append(DrawableLabel(text, font_file))
    if missing:
        warnings.warn(_missing_message(missing), UserWarning, stacklevel=2)
    return drawn


@lru_cache(maxsize=1)
def installed_font_files() -> tuple[str, ...]:
    """Files of upright, regular fonts on this machine, in order of preference."""
    known = [
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal" and str(entry.weight) in ("400", "normal", "regular", "book", "500", "medium")
    ]
    bundled = [file for package in FONT_PACKAGES for file in _fonts_of_package(package)]
    # the font that ships with matplotlib itself is always there
    default = str(Path(font_manager.findfont("DejaVu Sans")))
    ranked = sorted(known, key=lambda entry: (_preference(entry.name), entry.name, str(entry.fname)))
    preferred = [str(entry.fname) for entry in ranked if _preference(entry.name) < len(_PREFERRED)]
    others = [str(entry.fname) for entry in ranked if _preference(entry.name) == len(_PREFERRED)]
    return tuple(dict.fromkeys([default, *preferred, *bundled, *others]))


def romanised(text: str) -> str:
    """Hangul syllables in Latin letters (Revised Romanisation without sound changes); the rest unchanged."""
    return "".join(_respelled(char) if "가" <= char <= "힣" else char for char in text)


def _preference(name: str) -> int:
    for rank, family in enumerate(_PREFERRED):
        if name == family or (rank and name.startswith(family)):
            return rank
    return len(_PREFERRED)


def _fonts_of_package(package: str) -> list[str]:
    """Regular fonts inside an installed package, without importing it (importing may change matplotlib's settings)."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    files = [file for folder in folders for suffix in ("ttf", "otf") for file in Path(folder).rglob(f"*.{suffix}")]
    styled = ("bold", "light", "italic", "thin", "black")
    return sorted(str(file) for file in files if not any(word in file.stem.lower() for word in styled))


@lru_cache(maxsize=256)
def _glyphs(font_file: str) -> frozenset[str]:
    """Characters in the font's character map; empty for a file that cannot be read as a scalable font."""
    try:
        font = FT2Font(font_file)
        codes = font.get_charmap() if font.scalable else {}
    except (OSError, RuntimeError) as error:
        logger.debug("font file %s is left out: %s", font_file, error)
        return frozenset()
    return frozenset(chr(code) for code in codes)


def _first_covering(text: str, font_files: Iterable[str]) -> str | None:
    wanted = set(text)
    return next((file for file in font_files if wanted <= _glyphs(file)), None)


def _printable(label: str) -> str:
    """Composed, with line breaks, tabs and invisible format characters turned into what a one-line label can show."""
    composed = unicodedata.normalize("NFC", label)
    shown = (" " if char.isspace() else char for char in composed)
    return "".join(char for char in shown if unicodedata.category(char) not in ("Cc", "Cf") and char != "\ufe0f")


def _respelled(char: str) -> str:
    index = ord(char) - ord("가")
    if 0 <= index < 11172:
        initial, rest = divmod(index, 21 * 28)
        vowel, final = divmod(rest, 28)
        letters = ((_ROMAN_INITIALS, initial), (_ROMAN_VOWELS, vowel), (_ROMAN_FINALS, final))
        return "".join(table.split()[number] for table, number in letters).replace(".", "")
    return f"U+{ord(char):04X} "


def _script(char: str) -> str:
    """First word of the character's Unicode name: HANGUL, CJK, ARABIC, ...; symbols have no script of their own."""
    if not char.isalpha():
        return "SYMBOL"
    return unicodedata.name(char, "UNKNOWN").split(" ")[0]


def _missing_message(characters: Iterable[str]) -> str:
    by_script: dict[str, list[str]] = {}
    for char in dict.fromkeys(characters):
        by_script.setdefault(_script(char), []).append(char)
    parts = []
    for script, chars in sorted(by_script.items()):
        sample = " ".join(chars[:5]) + (" ..." if len(chars) > 5 else "")
        parts.append(f"{script.capitalize()} ({sample}): install {_REMEDIES.get(script, _DEFAULT_REMEDY)}")
    return (
        "No installed font has some characters of the labels, so they are drawn romanised or as code points. "
        + "; ".join(parts)
        + ". Then start Python anew."
    )
