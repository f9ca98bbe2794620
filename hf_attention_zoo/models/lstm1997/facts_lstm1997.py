"""Facts about long short-term memory for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.parts.recurrent_recipes import LABEL_TRAINING, SMALL_LABEL_TRAINING

BIBTEX = """@article{hochreiter1997long,
  title   = {Long Short-Term Memory},
  author  = {Sepp Hochreiter and J{\\"u}rgen Schmidhuber},
  journal = {Neural Computation},
  volume  = {9},
  number  = {8},
  pages   = {1735--1780},
  year    = {1997},
  doi     = {10.1162/neco.1997.9.8.1735}
}"""

# The config's defaults are those of Experiment 1: 7 input units, three blocks of two cells, 7 output units. The hidden
# units are 6 cells, 3 input gates and 3 output gates, each of which sees 7 inputs and all 12: 12 x 19 = 228; gates
# have biases: 6; outputs see the cells and have none: 7 x 6 = 42. The paper's Table 1 says 276.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 276

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "embedding_size": 8,
    "hidden_size": 12,
    "block_size": 3,
    "num_hidden_layers": 2,
    "truncated_gradients": False,
}

ADAPTER_TARGETS: tuple[str, ...] = ("input_projection", "gate_projection", "cell_projection")


def _reber(system: str, solved: float) -> dict[str, Any]:
    return {
        "dataset": "embedded Reber grammar",
        "metric": "% of trials that solve it",
        "system": system,
        "value": solved,
        "source": "Table 1",
    }


REPORTED_RESULTS: list[dict[str, Any]] = [
    _reber("LSTM, 3 blocks of 2 cells, rate 0.1", 100.0),
    _reber("LSTM, 4 blocks of 1 cell, rate 0.1", 100.0),
    _reber("Elman network of 15 hidden units", 0.0),
    _reber("recurrent cascade-correlation", 50.0),
]

SMALL_CONFIG: dict[str, Any] = {
    "embedding_size": 128,
    "hidden_size": 128,
    "block_size": 1,
    "form": "forget_gate",
    "truncated_gradients": False,
    "output_bias": True,
    "initializer_range": 0.08,
}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "the sizes and the truncated gradients of Experiment 1, with labels",
        "config": {},
        "tokenizer": {"vocab_size": 7, "lowercase": True},
        "training": {**LABEL_TRAINING, "learning_rate": 0.1, "optim": "sgd", "per_device_train_batch_size": 1},
    },
    "small": {
        "description": "for one machine: one layer of 128 cells with forget gates, the whole gradient",
        "config": {**SMALL_CONFIG, "dropout": 0.3},
        "tokenizer": {"vocab_size": 12_000, "lowercase": True},
        "training": SMALL_LABEL_TRAINING,
    },
}
