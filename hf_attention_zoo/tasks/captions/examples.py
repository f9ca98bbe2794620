"""Captions as ids beside the pictures that they belong to: what the Trainer reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers.utils import logging

from hf_attention_zoo.data.text_encoding import symbols_as_text
from hf_attention_zoo.images.feature_cache import FeatureCache, encode_pictures, write_feature_batches
from hf_attention_zoo.tasks.captions.rows import CaptionRows

logger = logging.get_logger(__name__)

LABELS = "labels"
KEPT_BYTES = 2**30
"""So much memory may the pictures of a split take; those of a larger one are opened for each batch."""


class CaptionExamples(Dataset):
    """One example per caption, or one per picture with its first caption.

    Attributes:
        name: what the model calls the pictures: `pixel_values`, or `annotations` from a cache.
        pictures: (N, H, W, 3) bytes, `FittedPictures`, or a `FeatureCache`.
    """

    def __init__(self, pictures: Any, keys: Sequence[Any], labels: Sequence[Sequence[int]], name: str) -> None:
        self.pictures, self.keys, self.labels, self.name = pictures, list(keys), [list(row) for row in labels], name

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {self.name: self.pictures[self.keys[index]], LABELS: self.labels[index]}

    @property
    def lengths(self) -> np.ndarray:
        """(N, 2): the caption's tokens, twice; pictures have one length."""
        tokens = np.array([len(row) for row in self.labels], dtype=np.int64)
        return np.stack([tokens, tokens], axis=1)


class CaptionCollator:
    """Examples to a batch: pictures as the encoder wants them, labels padded with -100."""

    def __init__(self, image_processor: Any) -> None:
        self.mean, self.deviation = (
            np.asarray(values, dtype=np.float32) for values in (image_processor.image_mean, image_processor.image_std)
        )

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Tensor]:
        labels = torch.full((len(features), max(len(row[LABELS]) for row in features)), -100)
        for place, row in zip(labels, features, strict=True):
            place[: len(row[LABELS])] = torch.tensor(row[LABELS])
        if "annotations" in features[0]:
            return {"annotations": torch.stack([row["annotations"] for row in features]).float(), LABELS: labels}
        pixels = np.stack([row["pixel_values"] for row in features]).astype(np.float32) / np.float32(255)
        pixels = ((pixels - self.mean) / self.deviation).transpose(0, 3, 1, 2)
        return {"pixel_values": torch.from_numpy(np.ascontiguousarray(pixels)), LABELS: labels}


def encode_captions(
    rows: CaptionRows, tokenizer: Any, pictures: Any, name: str, *, every_caption: bool, longest: int | None = None
) -> tuple[CaptionExamples, int]:
    """Examples of a split, and how many captions were left out as too long.

    Args:
        pictures: as `CaptionExamples` takes them, in the order of `rows`, or by their names.
        every_caption: one example for each caption, else one for each picture.
        longest: leave out captions of more tokens.

    Raises:
        ValueError: nothing is left.
    """
    pairs = [
        (place, text)
        for place, listed in enumerate(rows.captions)
        for text in (listed if every_caption else listed[:1])
    ]
    ids = symbols_as_text(tokenizer)([text for _, text in pairs])["input_ids"]
    kept = [k for k, row in enumerate(ids) if longest is None or len(row) <= longest]
    if not kept:
        raise ValueError(f"all {len(ids)} captions are longer than max_target_length={longest} tokens; allow more")
    by_name = isinstance(pictures, FeatureCache)
    keys = [rows.names[pairs[k][0]] if by_name else pairs[k][0] for k in kept]
    return CaptionExamples(pictures, keys, [ids[k] for k in kept], name), len(ids) - len(kept)


class FittedPictures:
    """Pictures of a split at the encoder's size, (H, W, 3) bytes by the number of the row, opened when asked for."""

    def __init__(self, rows: CaptionRows, image_processor: Any) -> None:
        self.rows, self.image_processor = rows, image_processor

    def __getitem__(self, index: int) -> np.ndarray:
        return np.asarray(self.image_processor.fitted(self.rows.picture(index)), dtype=np.uint8)


def fitted_pictures(rows: CaptionRows, image_processor: Any, most_bytes: int = KEPT_BYTES) -> Any:
    """Pictures of a split at the encoder's size, normalised in the batch: (N, H, W, 3) bytes, prepared once.

    Of a split that takes more than `most_bytes`, pictures are opened anew for each batch.
    """
    opened = FittedPictures(rows, image_processor)
    first = opened[0]
    if len(rows) * first.nbytes > most_bytes:
        return opened
    made = np.empty((len(rows), *first.shape), dtype=np.uint8)
    for index in range(len(rows)):
        made[index] = opened[index]
    return made


def regions_folder() -> Path:
    """Where files of regions are kept: beside the caches of data sets."""
    return Path(datasets.config.HF_DATASETS_CACHE) / "attention_zoo_regions"


def cached_features(rows: CaptionRows, model: Any, image_processor: Any, folder: Path) -> FeatureCache:
    """The regions of a split by a frozen encoder, from a file in `folder` that is made if it is not there.

    Its name depends on the pictures, the encoder's weights and the processor, so that nothing stale is read.
    """
    digest = hashlib.sha256(json.dumps(image_processor.to_dict(), sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.get_encoder().state_dict().items()):
        digest.update(name.encode() + tensor.detach().float().cpu().numpy().tobytes())
    for index, name in enumerate(rows.names):
        digest.update(name.encode() + hashlib.sha256(rows.picture_bytes(index)).digest())
    path = folder / f"{model.config.image_encoder}-{digest.hexdigest()[:24]}.safetensors"
    if path.is_file():
        try:
            return FeatureCache(path)
        except ValueError as error:
            logger.warning(f"{error}; the pictures are encoded again")
    made = encode_pictures(model, image_processor, rows.pictures())
    write_feature_batches(path, rows.names, made, encoder=model.config.image_encoder)
    return FeatureCache(path)
