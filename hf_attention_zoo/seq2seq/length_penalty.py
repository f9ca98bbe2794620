"""The length penalty of GNMT (Wu et al. 2016, Eq. 14): score = log P / ((5 + |Y|) / 6) ** alpha."""

from __future__ import annotations


class GNMTLengthPenalty(float):
    """An exponent alpha that transformers' beam search applies as GNMT does.

    The search divides by `length ** length_penalty`; with this class that expression is ((5 + length) / 6) ** alpha.
    Lengths count the end symbol. Alpha 0 gives un-normalised search.
    """

    def __rpow__(self, length: int) -> float:  # type: ignore[override]  # float's own also knows complex results
        return ((5.0 + length) / 6.0) ** float(self)
