"""Facts about the neural probabilistic language model for the registry: sizes, the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@article{bengio2003neural,
  title   = {A Neural Probabilistic Language Model},
  author  = {Yoshua Bengio and R{\\'e}jean Ducharme and Pascal Vincent and Christian Jauvin},
  journal = {Journal of Machine Learning Research},
  volume  = {3},
  pages   = {1137--1155},
  year    = {2003}
}"""

# The config's defaults are those of MLP1 of Table 1: V = 16,383, n = 5, m = 60, h = 50, with direct connections. The
# paper's formula is V (1 + n m + h) + h (1 + (n - 1) m): b V = 16,383, C V m = 982,980, W V (n - 1) m = 3,931,920,
# U V h = 819,150, d h = 50, H h (n - 1) m = 12,000. It states the formula and the sizes.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 5_762_483

# MLP9 and MLP10, the best of Table 1, the second mixed with a trigram: V (1 + m + h) + h (1 + (n - 1) m).
BEST_CONFIG: dict[str, Any] = {"embedding_size": 30, "hidden_size": 100, "direct_connections": False}
BEST_PARAMETERS = 2_158_273

TINY_CONFIG: dict[str, Any] = {"vocab_size": 48, "order": 4, "embedding_size": 8, "hidden_size": 12}

ADAPTER_TARGETS: tuple[str, ...] = ("hidden_projection",)

# Perplexities on the test part: system, Brown (Table 1), then AP News (Table 2).
_BROWN: dict[str, int] = {
    "MLP1: n = 5, h = 50, m = 60, direct": 268,
    "MLP3: n = 5, h = 0, m = 60, direct": 310,
    "MLP5: n = 5, h = 50, m = 30, direct": 279,
    "MLP7: n = 3, h = 50, m = 30, direct": 293,
    "MLP9: n = 5, h = 100, m = 30": 276,
    "MLP10: MLP9 mixed with a trigram": 252,
    "interpolated trigram": 336,
    "Kneser-Ney trigram": 323,
    "class-based trigram, 500 classes": 312,
}
_NEWS: dict[str, int] = {
    "n = 6, h = 60, m = 100, direct, mixed with a trigram": 109,
    "Kneser-Ney, n = 5": 117,
    "interpolated trigram": 132,
}


def _reported(dataset: str, table: str, values: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": "perplexity per word", "system": system, "value": value, "source": table}
        for system, value in values.items()
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_reported("Brown corpus", "Table 1", _BROWN),
    *_reported("AP News 1995 to 1996", "Table 2", _NEWS),
]

# Nothing is labelled: `attention-zoo pretrain` has the recipes.
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "the sizes of the paper; the training is that of `attention-zoo pretrain nnlm`",
        "config": {},
    },
}
