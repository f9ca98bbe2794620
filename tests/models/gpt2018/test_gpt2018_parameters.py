"""GPT's size: the count, derived and instantiated, and what the configuration refuses."""

import pytest
import torch

from hf_attention_zoo import GPT2018Config, GPT2018ForCausalLM, GPT2018Model, get_architecture
from hf_attention_zoo.models.gpt2018.facts_gpt2018 import PAPER_PARAMETERS


def count(model_class: type, **fields: int) -> int:
    with torch.device("meta"):
        model = model_class(GPT2018Config(**fields))
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_model_has_the_parameters_that_are_quoted_as_117_million() -> None:
    block = (768 * 2304 + 2304) + (768 * 768 + 768) + (768 * 3072 + 3072) + (3072 * 768 + 768) + 4 * 768
    assert block == 7_087_872
    total = 40_478 * 768 + 512 * 768 + 12 * block
    assert total == 116_534_784 == PAPER_PARAMETERS == count(GPT2018Model) == count(GPT2018ForCausalLM)
    assert round(total / 1e6) == 117 and 12 * block == 85_054_464  # "85m" elsewhere: the blocks alone


def test_each_symbol_of_the_task_formats_adds_a_row() -> None:
    assert count(GPT2018ForCausalLM, vocab_size=40_481) == 116_537_088 == PAPER_PARAMETERS + 3 * 768


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"hidden_size": 10, "num_attention_heads": 4}, "no multiple of num_attention_heads"),
        ({"intermediate_size": 0}, "intermediate_size is 0"),
        ({"classifier_dropout": -0.1}, "classifier_dropout is -0.1"),
        ({"auxiliary_loss_weight": -1}, "auxiliary_loss_weight is -1"),
        ({"initializer_range": 0.0}, "initializer_range is 0"),
        ({"similarity": True}, "without delimiter_token_id"),
    ],
)
def test_values_that_cannot_be_are_refused(fields: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GPT2018Config(**fields)


def test_every_recipe_builds_its_model_on_the_meta_device() -> None:
    row = get_architecture("gpt2018")
    for recipe in row.recipes.values():
        with torch.device("meta"):
            assert row.model_classes["AutoModelForCausalLM"](row.config_class(**recipe["config"]))
