"""The configuration: defaults, other names, and values that are refused."""

from pathlib import Path

import pytest

from hf_attention_zoo.models.self_attentive.configuration_self_attentive import SelfAttentiveConfig
from hf_attention_zoo.models.self_attentive.facts_self_attentive import RECIPES, TINY_CONFIG


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("hidden_size", 0, "hidden_size is 0; sizes are 1 or more"),
        ("num_hops", -1, "num_hops is -1"),
        ("gated_size", 0, "gated_size is 0"),
        ("dropout", 1.0, "dropout is 1.0; give a probability"),
        ("embedding_dropout", -0.1, "embedding_dropout is -0.1"),
        ("penalty_coefficient", -1.0, r"penalty_coefficient is -1.0; give 0 \(no penalty\) or more"),
        ("penalty_norm", "frobenius", "penalty_norm is 'frobenius'; choose one of squared, unsquared"),
        ("connection", "sparse", "connection is 'sparse'; choose one of full, pruned"),
        ("initializer_range", 0.0, "initializer_range is 0.0"),
    ],
)
def test_wrong_values_are_refused_with_what_is_allowed(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SelfAttentiveConfig(**{**TINY_CONFIG, field: value})


def test_hops_are_heads_to_tools_that_ask_for_heads() -> None:
    config = SelfAttentiveConfig(num_attention_heads=7)
    assert config.num_hops == config.num_attention_heads == 7


def test_choices_survive_saving(tmp_path: Path) -> None:
    config = SelfAttentiveConfig(**TINY_CONFIG, sentence_pairs=True, connection="pruned", penalty_norm="unsquared")
    config.save_pretrained(tmp_path)
    again = SelfAttentiveConfig.from_pretrained(tmp_path)
    assert (again.sentence_pairs, again.connection, again.penalty_norm) == (True, "pruned", "unsquared")


def test_the_papers_three_recipes_are_there() -> None:
    assert {"paper", "paper-age", "paper-snli", "small", "small-pairs"} <= RECIPES.keys()
    snli = RECIPES["paper-snli"]
    assert snli["config"]["sentence_pairs"] and snli["config"]["penalty_coefficient"] == 0.3
    assert snli["training"]["optim"] == "adagrad" and snli["training"]["learning_rate"] == 0.01
    assert RECIPES["paper"]["training"]["max_grad_norm"] == 0.5 and RECIPES["paper"]["training"]["optim"] == "sgd"
    assert RECIPES["paper-age"]["training"]["per_device_train_batch_size"] == 16
