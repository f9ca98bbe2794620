"""Facts about ELMo for the registry: sizes, recipes, results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@inproceedings{peters2018deep,
  title     = {Deep contextualized word representations},
  author    = {Matthew E. Peters and Mark Neumann and Mohit Iyyer and Matt Gardner and Christopher Clark and
               Kenton Lee and Luke Zettlemoyer},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies, Volume 1 (Long Papers)},
  pages     = {2227--2237},
  year      = {2018},
  url       = {https://arxiv.org/abs/1802.05365}
}"""

# The config's defaults are the sizes of the authors' training script. The count is that of the biLM, as published
# (93.6M): characters 4,176, filters 199,168, highways 16,785,408, projection 1,049,088, four LSTMs 75,563,008. The
# softmax (793,471 words of 513 numbers) is not shipped with the weights; each output of a task adds a mix of 4.
PAPER_CONFIG: dict[str, Any] = {"num_mixes": 0}
PAPER_PARAMETERS = 93_600_848

# The smaller models that the authors released, with their counts.
RELEASED_CONFIGS: dict[str, tuple[dict[str, Any], int]] = {
    "2x1024_128": ({"cell_size": 1024, "projection_size": 128, "num_highway_layers": 1}, 13_593_296),
    "2x2048_256": ({"cell_size": 2048, "projection_size": 256, "num_highway_layers": 1}, 28_027_728),
}

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "character_embedding_size": 4,
    "filters": [[1, 4], [2, 8], [3, 8]],
    "projection_size": 6,
    "cell_size": 10,
    "num_highway_layers": 1,
    "num_negative_samples": 0,
    "num_labels": 3,
}

ADAPTER_TARGETS: tuple[str, ...] = ("carry", "transform", "projection")


def _results(table: str, rows: list[tuple[str, str, str, float]]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": metric, "system": system, "value": value, "source": table}
        for dataset, metric, system, value in rows
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_results(
        "Table 1",
        [
            ("SQuAD", "F1", "baseline", 81.1),
            ("SQuAD", "F1", "baseline with ELMo", 85.8),
            ("SNLI", "accuracy", "baseline", 88.0),
            ("SNLI", "accuracy", "baseline with ELMo", 88.7),
            ("OntoNotes semantic roles", "F1", "baseline", 81.4),
            ("OntoNotes semantic roles", "F1", "baseline with ELMo", 84.6),
            ("OntoNotes coreference", "average F1", "baseline", 67.2),
            ("OntoNotes coreference", "average F1", "baseline with ELMo", 70.4),
            ("CoNLL 2003 named entities", "F1", "baseline", 90.15),
            ("CoNLL 2003 named entities", "F1", "baseline with ELMo", 92.22),
            ("SST-5", "accuracy", "baseline", 51.4),
            ("SST-5", "accuracy", "baseline with ELMo", 54.7),
        ],
    ),
    *_results(
        "Table 2",
        [
            ("SNLI, validation", "accuracy", "last layer only", 89.1),
            ("SNLI, validation", "accuracy", "all layers, lambda 1", 89.3),
            ("SNLI, validation", "accuracy", "all layers, lambda 0.001", 89.5),
        ],
    ),
    *_results("Section 3.4", [("1B Word Benchmark", "perplexity", "biLM, mean of both directions", 39.7)]),
]


def _best_epoch(epochs: int, batch_size: int) -> dict[str, Any]:
    """The epoch with the best score on the validation split is kept."""
    return {
        "per_device_train_batch_size": batch_size,
        "per_device_eval_batch_size": 64,
        "num_train_epochs": epochs,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "accuracy",
        "logging_steps": 50,
    }


RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "Section 3.3 and the authors' advice for a task: the biLM frozen, one mix with lambda 0.001, "
        "half of the vectors dropped, a BiLSTM on top; start it from a pre-trained biLM (--model)",
        "config": {"freeze_bilm": True, "mix_dropout": 0.5, "mix_l2": 0.001, "task_lstm_cells": 256},
        "tokenizer": {"vocab_size": 793_471},
        "data": {},
        "training": {
            **_best_epoch(20, 32),
            "learning_rate": 1e-3,
            "lr_scheduler_type": "constant",
            "max_grad_norm": 5.0,
            "weight_decay": 0.0,
        },
    },
    "small": {
        "description": "for one machine: the mean and the maximum of frozen vectors, without a BiLSTM; start it from "
        "a pre-trained biLM (--model)",
        "config": {"freeze_bilm": True, "mix_dropout": 0.3, "mix_l2": 0.001, "task_lstm_cells": 0},
        "tokenizer": {"vocab_size": 20_000, "min_frequency": 2},
        "data": {},
        "training": {
            **_best_epoch(5, 32),
            "train_sampling_strategy": "group_by_length",
            "learning_rate": 2e-3,
            "lr_scheduler_type": "linear",
            "max_grad_norm": 5.0,
            "weight_decay": 0.0,
        },
    },
    "scratch": {
        "description": "without a pre-trained biLM: a small one is trained by the labels alone, for comparison",
        "config": {
            "freeze_bilm": False,
            "character_embedding_size": 16,
            "filters": [[1, 32], [2, 32], [3, 64], [4, 128]],
            "num_highway_layers": 1,
            "projection_size": 64,
            "cell_size": 256,
            "mix_dropout": 0.3,
        },
        "tokenizer": {"vocab_size": 20_000, "min_frequency": 2},
        "data": {},
        "training": {
            **_best_epoch(4, 32),
            "train_sampling_strategy": "group_by_length",
            "learning_rate": 2e-3,
            "lr_scheduler_type": "linear",
            "max_grad_norm": 5.0,
            "weight_decay": 0.0,
        },
    },
}
