"""How the simple recurrent network learns from raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.elman.facts_elman import SMALL_CONFIG
from hf_attention_zoo.parts.recurrent_recipes import PAPER_TRAINING, QUICKSTART, SMALL

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "one stream, word after word, each error through one step alone, six passes",
        "config": {"stateful": True},
        "objective": {"batching": "contiguous"},
        "tokenizer": {"vocab_size": 31, "lowercase": True},
        "data": {"length": 64},
        "training": PAPER_TRAINING,
    },
    "small": {
        "description": "for one machine: vectors and hidden units of 128, 6,000 pieces, errors through one step alone",
        "config": SMALL_CONFIG,
        **SMALL,
    },
    "quickstart-text": {
        "description": "64 hidden units on descriptions of software, errors through one step; minutes on two cores",
        "config": {"embedding_size": 64, "hidden_size": 128},
        **QUICKSTART,
    },
}
