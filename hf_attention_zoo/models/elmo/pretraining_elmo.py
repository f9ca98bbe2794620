"""How ELMo's biLM is pre-trained on raw text: the paper's way, and one for one machine. Plain data."""

from __future__ import annotations

from typing import Any

SMALL_CONFIG: dict[str, Any] = {
    "character_embedding_size": 16,
    "filters": [[1, 32], [2, 32], [3, 64], [4, 128]],
    "num_highway_layers": 1,
    "projection_size": 64,
    "cell_size": 256,
    "num_negative_samples": 512,
    "dropout": 0.1,
}

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "the authors' script: streams of sentences cut every 20 tokens with the state carried, 384 "
        "rows (128 on each of three cards), Adagrad at 0.2, ten passes over the 1B Word Benchmark",
        "config": {},
        "tokenizer": {"vocab_size": 793_471, "splitting": "spaces"},
        "objective": {"batching": "contiguous"},
        "data": {"length": 20},
        "training": {
            "optimizer": "adagrad_bilm",
            "learning_rate": 0.2,
            "lr_scheduler_type": "constant",
            "weight_decay": 0.0,
            "max_grad_norm": 0.5,  # 10 for the loss times 20
            "per_device_train_batch_size": 384,
            "max_steps": 1_000_840,
            "save_strategy": "steps",
            "logging_steps": 100,
        },
    },
    "small": {
        "description": "for one machine: sentences in batches of one length, two layers of 256 cells and 64 states, "
        "Adam with a linear decay",
        "config": SMALL_CONFIG,
        "tokenizer": {"vocab_size": 15_000, "min_frequency": 2},
        "objective": {"batching": "bucketed"},
        "data": {"length": 60},
        "training": {
            "learning_rate": 4e-3,
            "lr_scheduler_type": "linear",
            "warmup_steps": 100,
            "weight_decay": 0.0,
            "max_grad_norm": 5.0,
            "per_device_train_batch_size": 64,
            "per_device_eval_batch_size": 64,
            "num_train_epochs": 3,
            "eval_strategy": "steps",
            "eval_steps": 1000,
            "save_strategy": "steps",
            "save_steps": 1000,
            "save_total_limit": 2,
            "logging_steps": 100,
        },
    },
    "quickstart-text": {
        "description": "two layers of 128 cells and 32 states on descriptions of software, minutes on two cores",
        "config": {**SMALL_CONFIG, "projection_size": 32, "cell_size": 128},
        "tokenizer": {"vocab_size": 8000, "min_frequency": 2},
        "objective": {"batching": "bucketed"},
        "data": {"dataset": "lm_debian", "length": 30, "max_train_documents": 10_000, "max_eval_documents": 100},
        "training": {
            "learning_rate": 4e-3,
            "lr_scheduler_type": "linear",
            "warmup_steps": 50,
            "weight_decay": 0.0,
            "max_grad_norm": 5.0,
            "per_device_train_batch_size": 32,
            "per_device_eval_batch_size": 64,
            "max_steps": 700,
            "eval_strategy": "steps",
            "eval_steps": 350,
            "save_strategy": "steps",
            "save_steps": 350,
            "save_total_limit": 2,
            "logging_steps": 50,
        },
    },
}
