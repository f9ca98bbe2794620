"""How word2vec learns from raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

_ADAGRAD: dict[str, Any] = {
    "optim": "adagrad",
    "learning_rate": 0.1,
    "lr_scheduler_type": "linear",
    "weight_decay": 0.0,
    "max_grad_norm": 0.0,
    "loss_scale": "batch_sum",
    "per_device_train_batch_size": 64,
    "per_device_eval_batch_size": 16,
    "save_strategy": "steps",
    "save_total_limit": 2,
    "logging_steps": 50,
}

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "skip-gram with 5 words of noise for each pair and frequent words left out at 1e-5, plain "
        "descent whose rate falls in a line, a stretch of text at a time. The authors run several threads on one "
        "table without locks, and update after each pair",
        "config": {"sparse_gradients": True},
        "tokenizer": {"vocab_size": 10_000_000, "min_frequency": 5, "lowercase": False},
        "objective": {"noise": "own", "subsampling": 1e-5},
        "data": {"length": 64},
        "training": {
            **_ADAGRAD,
            "optim": "sgd",
            "learning_rate": 0.025,
            "per_device_train_batch_size": 1,
            "num_train_epochs": 1,
            "save_steps": 100_000,
        },
    },
    "small": {
        "description": "for one machine: vectors of 100, words seen five times, batches of 8,000 words with noise "
        "that the words of a stretch share, Adagrad as in arXiv 1301.3781",
        "config": {"embedding_size": 100},
        "tokenizer": {"vocab_size": 20_000, "min_frequency": 5},
        "objective": {"subsampling": 1e-4},
        "data": {"length": 128},
        "training": {
            **_ADAGRAD,
            "num_train_epochs": 20,
            "eval_strategy": "steps",
            "eval_steps": 1000,
            "save_steps": 1000,
        },
    },
    "quickstart-text": {
        "description": "the same of fewer words on descriptions of software, a minute on two cores",
        "config": {"embedding_size": 64},
        "tokenizer": {"vocab_size": 12_000, "min_frequency": 5},
        "objective": {"subsampling": 1e-4},
        "data": {"dataset": "lm_debian", "length": 128, "max_eval_documents": 60},
        "training": {
            **_ADAGRAD,
            "max_steps": 1200,
            "eval_strategy": "steps",
            "eval_steps": 600,
            "save_steps": 600,
        },
    },
}
