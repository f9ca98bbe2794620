"""Sizes and training settings that BERT and GPT share: the papers' fine-tuning, and small machines. Plain data."""

from __future__ import annotations

from typing import Any

SMALL_CONFIG: dict[str, Any] = {
    "hidden_size": 192,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 768,
    "max_position_embeddings": 256,
}

# Three epochs, batches of 32 and decay of the weights by 0.01, in both papers.
FINE_TUNING: dict[str, Any] = {
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "num_train_epochs": 3,
    "per_device_train_batch_size": 32,
    "save_strategy": "epoch",
    "save_total_limit": 1,
    "logging_steps": 50,
}

# What is changed of it for small models: four epochs, of which the best is kept.
SMALL_FINE_TUNING: dict[str, Any] = {
    "learning_rate": 2e-4,
    "num_train_epochs": 4,
    "per_device_train_batch_size": 16,
    "per_device_eval_batch_size": 64,
    "eval_strategy": "epoch",
    "load_best_model_at_end": True,
    "metric_for_best_model": "accuracy",
}
