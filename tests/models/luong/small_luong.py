"""A Luong model of a few units for the words of a tokenizer, its weights so wide that every word matters."""

import torch

from hf_attention_zoo import TranslationTokenizer
from hf_attention_zoo.models.luong.configuration_luong import LuongConfig
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration


def spread_luong(
    tokenizer: TranslationTokenizer, score: str, window: str = "global", std: float = 1.0
) -> LuongForConditionalGeneration:
    config = LuongConfig(
        vocab_size=len(tokenizer),
        decoder_vocab_size=tokenizer.target_vocab_size,
        embedding_size=6,
        hidden_size=8,
        num_hidden_layers=1,
        attention_score=score,
        attention_window=window,
        window_half_width=2,
    )
    model = LuongForConditionalGeneration(config).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std)
    return model
