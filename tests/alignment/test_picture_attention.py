"""Where a captioner looked: aligned with its own captions, upsampled, drawn, written and read back."""

from __future__ import annotations

from pathlib import Path

import captioners
import numpy as np
import pytest
import torch
from PIL import Image

from hf_attention_zoo import PictureAttention, align
from hf_attention_zoo.alignment.results.picture_upsampling import upsample


@pytest.mark.parametrize("num_beams", [1, 4])
def test_weights_are_those_of_the_caption_that_was_written(num_beams: int) -> None:
    model, processor = captioners.make_captioner()
    pictures = captioners.pictures()
    found = align(model, processor, pictures, num_beams=num_beams, max_new_tokens=7, batch_size=2)
    for one, picture in zip(found, pictures, strict=True):
        pixels = processor(images=picture)["pixel_values"]
        sequence = model.generate(pixel_values=pixels, num_beams=num_beams, max_new_tokens=7)
        assert one.caption == processor.decode(sequence[0], skip_special_tokens=True)
        read = model(pixel_values=pixels, decoder_input_ids=sequence[:, :-1], output_attentions=True)
        wanted = read.cross_attentions[0][0, 0].detach().numpy().reshape(-1, 4, 6)
        count = len(one.tokens)
        np.testing.assert_allclose(one.weights, wanted[:count], atol=1e-6)
        np.testing.assert_allclose(one.gates, read.context_gates[0, :count, 0].detach().numpy(), atol=1e-6)
        np.testing.assert_allclose(one.weights.sum((1, 2)), 1, atol=1e-5)
        assert np.array_equal(one.picture, np.asarray(processor.image_processor.fitted(picture)))


def test_captions_of_others_are_looked_at_with_their_end_and_without_pads() -> None:
    model, processor = captioners.make_captioner()
    found = align(model, processor, captioners.pictures(2), captions=["a red square", "a"])
    assert [one.tokens for one in found] == [("a", "red", "square", "</s>"), ("a", "</s>")]
    assert [one.caption for one in found] == ["a red square", "a"]


def test_hard_attention_shows_the_places_that_were_chosen() -> None:
    model, processor = captioners.make_captioner(attention="hard", hard_evaluation="argmax")
    (one,) = align(model, processor, captioners.pictures(1), max_new_tokens=4)
    assert set(np.unique(one.weights)) == {0.0, 1.0}
    assert one.best_regions() == [tuple(map(int, np.argwhere(grid)[0])) for grid in one.weights]


def test_a_model_without_a_gate_has_none_and_training_mode_stays() -> None:
    model, processor = captioners.make_captioner(context_gate=False)
    model.train()
    (one,) = align(model, processor, captioners.pictures(1)[0], max_new_tokens=4)
    assert one.gates is None and model.training
    assert one.plot() is not None and "β" not in one.to_html()


def test_regions_stand_in_for_what_the_encoder_makes() -> None:
    model, processor = captioners.make_captioner()
    made, options = captioners.pictures(), {"num_beams": 2, "max_new_tokens": 6, "batch_size": 2}
    regions = model.get_encoder()(pixel_values=processor(images=made)["pixel_values"]).last_hidden_state.detach()
    wanted = align(model, processor, made, **options)
    for given in (regions, [one.numpy() for one in regions]):
        for one, other in zip(align(model, processor, made, annotations=given, **options), wanted, strict=True):
            assert (one.tokens, one.caption) == (other.tokens, other.caption)
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
            assert np.array_equal(one.picture, other.picture)


