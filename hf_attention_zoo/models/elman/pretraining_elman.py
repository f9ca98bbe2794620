"""How the simple recurrent network learns from raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.elman.facts_elman import SMALL_CONFIG

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
        "description": "one stream, word after word, each error through one step alone, six passes",
        "config": {"stateful": True},
        "objective": {"batching": "contiguous"},
        "tokenizer": {"vocab_size": 31, "lowercase": True},
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
        "description": "for one machine: vectors and hidden units of 128, 6,000 pieces, errors through one step alone",
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
        "description": "64 hidden units on descriptions of software, errors through one step; minutes on two cores",
        "config": {"embedding_size": 64, "hidden_size": 128},
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
