"""Initialisation (appendix B.1) and what follows from it."""

import pytest
import torch
from torch import Tensor

from hf_attention_zoo import RNNsearchConfig, RNNsearchForConditionalGeneration


@pytest.fixture(scope="module")
def model() -> RNNsearchForConditionalGeneration:
    torch.manual_seed(1)
    config = RNNsearchConfig(
        vocab_size=300,
        decoder_vocab_size=200,
        embedding_size=40,
        hidden_size=48,
        attention_size=56,
        maxout_size=32,
        output_rank=36,
        biases="affine",
    )
    return RNNsearchForConditionalGeneration(config).eval()


def blocks(model: RNNsearchForConditionalGeneration) -> dict[str, Tensor]:
    """The nine recurrent matrices."""
    found = {}
    for name, parameter in model.named_parameters():
        if name.endswith(("gate_weight", "candidate_weight")):
            for k, block in enumerate(parameter.detach().split(parameter.shape[1])):
                found[f"{name}[{k}]"] = block
    return found


def test_all_nine_recurrent_matrices_are_orthogonal(model: RNNsearchForConditionalGeneration) -> None:
    found = blocks(model)
    assert len(found) == 9
    for name, block in found.items():
        torch.testing.assert_close(block @ block.T, torch.eye(len(block)), rtol=0, atol=1e-5, msg=name)


def test_each_recurrent_matrix_is_drawn_on_its_own(model: RNNsearchForConditionalGeneration) -> None:
    found = list(blocks(model).values())
    for i, first in enumerate(found):
        for second in found[:i]:
            assert (first - second).abs().max() > 0.1


def test_alignment_weights_are_a_tenth_as_wide_as_the_others(model: RNNsearchForConditionalGeneration) -> None:
    expected = {
        "model.decoder.attention.query_projection.weight": 0.001,
        "model.decoder.attention.key_projection.weight": 0.001,
    }
    for name, parameter in model.named_parameters():
        if parameter.ndim < 2 or name.endswith(("gate_weight", "candidate_weight")):
            continue
        wanted = expected.get(name, 0.01)
        assert parameter.std().item() == pytest.approx(wanted, rel=0.1), name
        assert abs(parameter.mean().item()) < 0.1 * wanted, name


def test_score_vector_and_biases_start_at_zero(model: RNNsearchForConditionalGeneration) -> None:
    vectors = {name: parameter for name, parameter in model.named_parameters() if parameter.ndim == 1}
    assert len(vectors) == 8 and "model.decoder.attention.score_vector" in vectors
    assert all((vector == 0).all() for vector in vectors.values())


def test_attention_of_a_new_model_is_uniform_over_real_tokens(model: RNNsearchForConditionalGeneration) -> None:
    ids = torch.randint(4, 200, (3, 6))
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]])
    with torch.no_grad():
        (weights,) = model(ids, mask, decoder_input_ids=ids[:, :4], output_attentions=True).cross_attentions
    wanted = (mask / mask.sum(1, keepdim=True))[:, None, None].expand_as(weights)
    torch.testing.assert_close(weights, wanted, rtol=0, atol=1e-7)


def test_initialisation_is_that_of_the_config_when_it_says_otherwise() -> None:
    config = RNNsearchConfig(
        vocab_size=300,
        embedding_size=40,
        hidden_size=48,
        attention_size=56,
        maxout_size=32,
        initializer_range=0.2,
        attention_initializer_range=0.05,
    )
    model = RNNsearchForConditionalGeneration(config)
    assert model.model.encoder.embed_tokens.weight.std().item() == pytest.approx(0.2, rel=0.1)
    assert model.model.decoder.attention.key_projection.weight.std().item() == pytest.approx(0.05, rel=0.1)


def test_the_same_seed_gives_the_same_model() -> None:
    config = RNNsearchConfig(vocab_size=20, embedding_size=4, hidden_size=6, attention_size=5, maxout_size=3)
    states = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        states.append(RNNsearchForConditionalGeneration(config).state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[0]["lm_head.weight"], states[2]["lm_head.weight"])
