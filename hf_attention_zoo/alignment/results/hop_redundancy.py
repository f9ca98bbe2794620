"""How much the hops of structured self-attention repeat one another, as numbers.

The penalty of Lin et al. (2017, Eq. 8) pushes the rows of A apart, but it also pushes every row towards a single
token. The two measures here look at what the rows have in common alone. Shapes: R hops, S tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hf_attention_zoo.alignment.results.hop_attention import align_hops


@dataclass(frozen=True)
class HopRedundancy:
    """Measures of one text, or their means over many.

    Attributes:
        overlap: mean over all pairs of hops of sum_s min(a_is, a_js): 1 if all hops are the same distribution, 0 if
            no two share a token.
        effective_hops: the number of different hops, from 1 (all the same) to R (no two share a token): the
            exponential of the entropy of the eigenvalues of the cosines between the rows of A, as shares.
        penalty: ||A A^T - I||_F^2.
        texts: how many texts the means are taken over.
    """

    overlap: float
    effective_hops: float
    penalty: float
    texts: int = 1


def hop_redundancy(weights: np.ndarray) -> HopRedundancy:
    """The measures of one text; pads may be left in, with weights of zero.

    Args:
        weights: A, (R, S), rows sum to 1.

    Raises:
        ValueError: no matrix, or a row without any weight (a text without tokens).
    """
    rows = np.asarray(weights, dtype=np.float64)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all() or (rows.sum(1) <= 0).any():
        raise ValueError(f"weights of shape {rows.shape} are wanted as (hops, tokens), each row summing to 1")
    hops = len(rows)
    first, second = np.triu_indices(hops, 1)
    # a hop is not compared with itself; a single one overlaps with none
    overlap = np.minimum(rows[first], rows[second]).sum(1).mean() if hops > 1 else 0.0
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    shares = np.linalg.eigvalsh(unit @ unit.T).clip(min=0) / hops
    shares = shares[shares > 1e-12]
    return HopRedundancy(
        overlap=float(overlap),
        effective_hops=float(np.exp(-(shares * np.log(shares)).sum())),
        penalty=float(np.square(rows @ rows.T - np.eye(hops)).sum()),
    )


def measure_redundancy(model: Any, tokenizer: Any, texts: Sequence[Any], **options: Any) -> HopRedundancy:
    """The means over texts; both texts of a pair count, texts without tokens do not.

    Args:
        texts, options: as for `align_hops`.

    Raises:
        ValueError: no text has a token.
    """
    made = [
        hop_redundancy(one.weights)
        for attention in align_hops(model, tokenizer, texts, **options)
        for one in attention.texts
        if one.spans
    ]
    if not made:
        raise ValueError("no text has a token, so there are no hops to compare")
    means = {
        name: float(np.mean([getattr(one, name) for one in made])) for name in ("overlap", "effective_hops", "penalty")
    }
    return HopRedundancy(**means, texts=len(made))
