"""The RNN encoder-decoder against the loop-only reference: c, logits, loss and gradients, with pads in the batch."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from rnn_encoder_decoder_reference import decode, log_probability, mean_loss, paper_letters, summary

from hf_attention_zoo import RNNEncoderDecoderForConditionalGeneration

SETTINGS = [("paper", True, 3), ("paper", False, None), ("groundhog", True, 3), ("groundhog", False, None)]
PAIRS = [
    ([5, 9, 4, 11, 6, 3], [7, 4, 8, 3]),
    ([8, 1, 3], [5, 9, 0, 10, 4, 3]),
    ([3], [1, 3]),
    ([10, 10, 7, 3], [3]),
]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


@pytest.fixture(params=SETTINGS, ids=lambda s: "-".join(map(str, s)))
def model(request: pytest.FixtureRequest, build: Callable) -> RNNEncoderDecoderForConditionalGeneration:
    form, biases, rank = request.param
    return build(form, biases=biases, output_rank=rank)


def letters_of(model: torch.nn.Module) -> dict[str, np.ndarray]:
    return paper_letters({name: tensor.double().numpy() for name, tensor in model.state_dict().items()})


def padded(rows: list[list[int]], side: str, fill: int = 0, extra: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask; side "right", "left", or "between": pads in the middle of a row."""
    width = max(map(len, rows)) + extra
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


def batch(side: str = "right", extra: int = 2, order: tuple[int, ...] = (0, 1, 2, 3)) -> dict[str, torch.Tensor]:
    ids, mask = padded([PAIRS[i][0] for i in order], side, extra=extra)
    labels, _ = padded([PAIRS[i][1] for i in order], "right", fill=-100, extra=extra)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("side", ["right", "left", "between"])
def test_summary_logits_loss_and_scores_are_those_of_the_reference(
    model: RNNEncoderDecoderForConditionalGeneration, side: str, dtype: torch.dtype
) -> None:
    model, form = model.to(dtype), model.config.form
    inputs, letters, tolerance = batch(side), letters_of(model), TOLERANCE[dtype]
    with torch.no_grad():
        made = model(**inputs)
        vectors = model.sentence_vectors(inputs["input_ids"], inputs["attention_mask"])
        scores = model.score(**inputs)
    assert made.logits.dtype == dtype and made.cross_attentions is None
    for i, (source, target) in enumerate(PAIRS):
        np.testing.assert_allclose(vectors[i].numpy(), summary(letters, source, form), rtol=0, atol=tolerance)
        wanted = np.array(decode(letters, source, [2, *target[:-1]], form))
        got = made.logits[i, : len(target)].double().numpy()
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
        assert scores[i].item() == pytest.approx(log_probability(letters, source, target, form), rel=tolerance)
    assert made.loss.item() == pytest.approx(mean_loss(letters, PAIRS, form), rel=0, abs=tolerance)


def test_gradients_are_the_complex_step_derivatives_of_the_reference(
    model: RNNEncoderDecoderForConditionalGeneration,
) -> None:
    """A derivative along a random direction of a tensor is wrong if any entry of its gradient is wrong."""
    model(**batch("between")).loss.backward()
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    random, step = np.random.default_rng(0), 1e-30
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        direction = random.standard_normal(parameter.shape)
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name] = moved[name] + 1j * step * direction
        wanted = mean_loss(paper_letters(moved), PAIRS, model.config.form).imag / step
        got = float((parameter.grad.numpy() * direction).sum())
        assert got == pytest.approx(wanted, rel=1e-9, abs=1e-11), name


def test_rows_and_gradients_do_not_depend_on_padding_or_order(
    model: RNNEncoderDecoderForConditionalGeneration,
) -> None:
    order = (2, 0, 3, 1)
    made, gradients = [], []
    for inputs in (batch(), batch(extra=7), batch("left", order=order)):
        model.zero_grad()
        made.append(model.score(**inputs))
        made[-1].sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    for other, gradient, scores in zip(made[1:], gradients[1:], (made[0], made[0][list(order)]), strict=True):
        torch.testing.assert_close(other, scores, rtol=0, atol=1e-10)
        torch.testing.assert_close(gradient, gradients[0], rtol=1e-10, atol=1e-10)


def test_the_two_forms_are_two_models(build: Callable) -> None:
    paper, groundhog = (build(form, biases=False) for form in ("paper", "groundhog"))
    groundhog.load_state_dict({name: tensor for name, tensor in paper.state_dict().items() if "summarise" not in name})
    with torch.no_grad():
        gap = (paper.score(**batch()) - groundhog.score(**batch())).abs()
    assert gap.min() > 1e-3