def test_a_model_that_reads_regions_alone_is_drawn() -> None:
    model, processor = captioners.make_captioner(image_encoder="regions", encoder_channels=None)
    made, regions = captioners.pictures(2), torch.randn(2, 24, 6)
    found = align(model, processor, made, annotations=regions, captions=["a red square", "a"])
    assert found[0].weights.shape == (4, 4, 6) and found[0].plot() is not None
    (one,) = align(model, processor, made[0], annotations=regions[0], captions="a red square")
    np.testing.assert_allclose(one.weights, found[0].weights, atol=1e-6)
    with pytest.raises(ValueError, match="give annotations"):
        align(model, processor, made)
    for wrong, message in (
        (regions[:1], "2 pictures, but annotations of 1"),
        ([regions[0], regions[1, :20]], "pictures of one call share one"),
        ([regions[0], "x"], "the annotations of picture 1 are no numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            align(model, processor, made, annotations=wrong)


def test_wrong_calls_are_refused() -> None:
    model, processor = captioners.make_captioner()
    made = captioners.pictures(2)
    with pytest.raises(ValueError, match="reads no pictures; give the processor"):
        align(model, processor.tokenizer, made)
    with pytest.raises(ValueError, match="2 pictures, but 1 captions"):
        align(model, processor, made, captions="a")
    with pytest.raises(ValueError, match="nothing is searched"):
        align(model, processor, made, captions=["a", "a"], num_beams=2)
    with pytest.raises(ValueError, match="picture 0"):
        align(model, processor, ["nowhere.png"])
    with pytest.raises(ValueError, match="one caption per picture"):
        align(model, processor, made, num_return_sequences=2, num_beams=2)


def test_it_is_drawn_written_and_read_back(tmp_path: Path) -> None:
    model, processor = captioners.make_captioner()
    (one,) = align(model, processor, captioners.pictures(1), captions=["빨간 네모: 하나"])
    one.plot(tmp_path / "in" / "a.png", columns=3)
    with Image.open(tmp_path / "in" / "a.png") as drawn:
        assert min(drawn.size) > 200
    page = one.to_html(tmp_path / "a.html")
    assert "네모" in page and page.count("<figure>") == len(one.tokens) + 1 and "http" not in page.split("</title>")[1]
    assert PictureAttention.from_json(one.to_json(tmp_path / "a.json")) == one
    assert PictureAttention.from_json(tmp_path / "a.json") == one and "빨간" in repr(one)
    with pytest.raises(ValueError, match="the suffix must be one of"):
        one.plot(tmp_path / "a.bmp")
    with pytest.raises(ValueError, match="missing"):
        PictureAttention.from_json("{}")


def test_the_brightest_place_is_where_the_weight_is() -> None:
    from hf_attention_zoo.alignment.drawing.picture_attention_plot import panel_pictures

    weights = np.zeros((1, 4, 4), dtype=np.float32)
    weights[0, 1, 3] = 1.0
    white = np.full((64, 64, 3), 255, dtype=np.uint8)
    seen = PictureAttention(("a",), weights, None, white)
    (panel,) = panel_pictures(seen, 0.5, 1.0)
    row, column = np.unravel_index(int(panel[..., 0].argmax()), (64, 64))
    assert 16 <= row < 32 and column >= 48
    assert panel[60, 2, 0] == 0
    assert np.array_equal(panel_pictures(seen, 0.5, 0.0)[0], white)


def test_upsampling_keeps_what_is_even_and_smooths_what_is_not() -> None:
    np.testing.assert_allclose(upsample(np.full((2, 3, 4), 0.25), 30, 40), 0.25, rtol=1e-5)
    spike = np.zeros((5, 5), dtype=np.float32)
    spike[2, 2] = 1.0
    sharp, soft = upsample(spike, 50, 50, 0.0), upsample(spike, 50, 50, 1.0)
    assert sharp.max() > 0.9 and soft.max() < 0.5 and abs(float(soft.sum() / sharp.sum()) - 1) < 0.05
    np.testing.assert_allclose(soft, soft[::-1, ::-1], atol=1e-6)
    np.testing.assert_allclose(soft, soft.T, atol=1e-6)
    with pytest.raises(ValueError, match="give a standard deviation"):
        upsample(spike, 10, 10, -1.0)
    with pytest.raises(ValueError, match="give"):
        upsample(np.zeros(3), 10, 10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": np.zeros((1, 2, 2))}, "2 tokens have weights of shape"),
        ({"gates": np.zeros(3)}, "2 tokens have 3 gates"),
        ({"picture": np.zeros((4, 4))}, "the picture has shape"),
        ({"weights": np.full((2, 2, 2), np.nan)}, "NaN or infinity"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict, message: str) -> None:
    fields = {"tokens": ("a", "b"), "weights": np.zeros((2, 2, 2)), "gates": None, "picture": np.zeros((4, 4, 3))}
    with pytest.raises(ValueError, match=message):
        PictureAttention(**{**fields, **changes})


def test_the_same_search_gives_the_same_picture_after_training_mode() -> None:
    model, processor = captioners.make_captioner(dropout=0.5)
    first = align(model, processor, captioners.pictures(1), max_new_tokens=4)
    model.train()
    torch.manual_seed(9)
    assert align(model, processor, captioners.pictures(1), max_new_tokens=4) == first
