"""Training settings for constituency parsing (Vaswani et al. 2017, Section 6.3). Plain data.

The data are folders that `attention-zoo treebank` writes: sentences as sources, linear trees as targets.
"""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.seq2seq.small_recipes import adam

# Section 5.3 and 5.4, which every recipe of the paper has: Adam, its rate, smoothed labels and no clipping.
AS_THE_PAPER_TRAINS: dict[str, Any] = {
    "max_tokens_per_batch": 25_000,
    "noam_schedule": True,
    "adam_beta1": 0.9,
    "adam_beta2": 0.98,
    "adam_epsilon": 1e-9,
    "weight_decay": 0.0,
    "max_grad_norm": 0.0,
    "label_smoothing_factor": 0.1,
    "label_smoothing_distribution": "other_classes",
    "save_strategy": "steps",
    "logging_steps": 100,
}


def _tokenizer(pieces: int, symbols: int) -> dict[str, Any]:
    return {
        "kind": "subword",
        "vocab_size": pieces,
        "target_kind": "symbols",
        "target_vocab_size": symbols,
        "shared": False,
    }


_TWO_TABLES = {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}

PARSING_RECIPES: dict[str, dict[str, Any]] = {
    # The paper gives layers, width, vocabulary and search, and leaves the rest as in translation. Dropout, warm-up,
    # the halved rate and untied tables are those of the authors' code, which has them under the name of parsing.
    "paper-parsing": {
        "description": "the paper's parser: 4 layers of 1,024, 16,000 pieces, beam 21; rates and dropout of the "
        "authors' code, updates as many as in translation (the paper does not say)",
        "config": {
            "hidden_size": 1024,
            "num_hidden_layers": 4,
            "dropout": 0.2,
            "attention_dropout": 0.2,
            **_TWO_TABLES,
        },
        "tokenizer": _tokenizer(16_000, 1000),
        "generation": {"num_beams": 21, "gnmt_length_penalty": 0.3, "max_length_beyond_source": 300},
        "training": {
            **AS_THE_PAPER_TRAINS,
            "learning_rate": 0.5,
            "warmup_steps": 16_000,
            "max_steps": 100_000,
            "eval_strategy": "steps",
            "eval_steps": 1500,
            "save_steps": 1500,
            "save_total_limit": 5,
            "average_last_checkpoints": 5,
            "predict_with_generate": False,
        },
    },
    "parsing": {
        "description": "a small parser for one machine and a small treebank",
        "config": {
            "hidden_size": 128,
            "intermediate_size": 512,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "dropout": 0.2,
            **_TWO_TABLES,
        },
        "tokenizer": _tokenizer(3000, 400),
        "generation": {"num_beams": 4, "gnmt_length_penalty": 0.3},
        "data": {"max_target_length": 250},
        "training": {
            **adam(2e-3, max_tokens=2000, epochs=12, logging_steps=50),
            "warmup_steps": 200,
            "adam_beta2": 0.98,
            "adam_epsilon": 1e-9,
            "metric_for_best_model": "loss",
            "predict_with_generate": False,
        },
    },
}
