"""Facts about GPT for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.parts.text_recipes import FINE_TUNING, SMALL_CONFIG, SMALL_FINE_TUNING

BIBTEX = """@techreport{radford2018improving,
  title       = {Improving Language Understanding by Generative Pre-Training},
  author      = {Alec Radford and Karthik Narasimhan and Tim Salimans and Ilya Sutskever},
  institution = {OpenAI},
  year        = {2018},
  url         = {https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf}
}"""

# The paper's sizes are the config's defaults. Count: tokens 40,478 x 768 = 31,087,104; positions 512 x 768 = 393,216;
# twelve blocks of 4 x (768^2 + 768) + 2 x 768 x 3072 + 3072 + 768 + 4 x 768 = 7,087,872. It is usually quoted as
# 117M; the paper itself states no number.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 116_534_784

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "pad_token_id": 1,
    "delimiter_token_id": 3,
}

ADAPTER_TARGETS: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "linear_1", "linear_2")


def _results(table: str, rows: list[tuple[str, str, float]], system: str = "GPT") -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": metric, "system": system, "value": value, "source": table}
        for dataset, metric, value in rows
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_results(
        "Table 2",
        [
            ("MNLI matched", "accuracy", 82.1),
            ("MNLI mismatched", "accuracy", 81.4),
            ("SNLI", "accuracy", 89.9),
            ("SciTail", "accuracy", 88.3),
            ("QNLI", "accuracy", 88.1),
            ("RTE", "accuracy", 56.0),
        ],
    ),
    *_results(
        "Table 3",
        [
            ("Story Cloze", "accuracy", 86.5),
            ("RACE middle", "accuracy", 62.9),
            ("RACE high", "accuracy", 57.4),
            ("RACE", "accuracy", 59.0),
        ],
    ),
    *_results(
        "Table 4",
        [
            ("CoLA", "Matthews correlation", 45.4),
            ("SST-2", "accuracy", 91.3),
            ("MRPC", "F1", 82.3),
            ("STS-B", "Pearson correlation", 82.0),
            ("QQP", "F1", 70.3),
            ("GLUE", "average", 72.8),
        ],
    ),
    *_results("Table 5", [("eight tasks", "average", 74.7)]),
    *_results("Table 5", [("eight tasks", "average", 59.9)], "without pre-training"),
    *_results("Table 5", [("eight tasks", "average", 75.0)], "without the auxiliary loss"),
    *_results("Table 5", [("eight tasks", "average", 69.1)], "LSTM of 2048 units, with the auxiliary loss"),
    *_results("Section 4.1", [("BooksCorpus", "perplexity of tokens", 18.4)]),
]

# Section 4.1 and the authors' code: three epochs, a linear decay after a warm-up of 0.2 % of the updates.
_FINE_TUNING: dict[str, Any] = {
    **FINE_TUNING,
    "learning_rate": 6.25e-5,
    "optimizer": "gpt_adam",
    "release_schedule": "gpt_linear",
    "warmup_steps": 0.002,
    "adam_epsilon": 1e-8,
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "a task's layer and the whole model, with the auxiliary loss: 3 epochs, batches of 32",
        "config": {"auxiliary_loss_weight": 0.5},
        "tokenizer": {"vocab_size": 40_478},
        "training": _FINE_TUNING,
    },
    "small": {
        "description": "the small model on a task, pre-trained or from scratch: 4 epochs, batches of 16",
        "config": SMALL_CONFIG,
        "tokenizer": {"vocab_size": 8000},
        "training": {
            **_FINE_TUNING,
            **SMALL_FINE_TUNING,
            "warmup_steps": 0.05,
        },
    },
}
