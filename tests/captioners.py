"""A tiny captioner and its folder, for the tests of pipelines and pictures of attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from PIL import Image

from hf_attention_zoo import (
    CaptionTokenizer,
    PictureProcessor,
    ShowAttendTellConfig,
    ShowAttendTellForConditionalGeneration,
    ShowAttendTellProcessor,
)

CAPTIONS = ["a red square", "a blue circle and a red bar", "빨간 네모: 하나"] * 3


def make_captioner(seed: int = 0, **changes: Any) -> tuple[Any, Any]:
    """A random captioner whose attention is not flat, in evaluation mode, and its processor."""
    tokenizer = CaptionTokenizer.train(CAPTIONS, vocab_size=40)
    sizes = {"vocab_size": len(tokenizer), "embedding_size": 8, "hidden_size": 10, "annotation_size": 6}
    encoder = {"image_encoder": "convolutions", "encoder_channels": [4], "grid_height": 4, "grid_width": 6}
    torch.manual_seed(seed)
    model = ShowAttendTellForConditionalGeneration(ShowAttendTellConfig(**{**sizes, **encoder, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
        model.lm_head.bias[[tokenizer.pad_token_id, tokenizer.bos_token_id]] -= 1e3
    size = {"height": 8, "width": 12}
    processor = ShowAttendTellProcessor(PictureProcessor(size=size, do_center_crop=False, do_pad=True), tokenizer)
    return model, processor


def save_captioner(folder: Path, **changes: Any) -> Path:
    """The same in a folder."""
    model, processor = make_captioner(**changes)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def pictures(count: int = 3) -> list[Image.Image]:
    """Pictures of several sizes and modes, none like another."""
    made = []
    for k in range(count):
        picture = Image.new("RGB", (20 + 7 * k, 16 + 3 * k), (40 * k, 200 - 30 * k, 90))
        picture.paste((255 - 60 * k, 20, 30), (2 + k, 3, 9 + k, 12))
        made.append(picture.convert(("RGB", "L", "RGBA")[k % 3]))
    return made
