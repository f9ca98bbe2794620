"""How an LSTM learns from raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.lstm1997.facts_lstm1997 import SMALL_CONFIG

_TRAINING: dict[str, Any] = {
    "learning_rate": 4e-3,
    "lr_scheduler_type": "linear",
    "warmup_steps": 0.05,
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
    "per_device_train_batch_size": 32,
    "per_device_eval_batch_size": 32,
    "save_strategy": "steps",
    "save_total_limit": 2,
    "logging_steps": 50,
}

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "blocks of 1997 and their truncated gradient, one example after the other, plain descent",
        "config": {},
        "tokenizer": {"vocab_size": 7, "lowercase": True},
        "data": {"length": 64},
        "training": {
            **_TRAINING,
            "learning_rate": 0.1,
            "optim": "sgd",
            "lr_scheduler_type": "constant",
            "per_device_train_batch_size": 1,
            "num_train_epochs": 6,
            "save_steps": 10_000,
        },
    },
    "small": {
        "description": "for one machine: one layer of 128 cells with forget gates, 6,000 pieces, the whole gradient",
        "config": SMALL_CONFIG,
        "tokenizer": {"vocab_size": 6000, "kind": "subword"},
        "data": {"length": 65},
        "training": {
            **_TRAINING,
            "max_steps": 1500,
            "eval_strategy": "steps",
            "eval_steps": 500,
            "save_steps": 250,
        },
    },
    "quickstart-text": {
        "description": "128 cells with forget gates on descriptions of software, minutes on two cores",
        "config": {**SMALL_CONFIG, "embedding_size": 64},
        "tokenizer": {"vocab_size": 2000, "kind": "subword"},
        "data": {
            "dataset": "lm_debian",
            "length": 64,
            "max_train_documents": 10_000,
            "max_eval_documents": 100,
            "tokenizer_documents": 3000,
        },
        "training": {
            **_TRAINING,
            "max_steps": 900,
            "eval_strategy": "steps",
            "eval_steps": 450,
            "save_steps": 450,
        },
    },
}
