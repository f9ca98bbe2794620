"""RNNsearch against the loop-only reference: logits, alignments, loss and gradients, with padding in the batch."""

import numpy as np
import pytest
import torch
from rnnsearch_reference import annotations, decode, initial_state, mean_loss, paper_letters

from hf_attention_zoo import RNNsearchConfig, RNNsearchForConditionalGeneration

SETTINGS = [
    (timing, biases, rank)
    for timing in ("paper", "groundhog", "appendix")
    for biases, rank in (("affine", None), ("groundhog", 6), ("none", None))
]
PAIRS = [
    ([5, 9, 4, 11, 6, 3], [7, 4, 8, 3]),
    ([8, 1, 3], [5, 9, 6, 10, 4, 3]),
    ([3], [1, 3]),
    ([10, 10, 7, 3], [3]),
]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


@pytest.fixture(params=SETTINGS, ids=lambda s: "-".join(map(str, s)))
def model(request: pytest.FixtureRequest) -> RNNsearchForConditionalGeneration:
    timing, biases, rank = request.param
    config = RNNsearchConfig(
        vocab_size=12,
        decoder_vocab_size=11,
        embedding_size=4,
        hidden_size=5,
        attention_size=3,
        maxout_size=7,
        decoder_timing=timing,
        biases=biases,
        output_rank=rank,
    )
    built = RNNsearchForConditionalGeneration(config).double().eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.normal_(std=0.6)
    return built


def letters_of(model: torch.nn.Module) -> dict[str, np.ndarray]:
    return paper_letters({name: tensor.double().numpy() for name, tensor in model.state_dict().items()})


def padded(rows: list[list[int]], side: str, fill: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask; side "right", "left", or "between": half of the pads on each side of the middle."""
    width = max(map(len, rows)) + 2
    ids, mask = torch.full((len(rows), width), fill), torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        free = width - len(row)
        places = {
            "right": list(range(len(row))),
            "left": list(range(free, width)),
            "between": [*range(len(row) // 2), *range(len(row) // 2 + free, width)],
        }[side]
        ids[i, places], mask[i, places] = torch.tensor(row), 1
    return ids, mask


def batch(side: str) -> dict[str, torch.Tensor]:
    ids, mask = padded([source for source, _ in PAIRS], side)
    labels, _ = padded([target for _, target in PAIRS], "right", fill=-100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("side", ["right", "left", "between"])
def test_logits_alignments_and_loss_are_those_of_the_reference(
    model: RNNsearchForConditionalGeneration, side: str, dtype: torch.dtype
) -> None:
    model = model.to(dtype)
    inputs, letters, timing = batch(side), letters_of(model), model.config.decoder_timing
    with torch.no_grad():
        made = model(**inputs, output_attentions=True)
    assert made.logits.dtype == dtype
    (alignment,) = made.cross_attentions
    for i, (source, target) in enumerate(PAIRS):
        logits, alphas = decode(letters, source, [2, *target[:-1]], timing)
        got = made.logits[i, : len(target)].double().numpy()
        np.testing.assert_allclose(got, np.array(logits), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        weights = alignment[i, 0, : len(target)].double().numpy()
        real = inputs["attention_mask"][i].bool().numpy()
        np.testing.assert_allclose(weights[:, real], np.array(alphas), rtol=0, atol=TOLERANCE[dtype])
        assert (weights[:, ~real] == 0).all()
    wanted = mean_loss(letters, PAIRS, 2, timing)
    assert made.loss.item() == pytest.approx(wanted, rel=0, abs=TOLERANCE[dtype])


def test_annotations_and_first_state_are_those_of_the_reference(model: RNNsearchForConditionalGeneration) -> None:
    inputs, letters = batch("right"), letters_of(model)
    with torch.no_grad():
        encoded = model.model.encoder(inputs["input_ids"], inputs["attention_mask"]).last_hidden_state
        first = model.model.decoder.begin(encoded, inputs["attention_mask"], 1)["hidden"]
    for i, (source, _) in enumerate(PAIRS):
        wanted = annotations(letters, source)
        np.testing.assert_allclose(encoded[i, : len(source)].numpy(), np.array(wanted), rtol=0, atol=1e-12)
        assert (encoded[i, len(source) :] == 0).all()
        np.testing.assert_allclose(first[i].numpy(), initial_state(letters, wanted), rtol=0, atol=1e-12)


def test_gradients_are_the_complex_step_derivatives_of_the_reference(
    model: RNNsearchForConditionalGeneration,
) -> None:
    """A derivative along a random direction of a tensor is wrong if any entry of its gradient is wrong."""
    model(**batch("between")).loss.backward()
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    random, step = np.random.default_rng(0), 1e-30
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        for _ in range(2):
            direction = random.standard_normal(parameter.shape)
            moved = {key: value.astype(complex) for key, value in state.items()}
            moved[name] = moved[name] + 1j * step * direction
            wanted = mean_loss(paper_letters(moved), PAIRS, 2, model.config.decoder_timing).imag / step
            got = float((parameter.grad.numpy() * direction).sum())
            assert got == pytest.approx(wanted, rel=1e-9, abs=1e-11), name


def test_every_entry_of_small_gradients_is_right(model: RNNsearchForConditionalGeneration) -> None:
    model(**batch("right")).loss.backward()
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    name = "model.decoder.attention.score_vector"
    wanted = []
    for k in range(len(state[name])):
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name][k] += 1e-30j
        wanted.append(mean_loss(paper_letters(moved), PAIRS, 2, model.config.decoder_timing).imag / 1e-30)
    got = model.get_parameter(name).grad.numpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_float32_gradients_agree_with_float64(model: RNNsearchForConditionalGeneration) -> None:
    inputs = batch("right")
    model(**inputs).loss.backward()
    exact = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    model.float()(**inputs).loss.backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad.double(), exact[name], rtol=1e-4, atol=1e-5, msg=name)


def test_reference_derivatives_agree_with_finite_differences(model: RNNsearchForConditionalGeneration) -> None:
    """A check of the reference itself: the complex step is the limit of plain differences."""
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    name, step, timing = "model.decoder.unit.candidate_weight", 1e-6, model.config.decoder_timing

    def loss(shift: complex) -> complex:
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name][1, 2] += shift
        return mean_loss(paper_letters(moved), PAIRS, 2, timing)

    plain = (loss(step) - loss(-step)).real / (2 * step)
    assert plain == pytest.approx(loss(1e-30j).imag / 1e-30, rel=1e-6, abs=1e-9)
