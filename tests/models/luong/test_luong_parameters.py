"""Parameter counts at the paper's sizes, with their derivation (the paper prints none), and initialisation.

V = 50,000 words a side, d = H = 1000, 4 layers, no bias anywhere.
"""

import pytest
import torch

from hf_attention_zoo.models.luong.configuration_luong import LuongConfig
from hf_attention_zoo.models.luong.facts_luong import PAPER_CONFIG, PAPER_PARAMETERS, TINY_CONFIG
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration

V, H, LAYERS, ROWS = 50_000, 1000, 4, 50
BASE = 2 * V * H + V * H + 2 * LAYERS * 4 * H * 2 * H  # embeddings, softmax, two stacks
FEED, W_C = 4 * H * H, 2 * H * H
SCORE = {"dot": 0, "general": H * H, "concat": 2 * H * H + H, "location": ROWS * H}
WINDOW = {"global": 0, "local-m": 0, "local-p": H * H + H}


def count(**choices: object) -> int:
    with torch.device("meta"):
        model = LuongForConditionalGeneration(LuongConfig(**choices))
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_model_without_attention_has_214_million() -> None:
    assert BASE == 214_000_000


@pytest.mark.parametrize(
    ("choices", "plain", "fed"),
    [
        ({"attention_score": "dot", "attention_window": "global"}, 216_000_000, 220_000_000),
        ({"attention_score": "general", "attention_window": "global"}, 217_000_000, 221_000_000),
        ({"attention_score": "location", "attention_window": "global"}, 216_050_000, 220_050_000),
        ({"attention_score": "concat", "attention_window": "global"}, 218_001_000, 222_001_000),
        ({"attention_score": "general", "attention_window": "local-m"}, 217_000_000, 221_000_000),
        ({"attention_score": "general", "attention_window": "local-p"}, 218_001_000, 222_001_000),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else str(value),
)
def test_counts_follow_from_the_equations(choices: dict[str, str], plain: int, fed: int) -> None:
    derived = BASE + W_C + SCORE[choices["attention_score"]] + WINDOW[choices["attention_window"]]
    assert derived == plain == count(**choices, input_feeding=False)
    assert derived + FEED == fed == count(**choices, input_feeding=True)


def test_released_form_of_concat_has_half_of_the_matrix_less() -> None:
    choices = {"attention_score": "concat", "attention_window": "global", "concat_source_weight": "identity"}
    assert count(**choices, input_feeding=False) == 217_001_000
    assert count(**choices, input_feeding=True) == 221_001_000


def test_paper_config_has_the_count_in_the_facts() -> None:
    assert count(**PAPER_CONFIG) == PAPER_PARAMETERS == 222_001_000


def test_released_vocabularies_with_their_symbols_give_its_count() -> None:
    """The released code puts one symbol on top of 50,000 source words and two on top of the target's."""
    assert count(vocab_size=50_001, decoder_vocab_size=50_002) == 222_006_000


@pytest.mark.parametrize("score", ["general", "concat", "location"])
def test_every_weight_is_uniform_within_a_tenth(score: str) -> None:
    window = "global" if score == "location" else "local-p"
    config = LuongConfig(
        vocab_size=300,
        embedding_size=40,
        hidden_size=48,
        num_hidden_layers=2,
        attention_score=score,
        attention_window=window,
    )
    model = LuongForConditionalGeneration(config)
    for name, parameter in model.named_parameters():
        assert parameter.abs().max() <= 0.1, name
        if parameter.numel() > 1000:
            assert parameter.abs().max() > 0.0985, name
            assert parameter.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.06), name
        else:
            assert parameter.std() > 0.03, name


def test_range_of_the_weights_is_that_of_the_config() -> None:
    model = LuongForConditionalGeneration(LuongConfig(**TINY_CONFIG, initializer_range=0.3))
    assert 0.28 < model.lm_head.weight.abs().max() <= 0.3


def test_no_parameter_is_a_bias() -> None:
    model = LuongForConditionalGeneration(LuongConfig(**TINY_CONFIG))
    assert not [name for name, _ in model.named_parameters() if "bias" in name]
