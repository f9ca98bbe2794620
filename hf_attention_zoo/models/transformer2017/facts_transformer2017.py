"""Facts about the Transformer for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.models.transformer2017.parsing_recipes import AS_THE_PAPER_TRAINS, PARSING_RECIPES
from hf_attention_zoo.seq2seq.small_recipes import small_recipes

BIBTEX = """@inproceedings{vaswani2017attention,
  title     = {Attention Is All You Need},
  author    = {Ashish Vaswani and Noam Shazeer and Niki Parmar and Jakob Uszkoreit and Llion Jones and
               Aidan N. Gomez and Lukasz Kaiser and Illia Polosukhin},
  booktitle = {Advances in Neural Information Processing Systems 30},
  pages     = {5998--6008},
  year      = {2017},
  url       = {https://arxiv.org/abs/1706.03762}
}"""

# The base model is the config's default. Count at 37,000 shared pieces, without attention biases: table 18,944,000;
# six encoder layers of 4 x 512^2 + (2 x 512 x 2048 + 2048 + 512) + 2 x 2 x 512 = 3,150,336; six decoder layers of
# 8 x 512^2 + 2,099,712 + 3 x 2 x 512 = 4,199,936. The paper says 65 million, see the tests.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 63_045_632

BIG_CONFIG: dict[str, Any] = {
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "dropout": 0.3,
}
BIG_PARAMETERS = 214_171_648

# The rows of Table 3 as config fields beside the base model's. Label smoothing (row D) is a training setting.
TABLE_3: dict[str, dict[str, Any]] = {
    "base": {},
    "A h=1": {"num_attention_heads": 1},
    "A h=4": {"num_attention_heads": 4},
    "A h=16": {"num_attention_heads": 16},
    "A h=32": {"num_attention_heads": 32},
    "B d_k=16": {"head_dim": 16, "value_head_dim": 64},
    "B d_k=32": {"head_dim": 32, "value_head_dim": 64},
    "C N=2": {"num_hidden_layers": 2},
    "C N=4": {"num_hidden_layers": 4},
    "C N=8": {"num_hidden_layers": 8},
    "C d=256": {"hidden_size": 256},
    "C d=1024": {"hidden_size": 1024},
    "C d_ff=1024": {"intermediate_size": 1024},
    "C d_ff=4096": {"intermediate_size": 4096},
    "D dropout=0.0": {"dropout": 0.0},
    "D dropout=0.2": {"dropout": 0.2},
    "E learned positions": {"position_encoding": "learned"},
    "big": BIG_CONFIG,
}

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 48,
    "decoder_vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "share_encoder_decoder_embeddings": False,
    "tie_word_embeddings": False,
}

ADAPTER_TARGETS: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "linear_1", "linear_2")


def _results(dataset: str, metric: str, table: str, rows: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "metric": metric, "system": system, "value": value, "source": table}
        for system, value in rows
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_results(
        "WMT'14 English-German, newstest2014", "BLEU (tokenised)", "Table 2", [("base model", 27.3), ("big", 28.4)]
    ),
    *_results(
        "WMT'14 English-French, newstest2014", "BLEU (tokenised)", "Table 2", [("base model", 38.1), ("big", 41.8)]
    ),
    *_results(
        "WMT'14 English-German, newstest2013",
        "BLEU (tokenised)",
        "Table 3",
        [
            ("base", 25.8),
            ("1 head", 24.9),
            ("4 heads", 25.5),
            ("16 heads", 25.8),
            ("32 heads", 25.4),
            ("d_k = 16", 25.1),
            ("d_k = 32", 25.4),
            ("2 layers", 23.7),
            ("4 layers", 25.3),
            ("8 layers", 25.5),
            ("d_model = 256", 24.5),
            ("d_model = 1024", 26.0),
            ("d_ff = 1024", 25.4),
            ("d_ff = 4096", 26.2),
            ("no dropout", 24.6),
            ("dropout 0.2", 25.5),
            ("no label smoothing", 25.3),
            ("label smoothing 0.2", 25.7),
            ("learned positions", 25.7),
            ("big", 26.4),
        ],
    ),
    *_results(
        "Wall Street Journal, section 23",
        "bracket F1",
        "Table 4",
        [("4 layers, WSJ only", 91.3), ("4 layers, semi-supervised", 92.7)],
    ),
]


_SEARCH = {"num_beams": 4, "gnmt_length_penalty": 0.6, "max_length_beyond_source": 50}


def _paper(description: str, config: dict[str, Any], steps: int, averaged: int) -> dict[str, Any]:
    """Section 5: about 25,000 source and 25,000 target tokens a batch, Adam with the rising and falling rate.

    The batch is that of one device; on several, divide `max_tokens_per_batch` by their number.

    The paper writes a checkpoint every ten minutes: 1,500 steps of the base model on its machine, 600 of the big one.
    """
    return {
        "description": description,
        "config": config,
        "tokenizer": {"kind": "subword", "vocab_size": 37_000, "shared": True},
        "generation": _SEARCH,
        "data": {"max_source_length": 256, "max_target_length": 256},
        "training": {
            **AS_THE_PAPER_TRAINS,
            "learning_rate": 1.0,
            "warmup_steps": 4000,
            "max_steps": steps,
            "save_steps": 1500 if averaged == 5 else 600,
            "save_total_limit": averaged,
            "average_last_checkpoints": averaged,
        },
    }


# What the code that trained the published models does otherwise than the paper's text. One thing more is left out: it
# adds a learned vector for the kind of target (`target_space_embedding`), always the same, to each source state.
TENSOR2TENSOR = {"position_encoding": "tensor2tensor", "attention_bias": True, "decoder_start": "zero"}


def _small_recipes() -> dict[str, dict[str, Any]]:
    """The translation models' small recipes with one vocabulary for both sides and a rate that rises first."""
    sizes = {"num_hidden_layers": 3, "num_attention_heads": 4, "dropout": 0.1}
    recipes = small_recipes(
        {"hidden_size": 256, "intermediate_size": 1024, **sizes},
        {"hidden_size": 128, "intermediate_size": 512, **sizes},
        _SEARCH,
        (16, 10),
    )
    pieces = {
        "small": (6000, 1.5e-3, 400),
        "quickstart-names": (2500, 3e-3, 100),
        "quickstart-short-pairs": (4000, 2e-3, 200),
    }
    for name, (size, rate, warmup) in pieces.items():
        recipe = recipes[name]
        recipe["tokenizer"] = {"kind": "subword", "vocab_size": size, "shared": True}
        recipe["training"].update(learning_rate=rate, warmup_steps=warmup, adam_beta2=0.98, adam_epsilon=1e-9)
    recipes["quickstart-names"]["description"] = "emoji names, minutes on two cores"
    return recipes


RECIPES: dict[str, dict[str, Any]] = {
    "paper": _paper("the base model: 100,000 steps, the mean of the last 5 checkpoints", {}, 100_000, 5),
    "paper-big": _paper("the big model: 300,000 steps, the mean of the last 20 checkpoints", BIG_CONFIG, 300_000, 20),
    "paper-tensor2tensor": _paper(
        "the base model in the form of the authors' code: its positions, biases in the attention, zeros as start",
        TENSOR2TENSOR,
        100_000,
        5,
    ),
    **_small_recipes(),
    **PARSING_RECIPES,
}
