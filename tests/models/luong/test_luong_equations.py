"""Luong's models against the loop-only reference: every score, window and feeding, with padding in the batch."""

import numpy as np
import pytest
import torch
from luong_reference import Choices, decode, encode, mean_loss, paper_letters

from hf_attention_zoo.models.luong.configuration_luong import LuongConfig
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration

SETTINGS = [
    (score, window, feed)
    for score in ("dot", "general", "concat", "location")
    for window in ("global", "local-m", "local-p")
    for feed in (True, False)
    if score != "location" or window == "global"
]
PAIRS = [
    ([5, 9, 4, 11, 6, 7, 8, 3], [7, 4, 8, 5, 9, 6, 10, 7, 4, 3]),
    ([8, 1, 3], [5, 9, 6, 10, 4, 3]),
    ([3], [1, 3]),
    ([10, 10, 7, 6, 3], [3]),
    ([9, 4], [6, 8, 3]),  # cut off: it does not end with the end symbol
]
SIZES = {
    "vocab_size": 12,
    "decoder_vocab_size": 11,
    "embedding_size": 4,
    "hidden_size": 5,
    "num_hidden_layers": 2,
    "window_half_width": 2,
    "location_max_length": 6,
}
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def build(score: str, window: str, feed: bool, **more: object) -> LuongForConditionalGeneration:
    config = LuongConfig(**SIZES, attention_score=score, attention_window=window, input_feeding=feed, **more)
    model = LuongForConditionalGeneration(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model


def choices_of(model: LuongForConditionalGeneration) -> Choices:
    config = model.config
    return Choices(
        config.attention_score,
        config.attention_window,
        config.input_feeding,
        config.num_hidden_layers,
        config.window_half_width,
        config.eos_token_id,
        config.source_eos,
        config.reverse_source,
    )


def letters_of(model: LuongForConditionalGeneration) -> dict[str, np.ndarray]:
    state = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    return paper_letters(state, choices_of(model))


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


def check_against_reference(model: LuongForConditionalGeneration, side: str, dtype: torch.dtype) -> None:
    model = model.to(dtype)
    inputs, letters, choices = batch(side), letters_of(model), choices_of(model)
    with torch.no_grad():
        made = model(**inputs, output_attentions=True)
    assert made.logits.dtype == dtype
    (alignment,) = made.cross_attentions
    for i, (source, target) in enumerate(PAIRS):
        logits, rows = decode(letters, source, [2, *target[:-1]], choices)
        got = made.logits[i, : len(target)].double().numpy()
        np.testing.assert_allclose(got, np.array(logits), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        weights = alignment[i, 0, : len(target)].double().numpy()
        real = inputs["attention_mask"][i].bool().numpy()
        np.testing.assert_allclose(weights[:, real], np.array(rows), rtol=0, atol=TOLERANCE[dtype])
        assert (weights[:, ~real] == 0).all()
    wanted = mean_loss(letters, PAIRS, 2, choices)
    assert made.loss.item() == pytest.approx(wanted, rel=0, abs=TOLERANCE[dtype])


def check_gradients(model: LuongForConditionalGeneration) -> None:
    """A derivative along a random direction of a tensor is wrong if any entry of its gradient is wrong."""
    model(**batch("between")).loss.backward()
    choices = choices_of(model)
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    random, step = np.random.default_rng(0), 1e-30
    for name, parameter in model.named_parameters():
        direction = random.standard_normal(parameter.shape)
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name] = moved[name] + 1j * step * direction
        wanted = mean_loss(paper_letters(moved, choices), PAIRS, 2, choices).imag / step
        got = float((parameter.grad.numpy() * direction).sum())
        assert got == pytest.approx(wanted, rel=1e-9, abs=1e-11), name


@pytest.mark.parametrize(
    ("side", "dtype"),
    [("right", torch.float64), ("left", torch.float64), ("between", torch.float64), ("right", torch.float32)],
    ids=str,
)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(map(str, s)))
def test_logits_alignments_and_loss_are_those_of_the_reference(
    setting: tuple[str, str, bool], side: str, dtype: torch.dtype
) -> None:
    check_against_reference(build(*setting), side, dtype)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(map(str, s)))
def test_gradients_are_the_complex_step_derivatives_of_the_reference(setting: tuple[str, str, bool]) -> None:
    check_gradients(build(*setting))


@pytest.mark.parametrize("window", ["global", "local-m", "local-p"])
def test_released_form_of_concat_is_the_reference_with_an_identity(window: str) -> None:
    model = build("concat", window, True, concat_source_weight="identity")
    assert not any("key_projection" in name for name, _ in model.named_parameters())
    check_against_reference(model, "right", torch.float64)
    check_gradients(model)


@pytest.mark.parametrize("setting", SETTINGS[::3], ids=lambda s: "-".join(map(str, s)))
@pytest.mark.parametrize(("source_eos", "reverse"), [(False, True), (True, False), (False, False)])
def test_reading_order_and_end_symbol_follow_the_config(
    setting: tuple[str, str, bool], source_eos: bool, reverse: bool
) -> None:
    model = build(*setting, source_eos=source_eos, reverse_source=reverse)
    check_against_reference(model, "left", torch.float64)
    check_gradients(model)


def test_states_stand_at_their_words_and_the_decoder_starts_from_the_last_of_every_layer() -> None:
    model = build("general", "global", True)
    inputs, letters = batch("right"), letters_of(model)
    with torch.no_grad():
        encoded = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"])
    state = model.model.decoder.begin(encoded, 1)
    assert (state["attentional"] == 0).all()
    for i, (source, _) in enumerate(PAIRS):
        states, hs, cs = encode(letters, source, choices_of(model))
        np.testing.assert_allclose(encoded.last_hidden_state[i, : len(source)], np.array(states), rtol=0, atol=1e-12)
        assert (encoded.last_hidden_state[i, len(source) :] == 0).all()
        for layer in range(2):
            np.testing.assert_allclose(state[f"hidden_{layer}"][i], hs[layer], rtol=0, atol=1e-12)
            np.testing.assert_allclose(state[f"cell_{layer}"][i], cs[layer], rtol=0, atol=1e-12)


def test_half_position_gradient_halves_only_what_flows_through_the_predicted_position() -> None:
    full = build("general", "local-p", False)
    half = build("general", "local-p", False, position_gradient="half")
    half.load_state_dict(full.state_dict())
    inputs = batch("right")
    losses = []
    for model in (full, half):
        loss = model(**inputs).loss
        loss.backward()
        losses.append(loss.item())
    assert losses[0] == losses[1]
    for name in ("position_projection", "position_vector"):
        wanted = full.get_parameter(f"model.decoder.attention.{name}.weight").grad / 2
        got = half.get_parameter(f"model.decoder.attention.{name}.weight").grad
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-15)
        assert wanted.abs().max() > 1e-6
    torch.testing.assert_close(half.lm_head.weight.grad, full.lm_head.weight.grad)


def test_float32_gradients_agree_with_float64() -> None:
    model, inputs = build("concat", "local-p", True), batch("right")
    model(**inputs).loss.backward()
    exact = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    model.float()(**inputs).loss.backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad.double(), exact[name], rtol=1e-4, atol=1e-5, msg=name)
