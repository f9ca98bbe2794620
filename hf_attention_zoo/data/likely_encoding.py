"""What a text that is not UTF-8 probably is, and how it is made UTF-8."""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path

from hf_attention_zoo.data.unpacking import open_binary

_LOOKED_AT = 1 << 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
# Encodings of several bytes a sign, with the beginning of the Unicode names of the signs that their texts consist of.
_WIDE = (("CP949", ("HANGUL",)), ("SHIFT_JIS", ("HIRAGANA", "KATAKANA", "CJK")), ("GB18030", ("CJK",)))


def likely_encoding(data: bytes) -> str:
    """The likely encoding of bytes that are not UTF-8: by their mark, else the first in which they are text."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    # A sign of several bytes has most of its bytes above 127, a letter with an accent in one byte stands among others.
    high = re.findall(rb"[\x80-\xff]+", data)
    if 2 * sum(len(run) == 1 for run in high) > len(high):
        return "CP1252"
    for name, scripts in _WIDE:
        decoder = codecs.getincrementaldecoder(name)()  # the last sign may be cut
        try:
            signs = [sign for sign in decoder.decode(data) if sign.isalpha() and not sign.isascii()]
        except UnicodeDecodeError:
            continue
        if sum(unicodedata.name(sign, "").startswith(scripts) for sign in signs) > 0.9 * len(signs):
            return name
    return "CP1252"


def not_utf8(path: Path, error: UnicodeDecodeError) -> ValueError:
    """The error for a file that is not UTF-8: what it probably is, and the command that converts it."""
    with open_binary(path) as stream:
        name = likely_encoding(stream.read(_LOOKED_AT))
    return ValueError(
        f"{path} is not UTF-8 text but probably {name} ({error.reason} at byte {error.start}); convert it: "
        f"iconv -f {name} -t UTF-8 {path.name} > utf8-{path.name}"
    )
