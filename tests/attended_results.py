"""A small result of each kind that a page shows, with a text that tries to leave its place."""

from collections.abc import Callable

import numpy as np

from hf_attention_zoo import Alignment, DocumentAttention, HopAttention, PictureAttention
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment
from hf_attention_zoo.alignment.results.hop_attention import AttendedText

EVIL = "</script><script>alert('&')</script><!--"


def an_alignment() -> Alignment:
    return Alignment((EVIL, "고양이"), ("cat",), np.array([[0.25, 0.75]]), EVIL, "cat")


def heads() -> HeadAlignment:
    return HeadAlignment((EVIL, "b"), ("x", "y"), np.full((2, 2, 2), 0.5), kind="encoder", layer=1)


def document() -> DocumentAttention:
    return DocumentAttention(((EVIL, "b"),), (np.array([0.25, 0.75]),), np.ones(1), {EVIL: 1.0}, EVIL)


def hops() -> HopAttention:
    text = AttendedText(EVIL, ((0, len(EVIL)),), np.ones((2, 1)))
    return HopAttention((text,))


def picture() -> PictureAttention:
    return PictureAttention((EVIL,), np.full((1, 2, 2), 0.25), None, np.zeros((8, 8, 3), dtype=np.uint8))


MADE: dict[str, Callable[[], object]] = {
    "translation": an_alignment,
    "heads": heads,
    "document": document,
    "hops": hops,
    "picture": picture,
}
