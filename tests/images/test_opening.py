"""Pictures from whatever users have: every mode, every form, and clear words for what is none."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hf_attention_zoo.images import opening
from hf_attention_zoo.images.opening import open_picture
from hf_attention_zoo.images.picture_processor import PictureProcessor

MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "I", "F", "I;16")


def png(picture: Image.Image, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def colour(picture: Image.Image, place: tuple[int, int] = (1, 1)) -> tuple[int, ...]:
    return picture.getpixel(place)


RED = Image.new("RGB", (6, 4), (255, 0, 0))


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_becomes_rgb(mode: str) -> None:
    made = open_picture(Image.new(mode, (6, 4)))
    assert made.mode == "RGB" and made.size == (6, 4)


def test_paths_bytes_files_and_arrays_give_one_picture(tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(png(RED))
    values = np.asarray(RED)
    sources = [
        RED,
        tmp_path / "red.png",
        str(tmp_path / "red.png"),
        png(RED),
        io.BytesIO(png(RED)),
        values,
        values / 255,
        np.moveaxis(values, -1, 0),
        torch.from_numpy(np.moveaxis(values, -1, 0).copy()),
        torch.from_numpy(np.moveaxis(values / 255, -1, 0).copy()),
        torch.from_numpy(np.moveaxis(values / 255, -1, 0).copy()).requires_grad_(),
        torch.from_numpy(np.moveaxis(values / 255, -1, 0).copy()).bfloat16(),
    ]
    for source in sources:
        assert np.array_equal(np.asarray(open_picture(source)), values), type(source)


def test_what_is_transparent_is_white() -> None:
    assert colour(open_picture(Image.new("RGBA", (4, 4), (0, 0, 0, 0)))) == (255, 255, 255)
    palette = RED.convert("P")
    palette.info["transparency"] = palette.getpixel((0, 0))
    assert colour(open_picture(png(palette, transparency=palette.getpixel((0, 0))))) == (255, 255, 255)
    assert colour(open_picture(Image.new("LA", (4, 4), (0, 0)))) == (255, 255, 255)


def test_an_exif_mark_turns_the_picture() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    picture = Image.new("RGB", (8, 4), "white")
    picture.paste((255, 0, 0), (0, 0, 2, 2))
    made = open_picture(png(picture, "JPEG", exif=exif, quality=100, subsampling=0))
    assert made.size == (4, 8)
    assert colour(made, (3, 0))[1] < 60 and colour(made, (0, 0))[1] > 200


def test_grey_pictures_of_sixteen_bits_keep_their_shades() -> None:
    shades = np.array([[0, 32768, 65535]], dtype=np.uint16)
    made = np.asarray(open_picture(png(Image.fromarray(shades))))
    assert made[0, :, 0].tolist() == [0, 128, 255]
    dark = np.asarray(open_picture(Image.fromarray(np.array([[0, 257]], dtype=np.uint16))))
    assert dark[0, :, 0].tolist() == [0, 1]  # 257 of 65,535, not of 255


def test_pictures_of_fractions_end_at_one() -> None:
    made = np.asarray(open_picture(Image.fromarray(np.array([[0.0, 0.5, 1.0]], dtype=np.float32))))
    assert made[0, :, 0].tolist() == [0, 128, 255]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"no picture at all", "cannot be read as a picture"),
        (b"", "cannot be read as a picture"),
        ("nowhere.png", "there is no file 'nowhere.png'"),
        ("https://example.org/a.png", "is an address"),
        (17, "is of type int"),
        (None, "is of type NoneType"),
        (np.zeros((2, 2, 5)), r"array of shape \(2, 2, 5\)"),
        (np.zeros((0, 2, 3)), r"array of shape \(0, 2, 3\)"),
        (np.full((2, 2, 3), 300), "0 to 255 or fractions 0 to 1"),
        (np.full((2, 2, 3), np.nan), "NaN or infinity"),
    ],
)
def test_what_is_no_picture_is_refused_with_a_reason(source: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_picture(source)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_a_file_that_is_cut_off_is_refused(form: str) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match="is the file whole"):
        open_picture(png(noise, form)[:200])


def test_a_spoilt_header_is_refused_by_the_pictures_name() -> None:
    whole = png(RED)
    shorter = whole[:8] + (5).to_bytes(4, "big") + whole[12:]  # of its thirteen bytes the header claims five
    with pytest.raises(ValueError, match=r"^picture 3 .*is the file whole"):
        open_picture(shorter, "picture 3")


def test_pictures_of_too_many_pixels_are_refused_before_they_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_PIXELS", 100)
    with pytest.raises(ValueError, match="20 x 20 pixels, more than 100"):
        open_picture(png(Image.new("RGB", (20, 20))))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match="too many pixels"):
        open_picture(png(Image.new("RGB", (40, 40))))


# --- the processor


@pytest.mark.parametrize("size", [(1, 1), (2, 900), (5000, 3), (224, 224), (640, 480)])
def test_every_size_becomes_what_the_encoder_wants(size: tuple[int, int]) -> None:
    for processor in (PictureProcessor(), PictureProcessor(size={"height": 224, "width": 224}, do_center_crop=False)):
        made = processor(Image.new("RGB", size, (124, 116, 104)), return_tensors="pt")["pixel_values"]
        assert made.shape == (1, 3, 224, 224) and made.isfinite().all() and made.abs().max() < 0.02


def test_the_middle_of_the_picture_is_cut_out() -> None:
    picture = Image.new("RGB", (400, 200), "black")
    picture.paste("white", (100, 0, 300, 200))
    made = PictureProcessor().fitted(picture)
    assert made.size == (224, 224) and np.asarray(made).min() > 250


def test_a_padded_picture_keeps_its_proportions_on_white() -> None:
    processor = PictureProcessor(size={"height": 16, "width": 16}, do_center_crop=False, do_pad=True)
    made = np.asarray(processor.fitted(Image.new("RGB", (20, 10), "black")))
    assert made.shape == (16, 16, 3)
    assert (made[:4] == 255).all() and (made[12:] == 255).all() and (made[4:12] == 0).all()


def test_values_are_normalised_channel_by_channel() -> None:
    processor = PictureProcessor(
        size={"height": 2, "width": 2}, do_center_crop=False, image_mean=[0, 0.5, 1], image_std=[1, 0.5, 0.25]
    )
    made = processor(Image.new("RGB", (2, 2), (255, 255, 0)), return_tensors="pt")["pixel_values"]
    assert made[0, :, 0, 0].tolist() == [1.0, 1.0, -4.0]


def test_a_list_of_pictures_is_a_batch_in_order_and_bad_ones_are_numbered() -> None:
    processor = PictureProcessor(size={"height": 4, "width": 4}, do_center_crop=False)
    pictures = [Image.new("L", (3, 9), shade) for shade in (0, 100, 200)]
    together = processor(pictures, return_tensors="pt")["pixel_values"]
    for row, picture in enumerate(pictures):
        assert torch.equal(processor(picture, return_tensors="pt")["pixel_values"][0], together[row])
    with pytest.raises(ValueError, match="picture 1 cannot be read"):
        processor([pictures[0], b"nothing"])


def test_settings_that_say_no_size_are_named() -> None:
    picture = Image.new("RGB", (30, 20))
    for settings, said in (
        ({"size": {"longest_edge": 300}}, "size=.*shortest_edge, or a height and a width"),
        ({"size": {"longest_edge": 300}, "do_center_crop": False}, "size=.*give a height and a width"),
        ({"crop_size": {"height": 10}}, "crop_size=.*give a height and a width"),
    ):
        with pytest.raises(ValueError, match=said):
            PictureProcessor().fitted(picture, **settings)
