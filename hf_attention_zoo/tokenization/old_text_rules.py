"""How GPT's authors cut text into words before byte pairs (Radford et al. 2018; their text_utils.py).

Two packages did most of it: ftfy mends broken characters, spaCy's English rules cut words (`don't` into `do` and
`n't`, a full stop from the last word). ftfy is small and is installed with this package; spaCy is large, and its rules
are kept in `english_rules.py`. `plain_words` cuts at white space and at the authors' list of marks, and at any other
mark that stands at the end of a word. The two give different ids, so that a tokenizer remembers which of them it was
trained with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hf_attention_zoo.tokenization.english_words import english_words

UNIFIED = {"—": "-", "–": "-", "―": "-", "…": "...", "´": "'"}
# Runs of one of these marks stand alone. The authors list the backslash, too, but in a pattern that is no raw string,
# in which it becomes a second plus sign (`text_standardize` in their `text_utils.py`): it stays in its word.
RUNS = r"-+|~+|!+|\"+|;+|\?+|\++|,+|\)+|\(+|/+|\*+|\[+|\]+|\}+|\{+|\|+|_+"
_RUN = re.compile(f"({RUNS})")
_LINE_END = re.compile(r"\s*\n\s*")
_SPACES = re.compile(r"[^\S\n]+")
_END_MARKS = re.compile(r"(?<=\w)([.:'’”»%…]+)(?=\s|$)|(?<!\S)(['‘“«$£€#@&:.]+)(?=\w)")


def standardised(text: str) -> str:
    """One kind of dash, dots and apostrophe; runs of marks between spaces; a line end as a word of its own."""
    for old, new in UNIFIED.items():
        text = text.replace(old, new)
    text = _RUN.sub(r" \1 ", text)
    text = _LINE_END.sub(" \n ", text)
    return _SPACES.sub(" ", text).strip()


def original_words(text: str) -> list[str]:
    """Lower-cased words as the authors had them, by ftfy and spaCy's rules."""
    import ftfy

    return [word.lower() for word in english_words(standardised(ftfy.fix_text(text)))]


def plain_words(text: str) -> list[str]:
    """Lower-cased words by this module's rules alone."""
    spaced = _END_MARKS.sub(lambda found: f" {found[0]} ", standardised(text))
    return [word for word in re.split(r"[^\S\n]+|(\n)", spaced.lower()) if word]


def piece_spans(pieces: Iterable[tuple[str, bool]], text: str) -> list[list[tuple[int, int]]]:
    """For each character of each piece the character of the text that it was made from, as (first, behind it).

    Args:
        pieces: words that these rules made of the text, and (with True) symbols that stand in it as they are written.

    Raises:
        ValueError: the text has other characters than its words, which ftfy may have mended.
    """
    found: list[list[tuple[int, int]]] = []
    place, left = 0, ""  # what the character before `place` became and no word has had yet
    for piece, is_symbol in pieces:
        spans: list[tuple[int, int]] = []
        if is_symbol or piece == "\n":
            place, left = max(text.find(piece, place), place), ""
            spans = [(place + letter, place + letter + 1) for letter in range(len(piece))]
            place += len(piece)
        else:
            for letter in piece:
                while not left and place < len(text):
                    left = "" if text[place].isspace() else UNIFIED.get(text[place], text[place]).lower()
                    place += 1
                if left[:1] != letter and (left[:1], letter) != ("σ", "ς"):  # a capital sigma that ends a word
                    raise ValueError(
                        f"the characters of {text!r:.60} were mended before it was cut into words, so that offsets "
                        "are not known; leave out return_offsets_mapping, or mend the text before (ftfy.fix_text)"
                    )
                left = left[1:]
                spans.append((place - 1, place))
        found.append(spans)
    return found
