"""Counts and first values, as the paper and the authors' script have them."""

import math

import pytest
import torch

from hf_attention_zoo import get_architecture
from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig
from hf_attention_zoo.models.elmo.facts_elmo import PAPER_PARAMETERS, RELEASED_CONFIGS
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForPreTraining, ELMoModel


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_papers_bilm_has_its_93_6_million_parameters_part_by_part() -> None:
    """The authors advertise 93.6M; 16 more would be a row for pads, which is never read."""
    with torch.device("meta"):
        model = ELMoModel(get_architecture("elmo").paper_config())
    characters, layers = model.bilm.characters, model.bilm.layers
    assert count(characters.embedding) == 261 * 16 == 4_176
    filters = [(1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)]
    assert count(characters.convolutions) == sum(n * 16 * width + n for width, n in filters) == 199_168
    assert count(characters.highways) == 2 * 2 * (2048 * 2048 + 2048) == 16_785_408
    assert count(characters.projection) == 2048 * 512 + 512 == 1_049_088
    one = (512 + 512) * 4 * 4096 + 4 * 4096 + 4096 * 512
    assert count(layers) == 4 * one == 75_563_008
    assert count(model) == PAPER_PARAMETERS == 93_600_848
    with torch.device("meta"):
        mixing = ELMoModel(ELMoConfig())
        whole = ELMoForPreTraining(ELMoConfig())
    assert count(mixing) == PAPER_PARAMETERS + 4
    assert count(whole) == PAPER_PARAMETERS + 793_471 * 513 == PAPER_PARAMETERS + 407_050_623


@pytest.mark.parametrize("name", RELEASED_CONFIGS)
def test_the_smaller_released_models_have_their_counts(name: str) -> None:
    fields, wanted = RELEASED_CONFIGS[name]
    with torch.device("meta"):
        assert count(ELMoModel(ELMoConfig(num_mixes=0, **fields))) == wanted


def test_first_values_are_those_of_the_authors_code() -> None:
    torch.manual_seed(0)
    config = ELMoConfig(
        vocab_size=1000, filters=[[1, 64], [3, 192]], projection_size=64, cell_size=128, num_negative_samples=0
    )
    model = ELMoForPreTraining(config).eval()
    characters, lstm = model.model.bilm.characters, model.model.bilm.layers[0].forward_lstm
    table = characters.embedding.weight
    assert table.min() < -0.95 and table.max() > 0.95 and table.std().item() == pytest.approx(3**-0.5, rel=0.05)
    assert characters.convolutions[1].weight.abs().max() <= 0.05
    assert not characters.convolutions[1].bias.any()
    highway = characters.highways[0]
    assert (highway.carry.bias == -2).all() and not highway.transform.bias.any()
    assert highway.carry.weight.std().item() == pytest.approx(256**-0.5, rel=0.05)
    assert characters.projection.weight.std().item() == pytest.approx(256**-0.5, rel=0.05)
    assert model.lm_head.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    reach = (6 / (64 + 64 + 4 * 128)) ** 0.5
    for weight in (lstm.input_weight, lstm.recurrent_weight):
        assert 0.95 * reach < weight.abs().max() <= reach
    assert not lstm.bias.any(), "the forget bias stands outside"
    ids = torch.randint(1, 257, (4, 9, 12))
    labels = torch.randint(3, 1000, (4, 10))
    loss = model(ids, labels=labels).loss.item()
    assert loss == pytest.approx(math.log(1000), abs=0.3)
