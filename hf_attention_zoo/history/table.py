"""The table of claims, in the order of the lineage."""

from __future__ import annotations

import importlib

from hf_attention_zoo.history.claim import Claim
from hf_attention_zoo.near_names import did_you_mean

# number -> module in `claims/`, which has a `CLAIM`
CLAIMS: dict[str, str] = {
    "A1": "a1_fixed_vector",
    "A2": "a2_reversed_source",
    "A3": "a3_depth",
    "A4": "a4_gating",
    "B1": "b1_scaled_scores",
    "B2": "b2_scores_feeding",
    "B3": "b3_alignments",
    "B4": "b4_doubly_stochastic",
    "B5": "b5_hard_soft",
    "B6": "b6_different_hops",
    "B7": "b7_pooling",
    "B8": "b8_weight_in_context",
    "C1": "c1_sequential_steps",
    "C2": "c2_no_positions",
    "C3": "c3_mask",
    "C4": "c4_residual_norm",
    "C5": "c5_warmup",
    "C6": "c6_heads",
    "C7": "c7_positions",
    "C8": "c8_label_smoothing",
    "C9": "c9_averaging_dropout",
    "C10": "c10_length_penalty",
    "C11": "c11_tying",
    "D1": "d1_both_directions",
    "D2": "d2_masking_mix",
    "D3": "d3_next_sentence",
    "D4": "d4_size",
    "D5": "d5_layer_mixing",
    "D6": "d6_last_four_layers",
    "D7": "d7_pretraining_transfers",
    "D8": "d8_slower_but_higher",
    "E1": "e1_neural_and_counted",
    "E2": "e2_direct_connections",
    "E3": "e3_negative_samples",
    "E4": "e4_word_bigrams",
    "E5": "e5_long_lags",
}


def load_claim(number: str) -> Claim:
    """The claim of this number. Raises ValueError, with those that there are, for one that is unknown."""
    if number not in CLAIMS:
        raise ValueError(f"no claim {number!r}{did_you_mean(number, CLAIMS)}; there are {', '.join(CLAIMS)}")
    claim = importlib.import_module(f"hf_attention_zoo.history.claims.{CLAIMS[number]}").CLAIM
    assert isinstance(claim, Claim)
    return claim
