"""Facts about the RNN encoder-decoder for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.seq2seq.small_recipes import small_recipes

BIBTEX = """@inproceedings{cho2014learning,
  title     = {Learning Phrase Representations using {RNN} Encoder-Decoder for Statistical Machine Translation},
  author    = {Kyunghyun Cho and Bart van Merriënboer and Caglar Gulcehre and Dzmitry Bahdanau and
               Fethi Bougares and Holger Schwenk and Yoshua Bengio},
  booktitle = {Proceedings of the 2014 Conference on Empirical Methods in Natural Language Processing (EMNLP)},
  pages     = {1724--1734},
  year      = {2014},
  doi       = {10.3115/v1/D14-1179},
  url       = {https://arxiv.org/abs/1406.1078}
}"""

# The paper's sizes are the config's defaults. Count with one bias per affine map: weights 18,250,300, and biases
# 3,000 (encoder) + 3,000 (decoder) + 1,000 (c) + 1,000 (first state) + 1,000 (readout) + 15,001 (softmax).
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 18_274_301

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "decoder_vocab_size": 40,
    "embedding_size": 8,
    "hidden_size": 12,
    "maxout_size": 8,
    "output_rank": 6,
}

ADAPTER_TARGETS: tuple[str, ...] = (
    "summarise",
    "initial_state",
    "readout.projections.0",
    "readout.projections.1",
    "readout.projections.2",
    "output_factor",
)

_SETTING = {"dataset": "WMT'14 English-French", "metric": "BLEU", "source": "Table 1"}
REPORTED_RESULTS: list[dict[str, Any]] = [
    {**_SETTING, "system": f"{system}, {split} set", "value": value}
    for system, *values in (
        ("baseline + RNN phrase scores", 31.20, 33.87),
        ("baseline + neural language model + RNN phrase scores", 31.48, 34.64),
        ("baseline + neural language model + RNN phrase scores + word penalty", 31.50, 34.54),
    )
    for split, value in zip(("development", "test"), values, strict=True)
]

_SEARCH = {"num_beams": 5, "length_penalty": 0.0, "early_stopping": "never"}
# Ten times wider weights than the paper's, which a small model spends much of a short training on leaving.
_SMALL = {
    "embedding_size": 192,
    "hidden_size": 384,
    "maxout_size": 192,
    "output_rank": None,
    "dropout": 0.2,
    "initializer_range": 0.1,
}

RECIPES: dict[str, dict[str, Any]] = {
    # The paper draws from the unique pairs of a phrase table, each as often as any other: give such a table as data.
    "paper": {
        "description": "as in the paper: phrase pairs of at most 30 words, Adadelta, summed loss, clipping to 1, "
        "batches of 64",
        "config": {},
        "tokenizer": {"kind": "word", "vocab_size": 15_004, "target_vocab_size": 15_004, "shared": False},
        "generation": {"length_penalty": 0.0, "early_stopping": "never", "num_beams": 10},
        "data": {"max_words": 30},
        "training": {
            "optimizer": "adadelta",
            "learning_rate": 1.0,
            "adadelta_rho": 0.95,
            "adadelta_epsilon": 1e-6,
            "loss_scale": "batch_sum",
            "max_grad_norm": 1.0,
            "per_device_train_batch_size": 64,
            "pool_batches": 10,
            "lr_scheduler_type": "constant",
            "weight_decay": 0.0,
            "num_train_epochs": 5,
        },
    },
    **small_recipes(
        small=_SMALL,
        quick={**_SMALL, "embedding_size": 128, "hidden_size": 256, "maxout_size": 128},
        generation=_SEARCH,
    ),
}
