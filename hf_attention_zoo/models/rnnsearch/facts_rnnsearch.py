"""Facts about RNNsearch for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

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

_SETTING = {"dataset": "WMT'14 English-French, newstest2014, all sentences", "metric": "BLEU", "source": "Table 1"}
REPORTED_RESULTS: list[dict[str, Any]] = [
    {**_SETTING, "system": system, "value": value}
    for system, value in (
        ("RNNencdec-30", 13.93),
        ("RNNsearch-30", 21.50),
        ("RNNencdec-50", 17.82),
        ("RNNsearch-50", 26.75),
        ("RNNsearch-50, trained until the development score stopped improving", 28.45),
        ("Moses, with additional monolingual text", 33.30),
    )
]


def _paper(max_words: int) -> dict[str, Any]:
    """Section 4 and appendix B of the paper, for sentences of at most `max_words` words a side."""
    return {
        "description": f"RNNsearch-{max_words} as in the paper: Adadelta, summed loss, clipping to 1, batches of 80",
        "config": {},
        "tokenizer": {"kind": "word", "vocab_size": 30_000, "target_vocab_size": 30_000, "shared": False},
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


RECIPES: dict[str, dict[str, Any]] = {
    "paper": _paper(50),
    "paper-30": _paper(30),
    "paper-50": _paper(50),
}
