"""Facts about BERT for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.parts.text_recipes import FINE_TUNING, SMALL_CONFIG, SMALL_FINE_TUNING

BIBTEX = """@inproceedings{devlin2019bert,
  title     = {BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author    = {Jacob Devlin and Ming-Wei Chang and Kenton Lee and Kristina Toutanova},
  booktitle = {Proceedings of the 2019 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies},
  pages     = {4171--4186},
  year      = {2019},
  url       = {https://arxiv.org/abs/1810.04805}
}"""

# BERT base, uncased, is the config's default. Count of the pre-training model: embeddings (30,522 + 512 + 2) x 768 and
# a norm, 23,837,184; twelve layers of 4 x (768^2 + 768) + 2 x 768 x 3072 + 3072 + 768 + 4 x 768 = 7,087,872; pooler
# 590,592; heads 768^2 + 768 + 2 x 768 + 30,522 + 2 x 768 + 2 = 624,188. The paper says 110M.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 110_106_428

# Section 3.1: the paper says 340M; with the heads of pre-training it is 336,226,108.
LARGE_CONFIG: dict[str, Any] = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
LARGE_PARAMETERS = 336_226_108

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
}

ADAPTER_TARGETS: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "linear_1", "linear_2")


def _results(dataset: str, metric: str, table: str, rows: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": metric, "system": system, "value": value, "source": table}
        for system, value in rows
    ]


def _glue(values: list[tuple[str, str, float, float]]) -> list[dict[str, Any]]:
    return [
        row
        for dataset, metric, base, large in values
        for row in _results(dataset, metric, "Table 1", [("base", base), ("large", large)])
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_glue(
        [
            ("MNLI matched, test", "accuracy", 84.6, 86.7),
            ("MNLI mismatched, test", "accuracy", 83.4, 85.9),
            ("QQP, test", "F1", 71.2, 72.1),
            ("QNLI, test", "accuracy", 90.5, 92.7),
            ("SST-2, test", "accuracy", 93.5, 94.9),
            ("CoLA, test", "Matthews correlation", 52.1, 60.5),
            ("STS-B, test", "Spearman correlation", 85.8, 86.5),
            ("MRPC, test", "F1", 88.9, 89.3),
            ("RTE, test", "accuracy", 66.4, 70.1),
        ]
    ),
    *_results("SQuAD 1.1, dev", "F1", "Table 2", [("base", 88.5), ("large", 90.9), ("large, ensemble", 91.8)]),
    *_results("SQuAD 1.1, dev", "exact match", "Table 2", [("base", 80.8), ("large", 84.1)]),
    *_results("SQuAD 2.0, dev", "F1", "Table 3", [("large", 81.9)]),
    *_results("SWAG, dev", "accuracy", "Table 4", [("base", 81.6), ("large", 86.6)]),
    *_results(
        "MNLI matched, dev",
        "accuracy",
        "Table 5",
        [("base", 84.4), ("no next sentence", 83.9), ("left to right, no next sentence", 82.1)],
    ),
    *_results(
        "SQuAD 1.1, dev",
        "F1",
        "Table 5",
        [("base", 88.5), ("no next sentence", 87.9), ("left to right, no next sentence", 77.8)],
    ),
    *_results(
        "held-out text of the pre-training corpus",
        "masked-word perplexity",
        "Table 6",
        [
            ("3 layers of 768", 5.84),
            ("6 layers of 768, 3 heads", 5.24),
            ("6 layers of 768", 4.68),
            ("base", 3.99),
            ("12 layers of 1024", 3.54),
            ("large", 3.23),
        ],
    ),
    *_results("CoNLL-2003 names, test", "F1", "Table 7", [("base", 92.4), ("large", 92.8)]),
]

_WORD_PIECES = {"vocab_size": 30_522, "lowercase": True}

# Appendix A.3 and Section 4: the linear decay, a tenth of the steps to warm up, dropout 0.1.
_FINE_TUNING: dict[str, Any] = {
    **FINE_TUNING,
    "learning_rate": 3e-5,
    "optimizer": "bert_adam",
    "release_schedule": "bert_linear",
    "warmup_steps": 0.1,
    "adam_epsilon": 1e-6,
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "a task's layer and the whole model: 3 epochs, batches of 32, 3e-5 (the paper tries 2e-5 to "
        "5e-5, 16 and 32, 2 to 4 epochs)",
        "config": {},
        "tokenizer": _WORD_PIECES,
        "training": _FINE_TUNING,
    },
    "small": {
        "description": "the small model on a task, pre-trained or from scratch: 4 epochs, batches of 16",
        "config": SMALL_CONFIG,
        "tokenizer": {"vocab_size": 8000, "lowercase": True},
        "training": {
            **_FINE_TUNING,
            **SMALL_FINE_TUNING,
        },
    },
}
