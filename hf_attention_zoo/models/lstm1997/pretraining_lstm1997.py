"""How an LSTM learns from raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.lstm1997.facts_lstm1997 import SMALL_CONFIG
from hf_attention_zoo.parts.recurrent_recipes import PAPER_TRAINING, QUICKSTART, SMALL

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "blocks of 1997 and their truncated gradient, one example after the other, plain descent",
        "config": {},
        "tokenizer": {"vocab_size": 7, "lowercase": True},
        "data": {"length": 64},
        "training": PAPER_TRAINING,
    },
    "small": {
        "description": "for one machine: one layer of 128 cells with forget gates, 6,000 pieces, the whole gradient",
        "config": SMALL_CONFIG,
        **SMALL,
    },
    "quickstart-text": {
        "description": "128 cells with forget gates on descriptions of software, minutes on two cores",
        "config": {**SMALL_CONFIG, "embedding_size": 64},
        **QUICKSTART,
    },
}
