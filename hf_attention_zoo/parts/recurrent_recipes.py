"""How recurrent networks of one text learn to predict or to label it: what their recipes share. Plain data."""

from __future__ import annotations

from typing import Any

_DESCENT: dict[str, Any] = {
    "lr_scheduler_type": "linear",
    "warmup_steps": 0.05,
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
    "per_device_train_batch_size": 32,
    "logging_steps": 50,
}

_TRAINING: dict[str, Any] = {
    **_DESCENT,
    "learning_rate": 4e-3,
    "per_device_eval_batch_size": 32,
    "save_strategy": "steps",
    "save_total_limit": 2,
}

# Plain descent at one rate, one example after the other, as both papers have it.
PAPER_TRAINING: dict[str, Any] = {
    **_TRAINING,
    "learning_rate": 0.1,
    "optim": "sgd",
    "lr_scheduler_type": "constant",
    "per_device_train_batch_size": 1,
    "num_train_epochs": 6,
    "save_steps": 10_000,
}

# A recipe for one machine, without its description and sizes.
SMALL: dict[str, Any] = {
    "tokenizer": {"vocab_size": 6000, "kind": "subword"},
    "data": {"length": 65},
    "training": {**_TRAINING, "max_steps": 1500, "eval_strategy": "steps", "eval_steps": 500, "save_steps": 250},
}

# The same for minutes, on descriptions of software packages.
QUICKSTART: dict[str, Any] = {
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
        "learning_rate": 1e-2,
        "max_steps": 900,
        "eval_strategy": "steps",
        "eval_steps": 450,
        "save_steps": 450,
    },
}

# With labels, ten passes.
LABEL_TRAINING: dict[str, Any] = {
    **_DESCENT,
    "learning_rate": 2e-3,
    "per_device_eval_batch_size": 64,
    "num_train_epochs": 10,
    "save_strategy": "epoch",
    "save_total_limit": 1,
}

# The same on one machine: the pass with the best accuracy is kept.
SMALL_LABEL_TRAINING: dict[str, Any] = {
    **LABEL_TRAINING,
    "train_sampling_strategy": "group_by_length",
    "eval_strategy": "epoch",
    "load_best_model_at_end": True,
    "metric_for_best_model": "accuracy",
}
