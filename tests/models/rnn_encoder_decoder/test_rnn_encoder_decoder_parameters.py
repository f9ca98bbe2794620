"""Parameter counts at the paper's sizes, with their derivation (the paper prints no count), and the first weights.

K = 15,001 rows per vocabulary (15,000 words and the end symbol), d = 100, n = 1000, l = 500, G of rank 100.
"""

import pytest
import torch

from hf_attention_zoo import RNNEncoderDecoderConfig, RNNEncoderDecoderForConditionalGeneration, get_architecture

K, D, N, L, RANK = 15_001, 100, 1000, 500, 100

WEIGHTS = {
    "model.encoder.embed_tokens": K * D,  # E_x
    "model.encoder.unit": 3 * N * D + 3 * N * N,  # W, W_z, W_r; U, U_z, U_r
    "model.encoder.summarise": N * N,  # V
    "model.decoder.embed_tokens": K * D,  # E_y
    "model.decoder.initial_state": N * N,  # V'
    "model.decoder.unit": 3 * N * D + 3 * N * N + 3 * N * N,  # W'...; U'...; C, C_z, C_r
    "model.decoder.readout": 2 * L * N + 2 * L * D + 2 * L * N,  # O_h, O_y, O_c
    "model.decoder.output_factor": L * RANK,  # G, first factor
    "lm_head": RANK * K,  # G, second factor
}
AFFINE_BIASES = {
    "model.encoder.unit": 3 * N,
    "model.encoder.summarise": N,
    "model.decoder.initial_state": N,
    "model.decoder.unit": 3 * N,
    "model.decoder.readout": 2 * L,
    "lm_head": K,
}
GROUNDHOG_BIASES = {
    "model.encoder.unit": N,  # candidate only, the gates have none
    "model.decoder.initial_state": N,
    "model.decoder.unit": N,
    "model.decoder.readout": 2 * L,
    "lm_head": K,
}


def meta_model(**changes: object) -> RNNEncoderDecoderForConditionalGeneration:
    config = get_architecture("rnn_encoder_decoder").paper_config()
    for name, value in changes.items():
        setattr(config, name, value)
    with torch.device("meta"):
        return RNNEncoderDecoderForConditionalGeneration(config)


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_weights_of_the_equations_are_18_250_300() -> None:
    model = meta_model(biases=False)
    assert {name: count(model.get_submodule(name)) for name in WEIGHTS} == WEIGHTS
    assert count(model) == sum(WEIGHTS.values()) == 18_250_300


def test_one_bias_per_affine_map_gives_18_274_301() -> None:
    model = meta_model()
    for name, weights in WEIGHTS.items():
        assert count(model.get_submodule(name)) == weights + AFFINE_BIASES.get(name, 0), name
    assert sum(AFFINE_BIASES.values()) == 3_000 + 3_000 + 1_000 + 1_000 + 1_000 + 15_001
    assert count(model) == get_architecture("rnn_encoder_decoder").paper_parameters == 18_274_301


def test_the_authors_code_has_17_269_501() -> None:
    model = meta_model(form="groundhog")
    for name, weights in WEIGHTS.items():
        if name != "model.encoder.summarise":  # their c is h_N
            assert count(model.get_submodule(name)) == weights + GROUNDHOG_BIASES.get(name, 0), name
    assert model.model.encoder.embedding_bias.numel() == model.model.decoder.embedding_bias.numel() == D
    assert count(model) == sum(WEIGHTS.values()) - N * N + sum(GROUNDHOG_BIASES.values()) + 2 * D == 17_269_501


# --- first weights (Section 4.1) -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["paper", "groundhog"])
def fresh(request: pytest.FixtureRequest) -> RNNEncoderDecoderForConditionalGeneration:
    torch.manual_seed(1)
    config = RNNEncoderDecoderConfig(
        vocab_size=300, decoder_vocab_size=200, embedding_size=40, hidden_size=48, maxout_size=32, form=request.param
    )
    return RNNEncoderDecoderForConditionalGeneration(config)


def test_each_recurrent_matrix_is_orthogonal_and_drawn_on_its_own(
    fresh: RNNEncoderDecoderForConditionalGeneration,
) -> None:
    blocks = [
        block
        for name, parameter in fresh.named_parameters()
        if name.endswith(("gate_weight", "candidate_weight"))
        for block in parameter.detach().split(parameter.shape[1])
    ]
    assert len(blocks) == 6
    for i, block in enumerate(blocks):
        torch.testing.assert_close(block @ block.T, torch.eye(48), rtol=0, atol=1e-5)
        assert all((block - other).abs().max() > 0.1 for other in blocks[:i])


def test_biases_start_at_zero_and_other_weights_with_a_deviation_of_a_hundredth(
    fresh: RNNEncoderDecoderForConditionalGeneration,
) -> None:
    for name, parameter in fresh.named_parameters():
        if parameter.ndim == 1:
            assert (parameter == 0).all(), name
        elif not name.endswith(("gate_weight", "candidate_weight")):
            assert parameter.std().item() == pytest.approx(0.01, rel=0.1), name
            assert abs(parameter.mean().item()) < 1e-3, name


def test_one_step_of_the_papers_optimiser_by_hand() -> None:
    from hf_attention_zoo.training.optimizers import optimizer_class

    recipe = get_architecture("rnn_encoder_decoder").recipes["paper"]["training"]
    arguments = type("Arguments", (), recipe)
    chosen, constants = optimizer_class(recipe["optimizer"], arguments)
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = chosen([weight], **constants)
    wanted, squares, steps = weight.detach().clone(), torch.zeros(2).double(), torch.zeros(2).double()
    for gradient in (torch.tensor([0.5, -3.0]).double(), torch.tensor([0.1, 1.0]).double()):
        weight.grad = gradient.clone()
        optimizer.step()
        squares = 0.95 * squares + 0.05 * gradient**2
        step = -((steps + 1e-6) / (squares + 1e-6)).sqrt() * gradient
        steps = 0.95 * steps + 0.05 * step**2
        wanted += step
    torch.testing.assert_close(weight.detach(), wanted, rtol=1e-12, atol=0)
    assert (recipe["loss_scale"], recipe["max_grad_norm"]) == ("batch_sum", 1.0)
    assert (recipe["per_device_train_batch_size"], recipe["pool_batches"]) == (64, 10)
