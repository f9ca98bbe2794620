"""Parameter counts of the paper's three experiments and of their pruned forms, with their derivation; initialisation.

The paper's Table 4 prints 55.3M (Yelp) and 95.0M (pairs) in all, and for the layers alone 54M + 15K, and pruned 2.7M +
52.5K and the like; the counts below leave the embeddings of V words out, and have one bias a gate.
"""

import pytest
import torch

from hf_attention_zoo.models.self_attentive.configuration_self_attentive import SelfAttentiveConfig
from hf_attention_zoo.models.self_attentive.facts_self_attentive import (
    AGE_CONFIG,
    PAPER_CONFIG,
    PAPER_PARAMETERS,
    PRUNED,
    SNLI_CONFIG,
)
from hf_attention_zoo.models.self_attentive.modeling_self_attentive import SelfAttentiveForSequenceClassification

U, R, V = 600, 30, 7


def lstm(d: int) -> int:
    return 2 * 4 * (300 * (d + 300) + 300)


def parts(config: dict[str, object]) -> dict[str, int]:
    """Parameters of each part of the model."""
    with torch.device("meta"):
        model = SelfAttentiveForSequenceClassification(SelfAttentiveConfig(**{"vocab_size": V, **config}))
    counts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = name.removeprefix("model.").split(".")[0]
        counts[part] = counts.get(part, 0) + parameter.numel()
    return counts


def test_yelp_has_55_million_without_embeddings() -> None:
    found = parts(PAPER_CONFIG)
    assert found == {
        "embed_tokens": 100 * V,
        "lstm": lstm(100),
        "attention": 350 * U + R * 350,
        "connection": U * R * 3000 + 3000,
        "classifier": 3000 * 5 + 5,
    }
    assert lstm(100) == 962_400 and sum(found.values()) - 100 * V == 55_200_905
    assert PAPER_PARAMETERS == 55_200_905 + 100 * 50_000


def test_age_has_37_million_without_embeddings() -> None:
    found = parts(AGE_CONFIG)
    assert found["connection"] == U * R * 2000 + 2000 and found["classifier"] == 2000 * 5 + 5
    assert sum(found.values()) - 100 * V == 37_194_905


def test_sentence_pairs_have_95_million_without_embeddings() -> None:
    found = parts(SNLI_CONFIG)
    assert found == {
        "embed_tokens": 300 * V,
        "lstm": lstm(300),
        "attention": 150 * U + R * 150,
        "gated": 2 * R * U * 600,
        "connection": R * 600 * 4000 + 4000,
        "classifier": 4000 * 3 + 3,
    }
    assert sum(found.values()) - 300 * V == 95_152_903


@pytest.mark.parametrize(
    ("base", "name", "rows", "columns", "output"),
    [
        (PAPER_CONFIG, "yelp", 2_704_500, 186_000, 52_505),
        (AGE_CONFIG, "age", 450_750, 372_000, 63_755),
        (SNLI_CONFIG, "snli", 5_409_000, 186_000, 45_003),
    ],
    ids=["yelp", "age", "snli"],
)
def test_pruned_connections_have_the_counts_of_the_appendix(
    base: dict[str, object], name: str, rows: int, columns: int, output: int
) -> None:
    choices = PRUNED[name]
    p, q = choices["row_group_size"], choices["column_group_size"]
    assert R * U * p + R * p == rows and U * R * q + U * q == columns
    found = parts({**base, **choices})
    assert found["connection"] == rows + columns
    assert found["classifier"] == (R * p + U * q) * base["num_labels"] + base["num_labels"] == output


def test_weights_start_as_the_config_says() -> None:
    config = SelfAttentiveConfig(
        vocab_size=300, hidden_size=60, attention_size=50, classifier_size=200, sentence_pairs=True, num_hops=6
    )
    model = SelfAttentiveForSequenceClassification(config)
    for name, parameter in model.named_parameters():
        if "bias" in name:
            assert (parameter == 0).all(), name
        elif "embed" in name or "lstm" in name:
            assert parameter.std().item() == pytest.approx(0.1, rel=0.05), name
        else:  # Glorot, for each matrix of a stack
            reach = (6 / sum(parameter.shape[-2:])) ** 0.5
            assert 0.9 * reach < parameter.abs().max() <= reach, name
