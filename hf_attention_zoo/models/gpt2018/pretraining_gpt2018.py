"""How GPT is pre-trained: the paper's settings and smaller ones, for `attention-zoo pretrain`. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.parts.text_recipes import SMALL_CONFIG

# Section 4.1: Adam with decoupled decay of all weights but biases and gains, a rate that rises for 2,000 updates and
# falls along a cosine; 100 epochs of 64 stretches of 512 tokens. The paper names no clipping.
_TRAINING: dict[str, Any] = {
    "optimizer": "gpt_adam",
    "release_schedule": "gpt_cosine",
    "learning_rate": 2.5e-4,
    "warmup_steps": 2000,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "per_device_train_batch_size": 64,
    "num_train_epochs": 100,
    "save_strategy": "steps",
    "save_steps": 10_000,
    "save_total_limit": 2,
    "logging_steps": 100,
}

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "100 passes over the text in batches of 64 stretches of 512 tokens",
        "config": {},
        "tokenizer": {"vocab_size": 40_478},
        "data": {"length": 512, "text_documents": "file"},
        "training": _TRAINING,
    },
    "small": {
        "description": "for one machine: 4 layers of 192, 8,000 byte pairs, stretches of 128 tokens",
        "config": SMALL_CONFIG,
        "tokenizer": {"vocab_size": 8000},
        "data": {"length": 128},
        "training": {
            **_TRAINING,
            "learning_rate": 1e-3,
            "warmup_steps": 0.1,
            "per_device_train_batch_size": 16,
            "per_device_eval_batch_size": 16,
            "max_steps": 5000,
            "eval_strategy": "steps",
            "eval_steps": 1000,
            "save_steps": 1000,
        },
    },
    "quickstart-text": {
        "description": "two layers of 128 on descriptions of software packages, minutes on two cores",
        "config": {
            **SMALL_CONFIG,
            "hidden_size": 128,
            "num_hidden_layers": 2,
            "intermediate_size": 512,
            "initializer_range": 0.05,
            "embedding_dropout": 0.0,
            "attention_dropout": 0.0,
            "residual_dropout": 0.0,
        },
        "tokenizer": {"vocab_size": 2000},
        "data": {
            "dataset": "lm_debian",
            "length": 64,
            "max_train_documents": 10_000,
            "max_eval_documents": 100,
            "tokenizer_documents": 3000,
        },
        "training": {
            **_TRAINING,
            "learning_rate": 2e-3,
            "warmup_steps": 0.1,
            "per_device_train_batch_size": 16,
            "per_device_eval_batch_size": 16,
            "max_steps": 900,
            "eval_strategy": "steps",
            "eval_steps": 450,
            "save_steps": 450,
        },
    },
}
