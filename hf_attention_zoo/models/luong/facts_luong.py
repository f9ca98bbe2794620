"""Facts about Luong's attention models for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.seq2seq.small_recipes import small_recipes

BIBTEX = """@inproceedings{luong2015effective,
  title     = {Effective Approaches to Attention-based Neural Machine Translation},
  author    = {Minh-Thang Luong and Hieu Pham and Christopher D. Manning},
  booktitle = {Proceedings of the 2015 Conference on Empirical Methods in Natural Language Processing},
  pages     = {1412--1421},
  year      = {2015},
  url       = {https://arxiv.org/abs/1508.04025}
}"""

# The paper's sizes are the config's defaults. Count for local-p, general, input feeding, without any bias: embeddings
# 2 x 50 M, softmax 50 M, encoder 32 M, decoder 32 M + 4 M (feeding), W_c 2 M, W_a 1 M, W_p 1 M, v_p 1,000.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 222_001_000

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "decoder_vocab_size": 40,
    "embedding_size": 8,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "window_half_width": 2,
    "location_max_length": 12,
}

ADAPTER_TARGETS: tuple[str, ...] = ("key_projection", "position_projection", "position_vector", "attentional")


def _results(dataset: str, table: str, rows: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": "BLEU (tokenised)", "system": system, "value": value, "source": table}
        for system, value in rows
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_results(
        "WMT'14 English-German, newstest2014",
        "Table 1",
        [
            ("no attention", 11.3),
            ("no attention, reversed source", 12.6),
            ("no attention, reversed source, dropout", 14.0),
            ("global attention (location)", 16.8),
            ("global attention (location), input feeding", 18.1),
            ("local-p attention (general), input feeding", 19.0),
            ("local-p attention (general), input feeding, unknown words replaced", 20.9),
            ("ensemble of 8, unknown words replaced", 23.0),
        ],
    ),
    *_results(
        "WMT'14 English-German, newstest2014",
        "Table 4",
        [
            ("global (dot)", 18.6),
            ("global (general)", 17.3),
            ("local-m (general)", 18.6),
            ("local-p (dot)", 18.0),
        ],
    ),
    *_results(
        "WMT'15 German-English, newstest2015",
        "Table 3",
        [
            ("no attention, reversed source", 16.9),
            ("global (location)", 19.1),
            ("global (location), input feeding", 20.1),
            ("global (dot), dropout, input feeding", 22.8),
            ("global (dot), dropout, input feeding, unknown words replaced", 24.9),
        ],
    ),
]


def _paper(description: str, config: dict[str, Any], epochs: int, halve_from: float) -> dict[str, Any]:
    """Section 4.1 of the paper: plain SGD at 1, the rate halved every epoch after some, gradients clipped to 5.

    The loss is the sum over words divided by the 128 sentences of a batch. The released code leaves the embeddings out
    of the norm, which is the training argument `clip_norm_without_embeddings`.
    """
    return {
        "description": description,
        "config": config,
        "tokenizer": {"kind": "word", "vocab_size": 50_004, "target_vocab_size": 50_004, "shared": False},
        "generation": {"num_beams": 12, "length_penalty": 0.0, "early_stopping": "never"},
        "data": {"max_words": 50},
        "training": {
            "optim": "sgd",
            "loss_scale": "sentence_mean",
            "learning_rate": 1.0,
            "max_grad_norm": 5.0,
            "per_device_train_batch_size": 128,
            "pool_batches": 100,
            "pool_order": "shuffled",
            "halve_learning_rate_from": halve_from,
            "halve_learning_rate_every": 1.0,
            "weight_decay": 0.0,
            "num_train_epochs": epochs,
        },
    }


_SMALL = {"num_hidden_layers": 2, "attention_window": "global", "dropout": 0.2}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": _paper(
        "the best single model: local-p, general score, input feeding, dropout; 12 epochs of SGD, the rate halved "
        "every epoch after the eighth",
        {},
        12,
        8.0,
    ),
    "paper-location": _paper(
        "global attention by location, input feeding, no dropout; 10 epochs of SGD, the rate halved every epoch after "
        "the fifth",
        {"attention_score": "location", "attention_window": "global", "dropout": 0.0},
        10,
        5.0,
    ),
    **small_recipes(
        # narrow layers start wider than the paper's thousand cells
        {"embedding_size": 256, "hidden_size": 320, "initializer_range": 0.2, **_SMALL},
        # one layer: in so short a training two leave the alignment aside
        {"embedding_size": 96, "hidden_size": 128, "initializer_range": 0.3, **_SMALL, "num_hidden_layers": 1},
        quick_epochs=(12, 8),
        quick_tokens=400,
    ),
}
