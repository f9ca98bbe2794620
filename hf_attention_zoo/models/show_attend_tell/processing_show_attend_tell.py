"""Pictures and captions together: what `AutoProcessor` gives for Show, Attend and Tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import BatchFeature, ImageProcessingMixin, ProcessorMixin

from hf_attention_zoo.images.picture_processor import PictureProcessor
from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import ShowAttendTellConfig


def values_of_backbone(name: str | None) -> dict[str, Any]:
    """Mean and deviation of the image processor that is saved with a backbone; nothing where there is none."""
    if name is None:
        return {}
    try:
        saved, _ = ImageProcessingMixin.get_image_processor_dict(name)
    except OSError:
        return {}
    return {key: saved[key] for key in ("image_mean", "image_std") if saved.get(key) is not None}


class ShowAttendTellProcessor(ProcessorMixin):
    """An image processor and a tokenizer of captions.

    ```python
    processor(images=picture)                         # pixel_values
    processor(images=picture, text="a red")           # and decoder_input_ids: the beginning of the caption to write
    processor(images=pictures, captions=captions)     # and labels, padded with -100
    processor.decode(sequence, skip_special_tokens=True)
    ```
    """

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, **kwargs: Any) -> None:
        super().__init__(image_processor, tokenizer, **kwargs)

    @classmethod
    def for_config(cls, config: ShowAttendTellConfig, tokenizer: Any) -> ShowAttendTellProcessor:
        """With pictures as the config's encoder wants them.

        Those of VGG-19 and of backbones: the middle 224 x 224 of a picture whose short side is 256, with ImageNet's
        mean and deviation or those that the backbone's own image processor has. Of EfficientNet-lite0 and small
        convolutions: the whole picture on white, as large as makes the config's grid; the former wants values
        (x - 127) / 128.
        """
        if config.image_encoder == "convolutions":
            scale = 2 ** len(config.encoder_channels or ())
            size = {"height": config.grid_height * scale, "width": config.grid_width * scale}
            return cls(PictureProcessor(size=size, do_center_crop=False, do_pad=True), tokenizer)
        if config.image_encoder == "efficientnet_lite0":
            values: dict[str, Any] = {"image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3}
            size = {"height": config.grid_height * 16, "width": config.grid_width * 16}
            return cls(PictureProcessor(size=size, do_center_crop=False, do_pad=True, **values), tokenizer)
        return cls(PictureProcessor(**values_of_backbone(config.backbone)), tokenizer)

    @property
    def model_input_names(self) -> list[str]:
        return ["pixel_values"]

    def __call__(
        self,
        images: Any = None,
        text: str | list[str] | None = None,
        captions: str | list[str] | None = None,
        return_tensors: str | None = "pt",
        padding: bool | str | None = None,
        **kwargs: Any,
    ) -> BatchFeature:
        """Pictures as pixels, and beginnings of captions or whole captions as ids.

        Args:
            images: one picture or a list: paths, bytes, PIL images, arrays; see `PictureProcessor`.
            text: what the captions begin with, one text or one per picture; an empty one asks for a whole caption.
            captions: whole captions to learn from, one per picture.
            kwargs: for the image processor.

        Raises:
            ValueError: nothing to do, not one text or caption per picture, or beginnings of several lengths (they
                cannot share a batch: a recurrent decoder would read the pads).
        """
        if images is None and captions is None:
            raise ValueError("give images; a captioner writes nothing without them")
        made: dict[str, Any] = {}
        if images is not None:
            made |= self.image_processor(images, return_tensors=return_tensors, **kwargs)
        if text is not None:
            made["decoder_input_ids"] = self.beginnings([text] if isinstance(text, str) else list(text))
        if captions is not None:
            rows = [captions] if isinstance(captions, str) else list(captions)
            ids = self.tokenizer(rows)["input_ids"]
            labels = torch.full((len(ids), max(map(len, ids), default=0)), -100)
            for place, row in zip(labels, ids, strict=True):
                place[: len(row)] = torch.tensor(row)
            made["labels"] = labels
        counts = {name: len(rows) for name, rows in made.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"rows do not agree: {counts}; give one beginning and one caption per picture")
        if return_tensors == "np":
            made = {name: np.asarray(rows) for name, rows in made.items()}
        return BatchFeature(made)

    def beginnings(self, texts: list[str]) -> torch.Tensor:
        """(B, 1 + T) ids: the start symbol, then the words of each text, without an end."""
        start = self.tokenizer.bos_token_id
        rows = [[start, *self.tokenizer(text, add_special_tokens=False)["input_ids"]] for text in texts]
        if len(set(map(len, rows))) > 1:
            raise ValueError(
                f"the captions begin with {sorted({len(row) - 1 for row in rows})} tokens; give beginnings of one "
                "length, or one picture at a time"
            )
        return torch.tensor(rows)
