"""Parameter counts at the paper's sizes, with their derivation (the paper prints no count).

K = 30,001 rows per vocabulary (30,000 words and the end symbol), m = 620, n = 1000, n' = 1000, l = 500 (A.2.3).
"""

import pytest
import torch

from hf_attention_zoo import RNNsearchForConditionalGeneration, get_architecture

K, M, N, A, L, RANK = 30_001, 620, 1000, 1000, 500, 620

WEIGHTS = {
    "model.encoder.embed_tokens": K * M,  # E_x
    "model.encoder.reader.forward_unit": 3 * N * M + 3 * N * N,  # W, W_z, W_r; U, U_z, U_r
    "model.encoder.reader.backward_unit": 3 * N * M + 3 * N * N,
    "model.decoder.embed_tokens": K * M,  # E_y
    "model.decoder.unit": 3 * N * M + 3 * N * N + 3 * N * 2 * N,  # W..., U..., C...
    "model.decoder.initial_state": N * N,  # W_s
    "model.decoder.attention": A * N + A * 2 * N + A,  # W_a, U_a, v_a
    "model.decoder.readout": 2 * L * N + 2 * L * M + 2 * L * 2 * N,  # U_o, V_o, C_o
    "lm_head": K * L,  # W_o
}
AFFINE_BIASES = {
    "model.encoder.reader.forward_unit": 3 * N,
    "model.encoder.reader.backward_unit": 3 * N,
    "model.decoder.unit": 3 * N,
    "model.decoder.initial_state": N,
    "model.decoder.attention": A,
    "model.decoder.readout": 2 * L,
    "lm_head": K,
}
GROUNDHOG_BIASES = {
    "model.encoder": M,  # on the embeddings
    "model.encoder.reader.forward_unit": N,  # candidate only, the gates have none
    "model.encoder.reader.backward_unit": N,
    "model.decoder": M,
    "model.decoder.unit": N,
    "model.decoder.initial_state": N,
    "model.decoder.readout": 2 * L,
    "lm_head": K,
}


def meta_model(**changes: object) -> RNNsearchForConditionalGeneration:
    config = get_architecture("rnnsearch").paper_config()
    for name, value in changes.items():
        setattr(config, name, value)
    with torch.device("meta"):
        return RNNsearchForConditionalGeneration(config)


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_weights_of_the_equations_are_80_402_740() -> None:
    model = meta_model(biases="none")
    assert {name: count(model.get_submodule(name)) for name in WEIGHTS} == WEIGHTS
    assert count(model) == sum(WEIGHTS.values()) == 80_402_740


def test_one_bias_per_affine_map_gives_80_444_741() -> None:
    row, model = get_architecture("rnnsearch"), meta_model()
    for name, weights in WEIGHTS.items():
        assert count(model.get_submodule(name)) == weights + AFFINE_BIASES.get(name, 0), name
    assert sum(AFFINE_BIASES.values()) == 6_000 + 3_000 + 1_000 + 1_000 + 1_000 + 30_001
    assert count(model) == row.paper_parameters == 80_444_741


def test_the_authors_code_has_84_349_101() -> None:
    model = meta_model(biases="groundhog", output_rank=RANK, decoder_timing="groundhog")
    weights = sum(WEIGHTS.values()) - K * L + L * RANK + RANK * K  # factorised output layer
    assert sum(GROUNDHOG_BIASES.values()) == 1_240 + 2_000 + 1_000 + 1_000 + 1_000 + 30_001
    assert count(model) == weights + sum(GROUNDHOG_BIASES.values()) == 84_349_101


@pytest.mark.parametrize("biases", ["affine", "groundhog", "none"])
def test_biases_stand_where_the_setting_says(biases: str) -> None:
    names = {name for name, _ in meta_model(biases=biases).named_parameters() if "bias" in name}
    assert ("model.encoder.embedding_bias" in names) == (biases == "groundhog")
    assert ("model.decoder.attention.key_projection.bias" in names) == (biases == "affine")
    assert ("lm_head.bias" in names) == (biases != "none")


def test_timings_do_not_change_the_count() -> None:
    counts = {count(meta_model(decoder_timing=timing)) for timing in ("paper", "groundhog", "appendix")}
    assert len(counts) == 1
