"""BERT's sizes: the counts of the paper, derived and instantiated, and what the configuration refuses."""

import pytest
import torch

from hf_attention_zoo import BERT2018Config, BERT2018ForPreTraining, BERT2018Model, get_architecture
from hf_attention_zoo.models.bert2018.facts_bert2018 import LARGE_CONFIG, LARGE_PARAMETERS, PAPER_PARAMETERS

BASE = {"H": 768, "L": 12}
LARGE = {"H": 1024, "L": 24}


def body(H: int, L: int, V: int = 30_522) -> int:
    embeddings = (V + 512 + 2) * H + 2 * H
    layer = 4 * (H * H + H) + (H * 4 * H + 4 * H) + (4 * H * H + H) + 2 * 2 * H
    return embeddings + L * layer + H * H + H


def heads(H: int, V: int = 30_522) -> int:
    return H * H + H + 2 * H + V + 2 * H + 2


def count(model_class: type, **fields: int) -> int:
    with torch.device("meta"):
        model = model_class(BERT2018Config(**fields))
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_base_model_has_the_110_million_parameters_of_the_paper() -> None:
    assert body(**BASE) == 109_482_240 == count(BERT2018Model)
    assert body(**BASE) + heads(768) == 110_106_428 == PAPER_PARAMETERS == count(BERT2018ForPreTraining)
    assert round(PAPER_PARAMETERS / 1e6) == 110


def test_the_large_model_has_the_340_million_of_the_paper_which_rounds_up() -> None:
    assert body(**LARGE) == 335_141_888 == count(BERT2018Model, **LARGE_CONFIG)
    assert body(**LARGE) + heads(1024) == 336_226_108 == LARGE_PARAMETERS
    assert count(BERT2018ForPreTraining, **LARGE_CONFIG) == LARGE_PARAMETERS


@pytest.mark.parametrize(
    ("vocabulary", "sizes", "wanted"),
    [
        (28_996, BASE, 108_310_272),
        (28_996, LARGE, 333_579_264),
        (119_547, BASE, 177_853_440),
        (21_128, BASE, 102_267_648),
    ],
)
def test_the_other_released_vocabularies_come_out(vocabulary: int, sizes: dict[str, int], wanted: int) -> None:
    assert body(**sizes, V=vocabulary) == wanted
    fields = LARGE_CONFIG if sizes is LARGE else {}
    assert count(BERT2018Model, vocab_size=vocabulary, **fields) == wanted


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"hidden_size": 10, "num_attention_heads": 4}, "no multiple of num_attention_heads"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob is 1.0"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps is 0"),
        ({"type_vocab_size": 0}, "type_vocab_size is 0"),
    ],
)
def test_sizes_that_cannot_be_are_refused(fields: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BERT2018Config(**fields)


def test_every_recipe_builds_its_model_on_the_meta_device() -> None:
    row = get_architecture("bert2018")
    for recipe in row.recipes.values():
        with torch.device("meta"):
            assert row.model_classes["AutoModelForPreTraining"](row.config_class(**recipe["config"]))
