"""Captions through pipelines: image-captioning and transformers' own image-text-to-text, from a saved folder."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pytest
from captioners import pictures, save_captioner
from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer, pipeline
from transformers.pipelines.pt_utils import KeyDataset

from hf_attention_zoo import CaptionTokenizer, PictureProcessor, ShowAttendTellConfig, ShowAttendTellProcessor

LIMIT = {"max_new_tokens": 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_captioner(tmp_path_factory.mktemp("captioner"))


def expected(folder: Path, sources: list, **options: object) -> list[list[dict[str, str]]]:
    """What `generate` itself says, one picture after the other."""
    model, processor = AutoModelForImageTextToText.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    made = []
    for source in sources:
        ids = model.generate(pixel_values=processor(images=source)["pixel_values"], **options)
        texts = processor.batch_decode(ids, skip_special_tokens=True)
        made.append([{"generated_text": text.strip()} for text in texts])
    return made


def test_the_parts_load_through_the_auto_classes(folder: Path) -> None:
    processor = AutoProcessor.from_pretrained(folder)
    assert type(processor) is ShowAttendTellProcessor
    assert type(AutoImageProcessor.from_pretrained(folder)) is PictureProcessor
    assert type(AutoTokenizer.from_pretrained(folder)) is CaptionTokenizer
    korean = processor(images=pictures(2), captions=["빨간 네모: 하나", "a bar"])
    assert processor.tokenizer.decode(korean["labels"][0], skip_special_tokens=True) == "빨간 네모: 하나"
    assert (korean["labels"][1, -1:] == -100).all() and korean["pixel_values"].shape == (2, 3, 8, 12)


def test_paths_bytes_pictures_lists_and_generators(folder: Path, tmp_path: Path) -> None:
    captioner, made = pipeline("image-captioning", model=str(folder)), pictures()
    wanted = expected(folder, made, num_beams=3, **LIMIT)
    options = {"num_beams": 3, **LIMIT}
    assert captioner(made[0], **options) == wanted[0]
    made[0].save(tmp_path / "a.png")
    file = io.BytesIO()
    made[0].save(file, "PNG")
    for source in (str(tmp_path / "a.png"), tmp_path / "a.png", file.getvalue(), {"image": made[0]}):
        assert captioner(source, **options) == wanted[0]
    for batch_size in (1, 2, 3):
        assert captioner(made, batch_size=batch_size, **options) == wanted
    assert list(captioner((picture for picture in made), **options)) == wanted
    rows = datasets.Dataset.from_dict({"image": made}).cast_column("image", datasets.Image())
    for stream in (rows, KeyDataset(rows, "image"), map(lambda picture: picture, made)):
        assert list(captioner(stream, batch_size=2, **options)) == wanted
    assert captioner([]) == []
    assert captioner(made[0], generate_kwargs=options) == wanted[0]
    with pytest.raises(ValueError, match="num_beams is given both in generate_kwargs and by itself"):
        captioner(made[0], num_beams=2, generate_kwargs=options)


def test_several_captions_of_a_picture_and_a_beginning(folder: Path) -> None:
    captioner = pipeline("image-captioning", model=str(folder))
    several = captioner(pictures(2), num_beams=4, num_return_sequences=3, batch_size=2, **LIMIT)
    assert [len(found) for found in several] == [3, 3]
    assert captioner(pictures(1)[0], prompt="a red", **LIMIT)[0]["generated_text"].startswith("a red")


def test_what_is_no_picture_is_refused(folder: Path) -> None:
    captioner = pipeline("image-captioning", model=str(folder))
    with pytest.raises(ValueError, match="picture 1 cannot be read"):
        captioner([pictures(1)[0], b"nothing"])
    with pytest.raises(ValueError, match="a row without 'image'"):
        captioner({"text": "x"})


def test_regions_of_the_own_encoder_give_the_captions_of_the_pictures(folder: Path) -> None:
    captioner, made = pipeline("image-captioning", model=str(folder)), pictures()
    pixels = captioner.processor(images=made)["pixel_values"]
    regions = captioner.model.get_encoder()(pixel_values=pixels).last_hidden_state.detach()
    wanted, options = captioner(made, num_beams=3, **LIMIT), {"num_beams": 3, **LIMIT}
    rows = [{"image": picture, "annotations": one.numpy()} for picture, one in zip(made, regions, strict=True)]
    assert captioner(rows[1], **options) == wanted[1]
    for batch_size in (1, 3):
        assert captioner(rows, batch_size=batch_size, **options) == wanted
    stream = datasets.Dataset.from_dict({"annotations": regions.tolist()})
    assert list(captioner(stream, batch_size=2, **options)) == wanted


def test_a_model_without_an_encoder_captions_regions_of_any_number(tmp_path: Path) -> None:
    folder = save_captioner(tmp_path, image_encoder="regions", encoder_channels=None)
    captioner = pipeline("image-captioning", model=str(folder))
    rows = [{"annotations": np.random.default_rng(k).normal(size=(4 + 3 * k, 6))} for k in range(3)]
    wanted = [captioner(row, prompt="a", **LIMIT) for row in rows]
    assert captioner(rows, prompt="a", batch_size=3, **LIMIT) == wanted
    assert len({found[0]["generated_text"] for found in wanted}) > 1
    with pytest.raises(ValueError, match="give annotations"):
        captioner(pictures(1)[0])
    for wrong, message in ((np.zeros(6), r"shape \(6,\)"), ("words", "are no numbers"), ([[np.nan] * 6], "NaN")):
        with pytest.raises(
            ValueError, match=f"the annotations of picture 1.* {message}|the annotations of picture 1 {message}"
        ):
            captioner([rows[0], {"annotations": wrong}])


def test_saving_the_pipeline_saves_what_it_needs(folder: Path, tmp_path: Path) -> None:
    captioner = pipeline("image-captioning", model=str(folder))
    captioner.save_pretrained(tmp_path / "again")
    again = pipeline("image-captioning", model=str(tmp_path / "again"))
    assert again(pictures(), **LIMIT) == captioner(pictures(), **LIMIT)
    assert not list((tmp_path / "again").glob("*.py"))


def test_transformers_own_pipeline_captions_too(folder: Path) -> None:
    captioner, made = pipeline("image-text-to-text", model=str(folder)), pictures(2)
    wanted = [found[0]["generated_text"] for found in expected(folder, made, **LIMIT)]
    options = {"generate_kwargs": LIMIT}
    assert captioner(made[0], text="", **options)[0]["generated_text"].strip() == wanted[0]
    found = captioner(made, text=["", ""], **options)
    assert [entry["generated_text"].strip() for entry in found] == wanted
    begun = captioner(made[0], text="a red", **options)[0]["generated_text"]
    assert begun.startswith("a red")


def test_beginnings_of_several_lengths_are_refused(folder: Path) -> None:
    processor = AutoProcessor.from_pretrained(folder)
    with pytest.raises(ValueError, match=r"begin with \[1, 2\] tokens"):
        processor(images=pictures(2), text=["a", "a red"])
    with pytest.raises(ValueError, match="give images"):
        processor(text="a")


def test_as_many_texts_and_captions_as_pictures_are_wanted(folder: Path) -> None:
    processor = AutoProcessor.from_pretrained(folder)
    with pytest.raises(ValueError, match="one caption per picture"):
        processor(images=pictures(1), captions=["a red square", "a blue circle"])
    with pytest.raises(ValueError, match="one beginning"):
        processor(images=pictures(2), text=["a"])


def test_a_fresh_process_captions_alike(folder: Path) -> None:
    wanted = expected(folder, pictures(1), **LIMIT)[0]
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import hf_attention_zoo
from transformers import pipeline
from captioners import pictures
print(pipeline("image-captioning", model={str(folder)!r})(pictures(1)[0], max_new_tokens=6))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == str(wanted)


def test_arrays_are_all_of_one_kind_and_a_backbone_brings_its_own_values(folder: Path, tmp_path: Path) -> None:
    processor = AutoProcessor.from_pretrained(folder)
    made = processor(images=pictures(2), captions=["a bar", "a red bar"], return_tensors="np")
    assert {type(rows) for rows in made.values()} == {np.ndarray}
    PictureProcessor(image_mean=[0.1, 0.2, 0.3], image_std=[0.5] * 3).save_pretrained(tmp_path)
    config = ShowAttendTellConfig(
        image_encoder="backbone", backbone=str(tmp_path), backbone_config={"model_type": "resnet"}
    )
    chosen = ShowAttendTellProcessor.for_config(config, processor.tokenizer).image_processor
    assert list(chosen.image_mean) == [0.1, 0.2, 0.3] and list(chosen.image_std) == [0.5] * 3
