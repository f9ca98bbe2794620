"""Parameter counts at the paper's sizes: base, big and every row of Table 3, with their derivation.

Without attention biases, as the paper's formulas stand, and 37,000 shared pieces (Section 5.1):

    table              V d
    encoder layer      4 attention matrices, feed-forward 2 d d_ff + d_ff + d, two norms of 2 d
    decoder layer      8 attention matrices, feed-forward, three norms

The paper prints 65 million for the base model. Its code allocates 40,960 rows for those pieces and has biases in the
attention: with both, all counts of Table 3 come out as printed, but that of the big model (213), which would need some
36,000 rows.
"""

import pytest
import torch

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration, get_architecture
from hf_attention_zoo.models.transformer2017.facts_transformer2017 import BIG_CONFIG, BIG_PARAMETERS, TABLE_3

CODE = {"vocab_size": 40_960, "attention_bias": True}
# millions as printed in Table 3; rows without a figure there have the base model's
PRINTED = {
    "base": 65,
    "A h=1": 65,
    "A h=4": 65,
    "A h=16": 65,
    "A h=32": 65,
    "B d_k=16": 58,
    "B d_k=32": 60,
    "C N=2": 36,
    "C N=4": 50,
    "C N=8": 80,
    "C d=256": 28,
    "C d=1024": 168,
    "C d_ff=1024": 53,
    "C d_ff=4096": 90,
    "D dropout=0.0": 65,
    "D dropout=0.2": 65,
}


def counted(**fields: object) -> int:
    with torch.device("meta"):
        return Transformer2017ForConditionalGeneration(Transformer2017Config(**fields)).num_parameters()


def derived(
    vocabulary: int, d: int = 512, layers: int = 6, heads: int = 8, d_k: int = 64, d_v: int = 64, d_ff: int = 2048
) -> int:
    attention = d * heads * d_k * 2 + d * heads * d_v * 2
    feed_forward = 2 * d * d_ff + d_ff + d
    encoder, decoder = attention + feed_forward + 2 * 2 * d, 2 * attention + feed_forward + 3 * 2 * d
    return vocabulary * d + layers * (encoder + decoder)


def test_the_base_model_has_63_045_632_parameters() -> None:
    row = get_architecture("transformer2017")
    assert row.paper_config().to_dict() == Transformer2017Config().to_dict()
    assert derived(37_000) == 18_944_000 + 6 * 3_150_336 + 6 * 4_199_936 == row.paper_parameters == 63_045_632
    assert counted() == row.paper_parameters


def test_the_big_model_has_214_171_648_parameters() -> None:
    assert derived(37_000, 1024, 6, 16, 64, 64, 4096) == 37_888_000 + 176_283_648 == BIG_PARAMETERS
    assert counted(**BIG_CONFIG) == BIG_PARAMETERS


def test_attention_biases_add_36_864() -> None:
    assert counted(attention_bias=True) - counted() == 18 * 4 * 512 == 36_864


@pytest.mark.parametrize("vocabulary", [32_000, 40_960])
def test_other_vocabularies_change_the_table_alone(vocabulary: int) -> None:
    assert counted(vocab_size=vocabulary) == derived(vocabulary)


@pytest.mark.parametrize("row", PRINTED)
def test_with_the_codes_rows_and_biases_table_3_comes_out(row: str) -> None:
    assert round(counted(**CODE, **TABLE_3[row]) / 1e6) == PRINTED[row]


def test_every_row_of_table_3_is_a_config() -> None:
    assert set(PRINTED) | {"E learned positions", "big"} == set(TABLE_3)
    assert round(counted(**CODE, **TABLE_3["big"]) / 1e6, 1) == 218.3  # printed: 213
    # two tables of learned positions
    learned = counted(**TABLE_3["E learned positions"], max_position_embeddings=256)
    assert learned == counted() + 2 * 256 * 512


def test_torchs_transformer_has_two_norms_more() -> None:
    with torch.device("meta"):
        theirs = torch.nn.Transformer(512, 8, 6, 6, 2048)
    layers = sum(parameter.numel() for parameter in theirs.parameters())
    assert layers == 44_140_544 == derived(0) + 18 * 4 * 512 + 2 * 2 * 512
