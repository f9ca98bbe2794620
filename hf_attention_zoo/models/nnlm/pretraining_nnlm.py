"""How the neural language model learns from raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.nnlm.facts_nnlm import BEST_CONFIG
from hf_attention_zoo.parts.recurrent_recipes import PAPER_TRAINING, QUICKSTART, SMALL

SMALL_CONFIG: dict[str, Any] = {"embedding_size": 128, "hidden_size": 128, "direct_connections": False}

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "the best sizes of Table 1; one stream, ten passes, weight decay on all but the biases. 63 "
        "words an update and not one, with 63 times the rate and its decay, since the loss is their mean",
        "config": {**BEST_CONFIG, "stateful": True},
        "objective": {"batching": "contiguous"},
        "tokenizer": {"vocab_size": 16_383, "min_frequency": 4, "lowercase": False},
        "data": {"length": 64},
        "training": {
            **PAPER_TRAINING,
            "learning_rate": 63e-3,
            "learning_rate_decay": 63e-8,
            "weight_decay": 1e-4,
            "max_grad_norm": 0.0,
            "warmup_steps": 0,
            "num_train_epochs": 10,
        },
    },
    "small": {
        "description": "for one machine: the four pieces before, features and hidden units of 128, 6,000 pieces",
        "config": SMALL_CONFIG,
        **SMALL,
    },
    "quickstart-text": {
        "description": "the four pieces before, 64 features, on descriptions of software, a minute on two cores",
        "config": {"embedding_size": 64, "hidden_size": 128, "direct_connections": False},
        **QUICKSTART,
        "training": {**QUICKSTART["training"], "max_steps": 600, "eval_steps": 300, "save_steps": 300},
    },
}
