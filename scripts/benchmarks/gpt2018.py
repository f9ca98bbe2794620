"""GPT beside transformers' own and the matrix products over real tokens, for shares of padding and lengths.

Found by `scripts/benchmark.py` under the name of the architecture; it has the sections "padding" and "length".
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import benchmark_tokens
from torch import nn
from transformers import OpenAIGPTConfig, OpenAIGPTModel

from hf_attention_zoo import get_architecture

SIZES = benchmark_tokens.SIZES
LENGTH_SIZES = benchmark_tokens.LENGTH_SIZES


def build_zoo(sizes: dict[str, int], dropout: float) -> nn.Module:
    """The zoo's body."""
    row = get_architecture("gpt2018")
    config = row.config_class(
        vocab_size=benchmark_tokens.VOCABULARY,
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=4 * sizes["hidden"],
        residual_dropout=dropout,
        embedding_dropout=dropout,
        attention_dropout=dropout,
        use_cache=False,
    )
    return row.model_classes["AutoModel"](config)


def build_theirs(sizes: dict[str, int], dropout: float) -> nn.Module:
    """transformers' body, which has the plain kernel only."""
    config = OpenAIGPTConfig(
        vocab_size=benchmark_tokens.VOCABULARY,
        n_embd=sizes["hidden"],
        n_layer=sizes["layers"],
        n_head=sizes["heads"],
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
    )
    return OpenAIGPTModel(config)


def measure_padding(rows_of: Callable[..., list[dict[str, Any]]], repeats: int) -> list[dict[str, Any]]:
    """One row for each candidate, share of padding, and forward pass or training step."""
    return benchmark_tokens.measure_padding(build_zoo, build_theirs, rows_of, repeats)


def measure_growth(repeats: int) -> list[dict[str, Any]]:
    """Time and memory of a training step against the length."""
    return benchmark_tokens.measure_growth(str(Path(__file__).resolve()), repeats)


if __name__ == "__main__":
    benchmark_tokens.one_length({"zoo": build_zoo, "transformers": build_theirs}, sys.argv[1:])
