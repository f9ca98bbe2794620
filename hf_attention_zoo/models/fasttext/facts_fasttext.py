"""Facts about fastText for the registry: sizes, recipes, the paper's results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@inproceedings{joulin2017bag,
  title     = {Bag of Tricks for Efficient Text Classification},
  author    = {Armand Joulin and Edouard Grave and Piotr Bojanowski and Tomas Mikolov},
  booktitle = {Proceedings of the 15th Conference of the European Chapter of the Association for Computational
               Linguistics: Volume 2, Short Papers},
  pages     = {427--431},
  year      = {2017},
  url       = {https://arxiv.org/abs/1607.01759}
}"""

# Four classes as in AG's news, with bigrams: A has 10 (100,000 + 10,000,000) and B 4 x 10. The number of words, which
# the paper does not give, is ours.
PAPER_CONFIG: dict[str, Any] = {"num_labels": 4}
PAPER_PARAMETERS = 101_000_040

TINY_CONFIG: dict[str, Any] = {"vocab_size": 48, "embedding_size": 12, "num_labels": 3}

ADAPTER_TARGETS: tuple[str, ...] = ("classifier",)

_DATASETS = ("AG", "Sogou", "DBpedia", "Yelp P.", "Yelp F.", "Yahoo A.", "Amazon F.", "Amazon P.")
_ACCURACIES: dict[str, tuple[float, ...]] = {
    "fastText, h = 10": (91.5, 93.9, 98.1, 93.8, 60.4, 72.0, 55.8, 91.2),
    "fastText, h = 10, bigram": (92.5, 96.8, 98.6, 95.7, 63.9, 72.3, 60.2, 94.6),
}

REPORTED_RESULTS: list[dict[str, Any]] = [
    {"dataset": dataset, "metric": "accuracy", "system": system, "value": value, "source": "Table 1"}
    for system, values in _ACCURACIES.items()
    for dataset, value in zip(_DATASETS, values, strict=True)
]


def _best_epoch(epochs: int) -> dict[str, Any]:
    """The epoch with the best score on the validation split is kept."""
    return {
        "per_device_eval_batch_size": 256,
        "num_train_epochs": epochs,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "accuracy",
        "weight_decay": 0.0,
        "logging_steps": 100,
    }


def _small(description: str, data: dict[str, Any], epochs: int = 6, **tokenizer: Any) -> dict[str, Any]:
    """Words seen twice, n-grams in 30,000 buckets, Adam falling linearly: a minute on one core."""
    return {
        "description": description,
        "config": {"embedding_size": 50},
        "tokenizer": {
            "lowercase": True,
            "vocab_size": 15_000,
            "min_frequency": 2,
            "word_ngrams": 2,
            "num_buckets": 30_000,
            **tokenizer,
        },
        "data": data,
        "training": {
            **_best_epoch(epochs),
            "per_device_train_batch_size": 32,
            "learning_rate": 2e-2,
            "weight_decay": 0.1,
            "lr_scheduler_type": "linear",
            "max_grad_norm": 0.0,
        },
    }


RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "Section 3.1: 10 units, bigrams in 10,000,000 buckets, 5 epochs of SGD on one text at a time, "
        "with a rate from 0.05, 0.1, 0.25 and 0.5 that falls linearly to 0. The authors run several threads on one "
        "table without locks; here one text follows the other",
        "config": {"sparse_gradients": True},
        "tokenizer": {
            "lowercase": True,
            "vocab_size": 10_000_000,
            "min_frequency": 1,
            "word_ngrams": 2,
            "num_buckets": 10_000_000,
        },
        "data": {},
        "training": {
            **_best_epoch(5),
            "optim": "sgd",
            "per_device_train_batch_size": 1,
            "learning_rate": 0.25,
            "lr_scheduler_type": "linear",
            "max_grad_norm": 0.0,
        },
    },
    "small": _small("for one machine: words seen twice, bigrams in 30,000 buckets, Adam falling linearly", {}),
    "small-characters": _small(
        "as small, with n-grams of two to four characters, for languages that write several morphemes as one word",
        {},
        min_char_ngram=2,
        max_char_ngram=4,
        word_ngrams=1,
    ),
    "quickstart-sections": _small(
        "the archive section of a software package from its description, less than a minute on two cores",
        {"dataset": "doc_debian_section"},
    ),
}
