"""How GPT's authors cut text into words before byte pairs (Radford et al. 2018; their text_utils.py).

Two packages did most of it: ftfy mends broken characters, spaCy's English rules cut words (`don't` into `do` and
`n't`, a full stop from the last word). Where they are not installed, `plain_words` cuts at white space and at the
authors' list of marks, and at any other mark that stands at the end of a word. The two give different ids, so that a
tokenizer remembers which of them it was trained with.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import Any

PACKAGES = ("ftfy", "spacy")
UNIFIED = {"—": "-", "–": "-", "―": "-", "…": "...", "´": "'"}
# Runs of one of these marks stand alone.
RUNS = r"-+|~+|!+|\"+|;+|\?+|\++|,+|\)+|\(+|\\+|/+|\*+|\[+|\]+|\}+|\{+|\|+|_+"
_RUN = re.compile(f"({RUNS})")
_LINE_END = re.compile(r"\s*\n\s*")
_SPACES = re.compile(r"[^\S\n]+")
_END_MARKS = re.compile(r"(?<=\w)([.:'’”»%…]+)(?=\s|$)|(?<!\S)(['‘“«$£€#@&:.]+)(?=\w)")


def missing_packages() -> list[str]:
    """Those of ftfy and spaCy that are not installed."""
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


def standardised(text: str) -> str:
    """One kind of dash, dots and apostrophe; runs of marks between spaces; a line end as a word of its own."""
    for old, new in UNIFIED.items():
        text = text.replace(old, new)
    text = _RUN.sub(r" \1 ", text)
    text = _LINE_END.sub(" \n ", text)
    return _SPACES.sub(" ", text).strip()


@cache
def _english() -> Any:
    import spacy

    return spacy.blank("en")


def original_words(text: str) -> list[str]:
    """Lower-cased words as the authors had them, by ftfy and spaCy."""
    import ftfy

    tokens = _english().tokenizer(standardised(ftfy.fix_text(text)))
    return [
        "\n" if token.is_space else token.text.lower() for token in tokens if not token.is_space or "\n" in token.text
    ]


def plain_words(text: str) -> list[str]:
    """Lower-cased words by this module's rules alone."""
    spaced = _END_MARKS.sub(lambda found: f" {found[0]} ", standardised(text))
    return [word for word in re.split(r"[^\S\n]+|(\n)", spaced.lower()) if word]
