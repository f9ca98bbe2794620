"""Regions in a file: written whole, read one by one, and refused where they are something else."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from hf_attention_zoo import ShowAttendTellConfig, ShowAttendTellForConditionalGeneration
from hf_attention_zoo.images.feature_cache import FeatureCache, encode_pictures, write_features
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
    made = encode_pictures(model, processor, iter(pictures), batch_size=2, dtype=torch.float32)
    assert model.get_encoder().training
    pixels = processor(pictures, return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(made, model.get_encoder()(pixel_values=pixels).last_hidden_state.detach())
    with pytest.raises(ValueError, match="no pictures to encode"):
        encode_pictures(model, processor, [])
