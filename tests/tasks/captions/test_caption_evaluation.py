"""Scoring a captioner: each picture is encoded once, whatever is read of it, and references share its regions."""

from __future__ import annotations

import json
from pathlib import Path

import captioners
import datasets
import pytest
import torch

from hf_attention_zoo.alignment.results.picture_attention import align_pictures
from hf_attention_zoo.images.feature_cache import write_features
from hf_attention_zoo.images.small_convolutions import SmallConvolutions
from hf_attention_zoo.metrics.likelihood import sentence_nll
from hf_attention_zoo.tasks.captions.evaluation import caption_likelihood, evaluate_captioner
from hf_attention_zoo.tasks.captions.pointing_accuracy import pointing_accuracy
from hf_attention_zoo.tasks.captions.rows import load_captions

REFERENCES = [["a red square"], ["a", "a blue circle and a red bar", "a bar"], ["a red bar", "a square"]]


@pytest.fixture
def encoded_pictures(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pictures each call of the encoder got."""
    counts, forward = [], SmallConvolutions.forward
    monkeypatch.setattr(SmallConvolutions, "forward", lambda self, x: counts.append(len(x)) or forward(self, x))
    return counts


@pytest.mark.parametrize("batch_size", [1, 4, 32])
def test_references_share_the_regions_of_their_picture_and_are_as_likely_as_alone(batch_size: int) -> None:
    model, processor = captioners.make_captioner()
    made, total, count = captioners.pictures(3), 0.0, 0
    for picture, listed in zip(made, REFERENCES, strict=True):
        for text in listed:
            read = processor(images=picture, captions=text)
            nll, words = sentence_nll(model(**read).logits, read["labels"])
            total, count = total + nll.sum().item(), count + int(words.sum())
    with torch.no_grad():
        encoded = model.get_encoder()(pixel_values=processor(images=made)["pixel_values"])
    found, words = caption_likelihood(model, processor, encoded, REFERENCES, batch_size)
    assert words == count and found == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_picture_is_encoded_once_for_its_caption_its_references_and_the_nearest(
    frozen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoded_pictures: list[int]
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder, data = captioners.save_captioner(tmp_path / "model", freeze_encoder=frozen), tmp_path / "data"
    data.mkdir()
    for split in ("train", "test"):
        lines = []
        for k, (picture, listed) in enumerate(zip(captioners.pictures(3), REFERENCES, strict=True)):
            picture.save(data / f"{split}{k}.png")
            lines.append(json.dumps({"file_name": f"{split}{k}.png", "captions": listed}))
        (data / f"{split}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    metrics = evaluate_captioner(folder, dataset=str(data), batch_size=2, max_new_tokens=5)
    assert sum(encoded_pictures) == 3 + 3
    assert metrics["baselines"]["nearest"]["exact"] == 100.0  # the pictures of both splits are the same
    assert {"sacrebleu", "pycocoevalcap", "nltk"} <= set(metrics["versions"])
    tokenizer = captioners.make_captioner()[1].tokenizer
    ids = [tokenizer(text)["input_ids"] for listed in REFERENCES for text in listed]
    assert metrics["results"]["target_tokens"] == sum(map(len, ids))


def test_pointing_is_counted_for_models_that_read_regions_alone(tmp_path: Path) -> None:
    model, processor = captioners.make_captioner(image_encoder="regions", encoder_channels=None)
    boxes, names = [[0.0, 0.0, 0.5, 1.0]] * 3, []
    for k, picture in enumerate(captioners.pictures(2)):
        names.append(f"{k}.png")
        picture.save(tmp_path / names[-1])
    lines = [json.dumps({"file_name": name, "caption": "a red square", "boxes": boxes}) for name in names]
    (tmp_path / "test.jsonl").write_text("\n".join(lines), encoding="utf-8")
    regions = torch.randn(2, 24, 6)
    write_features(tmp_path / "regions.safetensors", names, regions)
    rows = load_captions(tmp_path)["test"]
    found = pointing_accuracy(model, processor, rows)
    seen = align_pictures(
        model, processor, [rows.picture(k) for k in (0, 1)], annotations=regions, captions=["a red square"] * 2
    )
    wanted = [one.weights[:3, :2].sum((1, 2)).mean() for one in seen]
    assert found["mass"] == pytest.approx(100 * sum(map(float, wanted)) / 2, rel=1e-4)
    assert found["words"] == 6 and found["chance"] == pytest.approx(50)
