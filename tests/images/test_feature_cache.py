"""Regions in a file: written whole, read one by one, and refused where they are something else."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from hf_attention_zoo import ShowAttendTellConfig, ShowAttendTellForConditionalGeneration
from hf_attention_zoo.images.feature_cache import (
    FeatureCache,
    encode_pictures,
    write_feature_batches,
    write_features,
)
from hf_attention_zoo.images.picture_processor import PictureProcessor


def test_regions_come_back_by_name(tmp_path: Path) -> None:
    values = torch.randn(3, 4, 2)
    write_features(tmp_path / "in" / "f.safetensors", ["a", "나", "c"], values, encoder="vgg19")
    cache = FeatureCache(tmp_path / "in" / "f.safetensors")
    assert (len(cache), cache.shape, cache.encoder, cache.names) == (3, (3, 4, 2), "vgg19", ["a", "나", "c"])
    assert "나" in cache and "b" not in cache
    assert torch.equal(cache["나"], values[1]) and torch.equal(cache.stack(["c", "a"]), values[[2, 0]])
    assert torch.equal(pickle.loads(pickle.dumps(cache))["c"], values[2])
    with pytest.raises(ValueError, match="has no picture 'b'"):
        cache["b"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_batches_are_written_as_safetensors_has_them_and_not_kept(dtype: torch.dtype, tmp_path: Path) -> None:
    values, alive = torch.randn(7, 3, 5).to(dtype), []

    def batches() -> Iterator[torch.Tensor]:
        for part in values.split(2):
            assert sum(one() is not None for one in alive) <= 1  # the one that was written last
            made = part.clone()
            alive.append(weakref.ref(made))
            yield made
            del made

    write_feature_batches(tmp_path / "f", [f"빨강 {k}" for k in range(7)], batches(), encoder="vgg19")
    save_file({"annotations": values}, tmp_path / "whole")
    assert torch.equal(load_file(tmp_path / "f")["annotations"], load_file(tmp_path / "whole")["annotations"])
    cache = FeatureCache(tmp_path / "f")
    assert cache.encoder == "vgg19" and torch.equal(cache["빨강 4"], values[4])


def test_batches_that_do_not_fit_leave_no_file(tmp_path: Path) -> None:
    one = torch.zeros(2, 3, 5)
    for batches, message in (
        ([one], "3 names for regions of 2 pictures"),
        ([one, one], "3 names for regions of 4 pictures"),
        ([one, one[:1, :2]], "one kind is wanted"),
        ([one.long(), one[:1].long()], r"regions are of torch\.int64"),
        ([], "3 names for regions of 0 pictures"),
    ):
        with pytest.raises(ValueError, match=message):
            write_feature_batches(tmp_path / "f", ["a", "b", "c"], batches)
    assert not list(tmp_path.iterdir())


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no feature cache"):
        FeatureCache(tmp_path / "nothing")
    (tmp_path / "text").write_text("not a tensor")
    save_file({"other": torch.zeros(1)}, tmp_path / "other")
    for name in ("text", "other"):
        with pytest.raises(ValueError, match="is no feature cache"):
            FeatureCache(tmp_path / name)
    with pytest.raises(ValueError, match="2 names for regions of shape"):
        write_features(tmp_path / "x", ["a", "b"], torch.zeros(3, 4, 2))
    with pytest.raises(ValueError, match="the name 'a' comes twice"):
        write_features(tmp_path / "x", ["a", "a"], torch.zeros(2, 4, 2))


def test_pictures_are_encoded_as_the_model_would_and_its_mode_stays() -> None:
    config = ShowAttendTellConfig(
        vocab_size=8,
        embedding_size=4,
        hidden_size=4,
        annotation_size=4,
        image_encoder="convolutions",
        encoder_channels=[4],
    )
    model = ShowAttendTellForConditionalGeneration(config).train()
    processor = PictureProcessor(size={"height": 8, "width": 8}, do_center_crop=False)
    pictures = [Image.new("RGB", (8, 8), (shade, 0, 90)) for shade in (10, 120, 250)]
    parts = list(encode_pictures(model, processor, iter(pictures), batch_size=2, dtype=torch.float32))
    assert model.get_encoder().training and [len(part) for part in parts] == [2, 1]
    made = torch.cat(parts)
    pixels = processor(pictures, return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(made, model.get_encoder()(pixel_values=pixels).last_hidden_state.detach())
    with pytest.raises(ValueError, match="no pictures to encode"):
        list(encode_pictures(model, processor, []))


def test_threads_that_write_the_same_file_do_not_meet(tmp_path: Path) -> None:
    path, regions = tmp_path / "regions.safetensors", torch.randn(40, 3, 5)
    names = [str(number) for number in range(40)]

    def write(_: int) -> None:
        write_feature_batches(path, names, regions.split(1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    torch.testing.assert_close(FeatureCache(path).stack(names), regions)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
