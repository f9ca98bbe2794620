"""Facts about Sutskever's LSTM for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.seq2seq.small_recipes import small_recipes

BIBTEX = """@inproceedings{sutskever2014sequence,
  title     = {Sequence to Sequence Learning with Neural Networks},
  author    = {Ilya Sutskever and Oriol Vinyals and Quoc V. Le},
  booktitle = {Advances in Neural Information Processing Systems 27 (NIPS)},
  pages     = {3104--3112},
  year      = {2014},
  url       = {https://arxiv.org/abs/1409.3215}
}"""

# The paper's sizes are the config's defaults. Its 384 million are the weights: 160 M (source embedding) + 80 M (target
# embedding) + 80 M (softmax) + 2 x 4 layers x 8 M. On top: one bias per gate, 8 x 4,000, and 80,000 of the softmax.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 384_112_000

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "decoder_vocab_size": 40,
    "embedding_size": 8,
    "hidden_size": 14,
    "num_hidden_layers": 2,
}

# Layers of the LSTM are matrices of one module, no linear layers. The table of targets and the output layer may be
# tied, and what is tied is not adapted: the table of sources remains.
ADAPTER_TARGETS: tuple[str, ...] = ("encoder.embed_tokens",)

_SETTING = {"dataset": "WMT'14 English-French, newstest2014", "metric": "BLEU (cased)", "source": "Table 1"}
_RESCORED = {**_SETTING, "source": "Table 2"}
REPORTED_RESULTS: list[dict[str, Any]] = [
    *(
        {**_SETTING, "system": system, "value": value}
        for system, value in (
            ("single forward LSTM, beam 12", 26.17),
            ("single reversed LSTM, beam 12", 30.59),
            ("ensemble of 5 reversed LSTMs, beam 1", 33.00),
            ("ensemble of 2 reversed LSTMs, beam 12", 33.27),
            ("ensemble of 5 reversed LSTMs, beam 2", 34.50),
            ("ensemble of 5 reversed LSTMs, beam 12", 34.81),
        )
    ),
    *(
        {**_RESCORED, "system": f"baseline's 1000 best, rescored by {system}", "value": value}
        for system, value in (
            ("a single forward LSTM", 35.61),
            ("a single reversed LSTM", 35.85),
            ("an ensemble of 5 reversed LSTMs", 36.5),
        )
    ),
]

_SEARCH = {"num_beams": 12, "length_penalty": 0.0, "early_stopping": "never"}

_SMALL = {"num_hidden_layers": 2, "dropout": 0.2}

RECIPES: dict[str, dict[str, Any]] = {
    # Section 3.4. The loss is the sum over words divided by the 128 sentences of a batch.
    "paper": {
        "description": "as in the paper: SGD at 0.7 without momentum, halved every half epoch from the fifth, "
        "clipping to 5 on the loss per sentence, batches of 128 pairs of similar length",
        "config": {},
        "tokenizer": {"kind": "word", "vocab_size": 160_004, "target_vocab_size": 80_004, "shared": False},
        "generation": _SEARCH,
        "data": {},
        "training": {
            "optim": "sgd",
            "loss_scale": "sentence_mean",
            "learning_rate": 0.7,
            "max_grad_norm": 5.0,
            "per_device_train_batch_size": 128,
            "pool_batches": 20,
            "pool_order": "shuffled",
            "halve_learning_rate_from": 5.0,
            "halve_learning_rate_every": 0.5,
            "weight_decay": 0.0,
            "num_train_epochs": 7.5,
        },
    },
    **small_recipes(
        # narrow layers start wider than the paper's thousand cells
        {"embedding_size": 256, "hidden_size": 320, "initializer_range": 0.2, **_SMALL},
        {"embedding_size": 96, "hidden_size": 160, "initializer_range": 0.3, **_SMALL},
        generation={"num_beams": 5, "length_penalty": 0.0, "early_stopping": "never"},
        quick_epochs=(14, 10),
        quick_tokens=400,
    ),
}
