"""Facts about the simple recurrent network for the registry: sizes, recipes, the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.parts.recurrent_recipes import LABEL_TRAINING, SMALL_LABEL_TRAINING

BIBTEX = """@article{elman1990finding,
  title   = {Finding Structure in Time},
  author  = {Jeffrey L. Elman},
  journal = {Cognitive Science},
  volume  = {14},
  number  = {2},
  pages   = {179--211},
  year    = {1990},
  doi     = {10.1207/s15516709cog1402_1}
}"""

# The config's defaults are the sizes of the network that reads simple sentences: 31 input units, 150 hidden and 150
# context units, 31 output units. W 31 x 150 = 4,650; U 150 x 150 and b 150 = 22,650; V 150 x 31 and c 31 = 4,681.
# The paper gives the units and states no number of weights.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 31_981

TINY_CONFIG: dict[str, Any] = {"vocab_size": 48, "embedding_size": 8, "hidden_size": 12, "truncation": None}

ADAPTER_TARGETS: tuple[str, ...] = ("input_projection", "context_projection")

_SENTENCES = "root mean squared error"
REPORTED_RESULTS: list[dict[str, Any]] = [
    {
        "dataset": "simple sentences of 29 words",
        "metric": f"{_SENTENCES} against the word that comes",
        "system": "simple recurrent network",
        "value": 0.88,
        "source": "Section on lexical classes",
    },
    {
        "dataset": "simple sentences of 29 words",
        "metric": f"{_SENTENCES} against the likelihood of each word",
        "system": "simple recurrent network",
        "value": 0.053,
        "source": "Section on lexical classes",
    },
]

SMALL_CONFIG: dict[str, Any] = {"embedding_size": 128, "hidden_size": 128, "initializer_range": 0.1}

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {
        "description": "the sizes of the paper's network, with labels; errors go back through the whole text, since "
        "one step would not reach past the last word",
        "config": {"truncation": None},
        "tokenizer": {"vocab_size": 31, "lowercase": True},
        "training": {**LABEL_TRAINING, "learning_rate": 1e-3},
    },
    "small": {
        "description": "for one machine: vectors and hidden units of 128, back-propagation through time",
        "config": {**SMALL_CONFIG, "truncation": None, "activation": "tanh", "dropout": 0.3},
        "tokenizer": {"vocab_size": 12_000, "lowercase": True},
        "training": SMALL_LABEL_TRAINING,
    },
}
