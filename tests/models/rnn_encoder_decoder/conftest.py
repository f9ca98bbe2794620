"""Makes the reference implementation next to these tests importable, and builds small models for them."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from hf_attention_zoo import RNNEncoderDecoderConfig, RNNEncoderDecoderForConditionalGeneration

Build = Callable[..., RNNEncoderDecoderForConditionalGeneration]


@pytest.fixture
def build() -> Build:
    """A maker of small models in float64 and evaluation mode whose weights are spread."""

    def make(form: str = "paper", std: float = 0.6, **changes: object) -> RNNEncoderDecoderForConditionalGeneration:
        sizes = {"vocab_size": 12, "decoder_vocab_size": 11, "embedding_size": 4, "hidden_size": 5, "maxout_size": 7}
        config = RNNEncoderDecoderConfig(**{**sizes, "output_rank": 3, "form": form, **changes})
        torch.manual_seed(5)
        model = RNNEncoderDecoderForConditionalGeneration(config).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=std)
        return model

    return make
