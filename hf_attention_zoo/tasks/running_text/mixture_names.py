"""What a language model may be mixed with, and how mixtures are called; nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INTERPOLATED = "interpolated-3-gram"
MIXED_WITH = (*(f"{tokens}-gram" for tokens in range(1, 5)), INTERPOLATED)
FITTED = "fitted"
N_GRAMS = {
    **{f"{tokens}-gram": f"Kneser-Ney, {tokens} token{'s' if tokens > 1 else ''}" for tokens in range(1, 5)},
    INTERPOLATED: "interpolated, 3 tokens",
}


def mixture_name(mixture: Mapping[str, Any]) -> str:
    """An entry of `mixtures` in metrics.json, as a table calls it."""
    where = f", fitted on {mixture['fitted_on']}" if mixture.get("fitted_on") else ""
    return f"mixed with {N_GRAMS[mixture['with']]} (share {mixture['weight']:.2g}{where})"
