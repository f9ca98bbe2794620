"""Facts about word2vec for the registry: sizes, recipes, the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@inproceedings{mikolov2013distributed,
  title     = {Distributed Representations of Words and Phrases and their Compositionality},
  author    = {Tomas Mikolov and Ilya Sutskever and Kai Chen and Greg S. Corrado and Jeffrey Dean},
  booktitle = {Advances in Neural Information Processing Systems 26},
  pages     = {3111--3119},
  year      = {2013},
  url       = {https://arxiv.org/abs/1310.4546}
}"""

# Two tables, v and u, of 692,000 words by 300: 2 V D. The hierarchical softmax has V - 1 rows in place of u's V. The
# paper states the words and the size, and no number of weights.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 415_200_000

TINY_CONFIG: dict[str, Any] = {"vocab_size": 48, "embedding_size": 12, "window": 2, "num_negative_samples": 3}

ADAPTER_TARGETS: tuple[str, ...] = ("embed_tokens",)

# Analogies right in percent, of a billion words of news: syntactic, semantic, all.
_TABLE_1: dict[str, tuple[int, int, int]] = {
    "skip-gram, 5 negative samples": (63, 54, 59),
    "skip-gram, 15 negative samples": (63, 58, 61),
    "skip-gram, hierarchical softmax": (53, 40, 47),
    "skip-gram, 5 negative samples, subsampling at 1e-5": (61, 58, 60),
    "skip-gram, 15 negative samples, subsampling at 1e-5": (61, 61, 61),
    "skip-gram, hierarchical softmax, subsampling at 1e-5": (52, 59, 55),
}

REPORTED_RESULTS: list[dict[str, Any]] = [
    {
        "dataset": f"{part} analogies",
        "metric": "accuracy",
        "system": system,
        "value": value,
        "source": "arXiv 1310.4546, Table 1",
    }
    for system, values in _TABLE_1.items()
    for part, value in zip(("syntactic", "semantic", "all"), values, strict=True)
]

# Nothing is labelled: `attention-zoo pretrain` has the recipes.
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "the sizes of the paper; the training is that of `attention-zoo pretrain word2vec`",
        "config": {},
    },
}
