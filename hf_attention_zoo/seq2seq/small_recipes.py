"""Training settings that every translation model shares on small machines and small data. Plain data."""

from __future__ import annotations

from typing import Any


def adam(learning_rate: float, max_tokens: int, epochs: int, logging_steps: int) -> dict[str, Any]:
    """Token batches, Adam falling linearly, smoothed labels, the best epoch kept, for small machines and data."""
    return {
        "max_tokens_per_batch": max_tokens,
        "learning_rate": learning_rate,
        "lr_scheduler_type": "linear",
        "weight_decay": 0.0,
        "label_smoothing_factor": 0.1,
        "max_grad_norm": 1.0,
        "per_device_eval_batch_size": 64,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "bleu",
        "num_train_epochs": epochs,
        "logging_steps": logging_steps,
    }


def pieces(size: int) -> dict[str, Any]:
    """Separate vocabularies of so many pieces a side."""
    return {"kind": "subword", "vocab_size": size, "target_vocab_size": size, "shared": False}


def small_recipes(
    small: dict[str, Any],
    quick: dict[str, Any],
    generation: dict[str, Any] | None = None,
    quick_epochs: tuple[int, int] = (20, 10),
    quick_tokens: int = 900,
) -> dict[str, dict[str, Any]]:
    """The recipes "small", "quickstart-names" and "quickstart-short-pairs".

    Args:
        small, quick: config fields for the first and for the other two.
        generation: fields of the saved generation config; a search with five beams if not given.
        quick_epochs: epochs of the two quick starts.
        quick_tokens: tokens of a batch there.
    """
    generation = {"num_beams": 5} if generation is None else generation
    names, pairs = quick_epochs
    return {
        "small": {
            "description": "a small model for one machine: 4,000 pieces a side, token batches, Adam, smoothed labels",
            "config": small,
            "tokenizer": pieces(4000),
            "generation": generation,
            "data": {"max_source_length": 100, "max_target_length": 100},
            "training": adam(2e-3, 2000, 15, 50),
        },
        "quickstart-names": {
            "description": "emoji names, two minutes on two cores",
            "config": quick,
            "tokenizer": pieces(1500),
            "generation": generation,
            "data": {"dataset": "translation_emoji_names", "source_lang": "ko", "target_lang": "en"},
            "training": adam(3e-3, quick_tokens, names, 20),
        },
        "quickstart-short-pairs": {
            "description": "pairs of at most 10 words, longer than the names: --sample translation_de_en",
            "config": quick,
            "tokenizer": pieces(3000),
            "generation": generation,
            "data": {"dataset": "translation_de_en", "source_lang": "de", "target_lang": "en", "max_words": 10},
            "training": adam(3e-3, quick_tokens, pairs, 20),
        },
    }
