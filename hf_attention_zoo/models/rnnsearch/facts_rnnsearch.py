"""Facts about RNNsearch for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.seq2seq.small_recipes import adam, pieces

BIBTEX = """@inproceedings{bahdanau2015neural,
  title     = {Neural Machine Translation by Jointly Learning to Align and Translate},
  author    = {Dzmitry Bahdanau and Kyunghyun Cho and Yoshua Bengio},
  booktitle = {3rd International Conference on Learning Representations (ICLR)},
  year      = {2015},
  url       = {https://arxiv.org/abs/1409.0473}
}"""

# The paper's sizes are the config's defaults. Count with one bias per affine map: weights 80,402,740, and biases
# 6,000 (encoder) + 3,000 (decoder) + 1,000 (s_0) + 1,000 (alignment) + 1,000 (readout) + 30,001 (softmax).
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 80_444_741

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "decoder_vocab_size": 40,
    "embedding_size": 8,
    "hidden_size": 12,
    "attention_size": 10,
    "maxout_size": 8,
}

ADAPTER_TARGETS: tuple[str, ...] = (
    "initial_state",
    "query_projection",
    "key_projection",
    "readout.projections.0",
    "readout.projections.1",
    "readout.projections.2",
)

_SETTING = {"dataset": "WMT'14 English-French, newstest2014, all sentences", "metric": "BLEU", "source": "Table 1"}
REPORTED_RESULTS: list[dict[str, Any]] = [
    {**_SETTING, "system": system, "value": value}
    for system, value in (
        ("RNNencdec-30", 13.93),
        ("RNNsearch-30", 21.50),
        ("RNNencdec-50", 17.82),
        ("RNNsearch-50", 26.75),
        ("RNNsearch-50, trained until the development score stopped improving", 28.45),
    )
]


def _paper(max_words: int) -> dict[str, Any]:
    """Section 4 and appendix B of the paper, for sentences of at most `max_words` words a side."""
    return {
        "description": f"RNNsearch-{max_words} as in the paper: Adadelta, summed loss, clipping to 1, batches of 80",
        "config": {},
        # the 30,000 most frequent words, and rows for pad, unknown, start and end
        "tokenizer": {"kind": "word", "vocab_size": 30_004, "target_vocab_size": 30_004, "shared": False},
        # un-normalised search; the authors' tests use ten beams
        "generation": {"num_beams": 10, "length_penalty": 0.0, "early_stopping": "never"},
        "data": {"max_words": max_words},
        "training": {
            "optimizer": "adadelta",
            "learning_rate": 1.0,
            "adadelta_rho": 0.95,
            "adadelta_epsilon": 1e-6,
            "loss_scale": "batch_sum",
            "max_grad_norm": 1.0,
            "per_device_train_batch_size": 80,
            "pool_batches": 20,
            "lr_scheduler_type": "constant",
            "weight_decay": 0.0,
            "num_train_epochs": 5,
        },
    }


def _sizes(embedding: int, hidden: int, attention: int, maxout: int) -> dict[str, Any]:
    """A small model with dropout.

    Its weights start ten (the alignment's a hundred) times wider than the paper's, which are so narrow that a small
    model spends most of a short training on leaving them: on the emoji names, BLEU 97 instead of 39 after 500 updates.
    """
    return {
        "embedding_size": embedding,
        "hidden_size": hidden,
        "attention_size": attention,
        "maxout_size": maxout,
        "dropout": 0.2,
        "initializer_range": 0.1,
        "attention_initializer_range": 0.1,
    }


_FOUR_TIMES = {"eval_strategy": "steps", "eval_steps": 0.25, "save_strategy": "steps", "save_steps": 0.25}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": _paper(50),
    "paper-30": _paper(30),
    "paper-50": _paper(50),
    "small": {
        "description": "a small model for one machine: 4,000 pieces a side, token batches, Adam, smoothed labels",
        "config": _sizes(192, 256, 256, 192),
        "tokenizer": pieces(4000),
        "generation": {"num_beams": 5},
        "data": {"max_source_length": 100, "max_target_length": 100},
        "training": adam(2e-3, 2000, 15, 20),
    },
    "quickstart-names": {
        "description": "emoji names, two minutes on two cores",
        "config": _sizes(96, 128, 128, 96),
        "tokenizer": pieces(1500),
        "generation": {"num_beams": 5},
        "data": {"dataset": "translation_emoji_names", "source_lang": "ko", "target_lang": "en"},
        "training": {**adam(3e-3, 300, 6, 20), **_FOUR_TIMES},
    },
    "quickstart-short-pairs": {
        "description": "pairs of at most 10 words, longer than the names: --sample translation_de_en",
        "config": _sizes(128, 160, 128, 128),
        "tokenizer": pieces(3000),
        "generation": {"num_beams": 5},
        "data": {"dataset": "translation_de_en", "source_lang": "de", "target_lang": "en", "max_words": 10},
        "training": {**adam(3e-3, 500, 5, 20), **_FOUR_TIMES},
    },
}
