"""How BERT is pre-trained: the paper's settings and smaller ones, for `attention-zoo pretrain`. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.bert2018.facts_bert2018 import LARGE_CONFIG
from hf_attention_zoo.parts.text_recipes import SMALL_CONFIG

# Appendix A.2 and the authors' code: Adam without the correction of its averages, decay of all weights but norms and
# biases, a linear warm-up and a linear fall.
_TRAINING: dict[str, Any] = {
    "optimizer": "bert_adam",
    "release_schedule": "bert_linear",
    "learning_rate": 1e-4,
    "warmup_steps": 10_000,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-6,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "per_device_train_batch_size": 256,
    "max_steps": 1_000_000,
    "save_strategy": "steps",
    "save_steps": 10_000,
    "save_total_limit": 2,
    "logging_steps": 100,
}
_PAPER: dict[str, Any] = {
    "tokenizer": {"vocab_size": 30_522, "lowercase": True},
    "data": {"length": 128, "second_length": 512, "second_share": 0.1},
    "training": _TRAINING,
}

PRETRAINING_RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "BERT base: a million batches of 256, of 128 tokens for the first nine tenths and 512 after",
        "config": {},
        **_PAPER,
    },
    "paper-large": {"description": "BERT large, otherwise as the base model", "config": LARGE_CONFIG, **_PAPER},
    "small": {
        "description": "for one machine: 4 layers of 192, 8,000 pieces, 64 then 128 tokens",
        "config": SMALL_CONFIG,
        "tokenizer": {"vocab_size": 8000, "lowercase": True},
        "data": {"length": 64, "second_length": 128, "second_share": 0.1},
        "training": {
            **_TRAINING,
            "learning_rate": 1e-3,
            "warmup_steps": 0.1,
            "per_device_train_batch_size": 32,
            "per_device_eval_batch_size": 32,
            "max_steps": 10_000,
            "eval_strategy": "steps",
            "eval_steps": 1000,
            "save_steps": 1000,
        },
    },
    "quickstart-text": {
        "description": "one layer of 96 on descriptions of software, hidden words alone, minutes on two cores",
        "config": {
            **SMALL_CONFIG,
            "hidden_size": 96,
            "num_hidden_layers": 1,
            "intermediate_size": 192,
            "initializer_range": 0.1,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        },
        "tokenizer": {"vocab_size": 2000, "lowercase": True},
        "objective": {"next_sentence": False},
        "data": {
            "dataset": "lm_debian",
            "length": 32,
            "max_train_documents": 5000,
            "max_eval_documents": 100,
            "tokenizer_documents": 3000,
        },
        "training": {
            **_TRAINING,
            "learning_rate": 2e-3,
            "warmup_steps": 0.1,
            "per_device_train_batch_size": 24,
            "per_device_eval_batch_size": 32,
            "max_steps": 4000,
            "eval_strategy": "steps",
            "eval_steps": 2000,
            "save_steps": 2000,
        },
    },
}
